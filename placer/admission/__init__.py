"""The fair queue in front of the Scheduler: which work goes next, and then where it runs."""

from placer.admission.desk import Admission as Admission
from placer.admission.workload import Admitted as Admitted
from placer.admission.workload import Reserved as Reserved
from placer.admission.workload import Round as Round
from placer.admission.workload import Workload as Workload
