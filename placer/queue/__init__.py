"""The fair queue: whose work is next, why, and how many threads a job should have."""

from placer.queue.advice import advise as advise
from placer.queue.fair import FairQueue as FairQueue
from placer.queue.model import Charge as Charge
from placer.queue.model import ReservedUnit as ReservedUnit
from placer.queue.model import Selection as Selection
from placer.queue.model import Ticket as Ticket
from placer.queue.model import WorkUnit as WorkUnit
