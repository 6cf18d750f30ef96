"""The fair queue: whose work is next, why, and how many threads a job should have."""

from placer.queue.advice import advise_job_thread_count as advise_job_thread_count
from placer.queue.fair import FairQueue as FairQueue
from placer.queue.model import DispatchTicket as DispatchTicket
from placer.queue.model import DispatchUnit as DispatchUnit
from placer.queue.model import FlowChargeTime as FlowChargeTime
from placer.queue.model import QueueBatch as QueueBatch
from placer.queue.model import ReservedUnit as ReservedUnit
