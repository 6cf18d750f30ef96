"""GPUs that turn unhealthy are told at once, by events of NVML, or by asking once a second."""

import queue
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from fake_nvml import LOST, NO_PERMISSION, NOT_SUPPORTED, FakeGpu, FakeNvml, NVMLError
from placer.node.agent.gpus import GpuHealthWatch

TIMEOUT, UNKNOWN, UNINITIALIZED = 10, 999, 1
XID, CLOCK = 8, 16


class EventNvml(FakeNvml):
    """NVML with events, as its reference says that they work.

    What happens before a GPU is registered is not recorded; a wait ends with the first event, or
    with NVML_ERROR_TIMEOUT; without nvmlInit nothing is answered.

    Attributes:
        calls: What was asked of each GPU.
        tells: Whether GPUs support events of critical errors.
        broken: With which code the next wait fails.

    """

    NVML_ERROR_TIMEOUT = TIMEOUT
    NVML_ERROR_NOT_SUPPORTED = NOT_SUPPORTED
    NVML_ERROR_UNKNOWN = UNKNOWN
    nvmlEventTypeXidCriticalError = XID

    def __init__(self, gpus: list[FakeGpu]) -> None:
        super().__init__(gpus)
        self.calls: list[str] = []
        self.tells = True
        self.broken = 0
        self.sets = 0
        self._registered: dict[int, queue.Queue[SimpleNamespace]] = {}

    def nvmlInit(self) -> None:
        super().nvmlInit()
        self.calls.append("init")

    def nvmlEventSetCreate(self) -> queue.Queue[SimpleNamespace]:
        self.sets += 1
        return queue.Queue()

    def nvmlEventSetFree(self, events: object) -> None:
        self.sets -= 1
        self._registered.clear()

    def nvmlDeviceGetSupportedEventTypes(self, gpu: FakeGpu) -> int:
        return XID | CLOCK if self.tells else CLOCK

    def nvmlDeviceRegisterEvents(
        self, gpu: FakeGpu, kinds: int, events: queue.Queue[SimpleNamespace]
    ) -> None:
        if kinds & ~self.nvmlDeviceGetSupportedEventTypes(gpu):
            raise NVMLError(NOT_SUPPORTED)
        self._registered[gpu.minor] = events

    def nvmlEventSetWait_v2(
        self, events: queue.Queue[SimpleNamespace], timeout_ms: int
    ) -> SimpleNamespace:
        if not self.running:
            raise NVMLError(UNINITIALIZED)
        if code := self.broken:
            self.broken = 0
            raise NVMLError(code)
        self.calls.append("wait")
        try:
            return events.get(timeout=timeout_ms / 1000)
        except queue.Empty:
            raise NVMLError(TIMEOUT) from None

    def nvmlDeviceGetRemappedRows(self, gpu: FakeGpu) -> tuple[int, int, int, int]:
        self.calls.append(f"rows {gpu.minor}")
        self._answer(gpu, "nvmlDeviceGetRemappedRows")
        return super().nvmlDeviceGetRemappedRows(gpu)

    def nvmlDeviceGetUUID(self, gpu: FakeGpu) -> str:
        self._answer(gpu, "nvmlDeviceGetUUID")
        return super().nvmlDeviceGetUUID(gpu)

    def happens(self, gpu: FakeGpu, xid: int, kind: int = XID) -> None:
        """Let the driver tell of an error, to who listens."""
        if gpu.minor in self._registered:
            event = SimpleNamespace(device=gpu, eventType=kind, eventData=xid)
            self._registered[gpu.minor].put(event)


class Watched:
    """Two GPUs, and who watches them."""

    def __init__(self, ask_s: float) -> None:
        self.gpus = [FakeGpu("0000:17:00.0", 0), FakeGpu("0000:ca:00.0", 1)]
        self.nvml = EventNvml(self.gpus)
        self.news = threading.Semaphore(0)
        self.health = GpuHealthWatch(self.news.release, ask_s)

    def told(self) -> dict[str, str]:
        """Return what is ill, once it is another thing than before."""
        assert self.news.acquire(timeout=30)
        return self.health()


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[float], Watched]]:
    """Makes such a machine; GPUs are asked as often as is said."""
    made = []

    def make(ask_s: float = 3600) -> Watched:
        found = Watched(ask_s)
        monkeypatch.setitem(sys.modules, "pynvml", found.nvml)
        made.append(found)
        return found

    yield make
    for one in made:
        for gpu in one.gpus:
            one.nvml.happens(gpu, 13)  # ends a wait of hours
        one.health.close()
        assert (one.nvml.running, one.nvml.sets) == (0, 0)


def test_a_critical_error_is_told_at_once(watched: Callable[..., Watched]) -> None:
    """
    By the event, of this GPU alone; nobody asks the next hour.
    """
    one = watched()
    assert one.health() == {}

    one.nvml.happens(one.gpus[1], 79)

    assert one.told() == {"GPU-ca": "the driver told of the error Xid 79"}
    assert one.nvml.calls.count("rows 1") == 1


def test_errors_of_programs_are_none_of_the_gpu(watched: Callable[..., Watched]) -> None:
    """
    Nor is anything else that NVML tells of.
    """
    one = watched()
    one.health()

    for xid in (13, 31, 43, 45, 63, 68, 94, 109):
        one.nvml.happens(one.gpus[0], xid)
    one.nvml.happens(one.gpus[0], 79, CLOCK)
    one.nvml.happens(one.gpus[1], 48)

    assert one.told() == {"GPU-ca": "the driver told of the error Xid 48"}


@pytest.mark.parametrize("tells", [True, False])
def test_what_has_no_event_is_asked_for(watched: Callable[..., Watched], tells: bool) -> None:
    """
    By one call a GPU, whether or not the GPU tells of errors; what passes is told, too.
    """
    one = watched(0.01)
    one.nvml.tells = tells
    assert one.health() == {}

    one.gpus[0].failed_rows = 1
    assert one.told() == {"GPU-17": "a row of its memory could not be remapped"}
    one.gpus[0].failed_rows = 0
    assert one.told() == {}
    one.gpus[1].refuses = {"nvmlDeviceGetRemappedRows": 16}
    assert one.told() == {"GPU-ca": "it has to be reset"}

    asked = [call for call in one.nvml.calls if call.startswith("rows")]
    assert abs(asked.count("rows 0") - asked.count("rows 1")) <= 1
    assert one.nvml.calls.count("init") == 1


def test_an_old_gpu_that_is_lost_is_told(watched: Callable[..., Watched]) -> None:
    """
    It remaps no rows, and is asked for its memory instead.
    """
    one = watched(0.01)
    one.gpus[0].refuses = {"nvmlDeviceGetRemappedRows": NOT_SUPPORTED}
    assert one.health() == {}

    one.gpus[0].refuses = {
        "nvmlDeviceGetRemappedRows": NOT_SUPPORTED,
        "nvmlDeviceGetMemoryInfo": LOST,
    }

    assert one.told() == {"GPU-17": "the driver has lost it"}


def test_a_gpu_that_went_is_told_and_forgotten_once_it_is_back(
    watched: Callable[..., Watched],
) -> None:
    """
    NVML begins anew, for its numbers of GPUs have changed.
    """
    one = watched(0.01)
    one.health()

    one.nvml.gpus = one.gpus[:1]
    assert one.told() == {"GPU-ca": "the driver does not know it any more"}
    one.nvml.gpus = one.gpus
    assert one.told() == {}
    assert one.nvml.calls.count("init") == 3


def test_a_lost_gpu_does_not_keep_the_watch_busy(watched: Callable[..., Watched]) -> None:
    """
    Each wait fails at once then, and the other GPUs are asked as often as before.
    """
    one = watched()
    one.nvml.broken = LOST
    one.gpus[0].refuses = {"nvmlDeviceGetRemappedRows": LOST}

    assert one.health() == {"GPU-17": "the driver has lost it"}
    assert one.nvml.calls.count("rows 1") == 1
    assert "wait" not in one.nvml.calls


def test_a_set_of_events_that_breaks_is_made_again(watched: Callable[..., Watched]) -> None:
    """
    An error that happened is not forgotten over that.
    """
    one = watched(0.01)
    one.health()
    one.nvml.happens(one.gpus[0], 95)
    ill = one.told()
    one.nvml.broken = UNKNOWN
    while one.nvml.calls.count("init") < 2:
        threading.Event().wait(0.005)

    assert one.health() == ill == {"GPU-17": "the driver told of the error Xid 95"}


def test_an_event_of_a_gpu_that_says_no_name_asks_all(watched: Callable[..., Watched]) -> None:
    """
    Whichever it was answers that it is lost.
    """
    one = watched()
    one.health()
    lost = {"nvmlDeviceGetUUID": LOST, "nvmlDeviceGetRemappedRows": LOST}
    one.gpus[1].refuses = lost

    one.nvml.happens(one.gpus[1], 79)

    assert one.told() == {"GPU-ca": "the driver has lost it"}


@pytest.mark.parametrize("there", [True, False])
def test_a_machine_without_nvml_has_no_ill_gpus(
    monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    """
    Neither without the bindings nor without a driver.
    """
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml([], starts=False) if there else None)
    health = GpuHealthWatch()

    assert health() == health() == {}
    assert health.fault == ""
    health.close()


@pytest.mark.parametrize("code", [NO_PERMISSION, UNKNOWN])
def test_nvml_that_refuses_to_start_is_told(watched: Callable[..., Watched], code: int) -> None:
    """
    It may not look, or its devices are hidden: no GPU is ill then, and none is known to be well.
    """
    one = watched()
    one.nvml.refuses_all = code

    assert one.health() == {}
    assert one.health.fault == f"NVML does not start: error {code}"


def test_gpus_that_may_not_be_looked_at_are_told_and_forgotten(
    watched: Callable[..., Watched],
) -> None:
    """
    One has no handle for us, the other answers nothing; the driver says later that both may be.
    """
    one = watched(0.01)
    one.gpus[0].refuses = {"nvmlDeviceGetHandleByIndex": NO_PERMISSION}
    one.gpus[1].refuses = {"nvmlDeviceGetRemappedRows": NO_PERMISSION}

    assert one.health() == one.told() == {}
    assert one.health.fault == "NVML may not look at 2 of 2 GPUs: no permission"

    one.gpus[1].refuses = {}
    assert one.told() == {}
    assert one.health.fault == "NVML may not look at 1 of 2 GPUs: no permission"


def test_nobody_is_asked_before_somebody_wants_to_know(watched: Callable[..., Watched]) -> None:
    """
    A node whose pods hold no devices leaves its GPUs alone.
    """
    one = watched()

    assert one.nvml.calls == []
