"""The fair queue in front of the Scheduler: which work goes next, and then where it runs."""

from placer.admission.desk import AdmissionQueue as AdmissionQueue
from placer.admission.workload import AdmissionRound as AdmissionRound
from placer.admission.workload import AdmittedWorkload as AdmittedWorkload
from placer.admission.workload import ReservedWorkload as ReservedWorkload
from placer.admission.workload import Workload as Workload
