"""A host that is busy elsewhere does not end an emulated machine while it boots."""

import shutil
import subprocess
import time
from pathlib import Path
from signal import SIGCONT, SIGSTOP

import pytest

from vm.kernels import QEMU
from vm.machine import HARDWARE, KERNEL_WORDS

KERNELS = Path(__file__).parents[2] / "build" / "vm"
RUNS_S, STOPS_S = 0.005, 0.3
"""Short enough for too few ticks of the timer while the kernel waits for four."""

TIMER_CHECKED = "smpboot: CPU0"
GIVES_UP = "Kernel panic"


@pytest.mark.slow
@pytest.mark.parametrize("series", ["6.1", "6.12"])
def test_a_kernel_boots_on_a_host_that_hardly_lets_it_run(series: str, tmp_path: Path) -> None:
    """
    Its timer hardly ticks while it is checked: without `no_timer_check` that is a panic each time.
    """
    images = sorted(KERNELS.glob(f"kernel-{series}.*"))
    if shutil.which(QEMU) is None or not images:
        pytest.skip("there is no qemu or no kernel; 'make vm-test' gets both")
    console = tmp_path / "console"
    console.touch()
    words = KERNEL_WORDS.replace("quiet", "")
    process = subprocess.Popen(
        [QEMU, *HARDWARE.split(), "-kernel", images[-1], "-append", words,
         "-serial", f"file:{console}"],
    )  # fmt: skip
    try:
        while not any(word in (said := console.read_text()) for word in (TIMER_CHECKED, GIVES_UP)):
            assert process.poll() is None, said
            for pause_s, number in ((RUNS_S, SIGSTOP), (STOPS_S, SIGCONT)):
                time.sleep(pause_s)
                process.send_signal(number)
    finally:
        process.kill()
        process.wait()

    assert GIVES_UP not in said
