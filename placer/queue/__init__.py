"""The fair queue: whose work is next, why, and how many threads a job should have."""

from placer.queue.advice import advise as advise
from placer.queue.fair import FairQueue as FairQueue
from placer.queue.words import Batch as Batch
from placer.queue.words import Charge as Charge
from placer.queue.words import Held as Held
from placer.queue.words import Ticket as Ticket
from placer.queue.words import Unit as Unit
