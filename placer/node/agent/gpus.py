"""Health of NVIDIA's GPUs according to NVML (the extra ``placer[nvidia]``).

NVML reports critical errors (Xid) as events. There is no event for a row of memory that could
not be remapped or a GPU that is gone: these are asked for once a second, by one call per GPU,
and only while pods hold devices. Both run in a thread of their own: a sick driver answers late.
"""

import importlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

log = logging.getLogger(__name__)

ASK_S = 1.0
"""Seconds between two questions for faults that have no event."""

RETRY_S = 30.0
"""Seconds between two attempts to find a missing driver."""

HARMLESS_XIDS = frozenset({13, 31, 43, 45, 63, 68, 94, 109})
"""Errors of programs, and errors after which the GPU works on: 63 says that a row was remapped,
94 that a memory error reached no other program."""


_HIDDEN = "no permission"


class GpuHealthWatch:
    """Watches the GPUs of this machine from the first call on.

    Attributes:
        fault: Why the health of some GPUs is not known although there is a driver, in words;
            empty if it is known, or if there is no driver to ask.

    """

    def __init__(self, changed: Callable[[], None] = lambda: None, ask_s: float = ASK_S) -> None:
        """Watch nothing yet.

        Args:
            changed: Called, in a thread of its own, whenever the answer changes.
            ask_s: Seconds between two questions to the GPUs.

        """
        self._changed = changed
        self._ask_s = ask_s
        self.fault = ""
        self._ill: dict[str, str] = {}
        self._by_xid: dict[str, str] = {}
        self._seen: set[str] = set()
        self._stop = threading.Event()
        self._looked = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self) -> dict[str, str]:
        """Return UUID of an unhealthy GPU -> what is wrong with it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="gpu-health", daemon=True)
            self._thread.start()
            self._looked.wait(5)
        return self._ill

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5 + self._ask_s)

    def _watch(self) -> None:
        """Ask and listen until closed; if the driver went away, try again: it may come back."""
        try:
            nvml = importlib.import_module("pynvml")
        except ImportError:
            self._looked.set()
            return
        while not self._stop.is_set():
            try:
                nvml.nvmlInit()
            except nvml.NVMLError as error:
                there = error.value not in (
                    nvml.NVML_ERROR_DRIVER_NOT_LOADED,
                    nvml.NVML_ERROR_LIBRARY_NOT_FOUND,
                )
                fault = f"NVML does not start: {error}" if there else ""
                self._tell(dict.fromkeys(self._seen, "the driver does not answer"), fault)
                self._stop.wait(RETRY_S)
                continue
            try:
                self._listen(nvml)
            except nvml.NVMLError as error:
                log.warning("NVML is asked from the beginning", extra={"why": str(error)})
                self._stop.wait(self._ask_s)
            finally:
                nvml.nvmlShutdown()

    def _listen(self, nvml: Any) -> None:
        """Ask the GPUs again and again, and wait for events in between."""
        gpus, hidden = _gpus(nvml)
        gone = dict.fromkeys(self._seen - gpus.keys(), "the driver does not know it any more")
        self._seen |= gpus.keys()
        count = nvml.nvmlDeviceGetCount()
        events = nvml.nvmlEventSetCreate()
        try:
            heard = [self._register(nvml, gpu, events) for gpu in gpus.values()]
            while not self._stop.is_set():
                asked = {uuid: why for uuid, gpu in gpus.items() if (why := _ask(nvml, gpu))}
                secret = hidden + sum(why is _HIDDEN for why in asked.values())
                fault = f"NVML may not look at {secret} of {count} GPUs: no permission"
                ill = {uuid: why for uuid, why in asked.items() if why is not _HIDDEN}
                self._tell(gone | ill, fault if secret else "")
                if nvml.nvmlDeviceGetCount() != count:
                    return  # a GPU came or went
                if any(heard):
                    self._wait(nvml, events)
                else:
                    self._stop.wait(self._ask_s)
        finally:
            nvml.nvmlEventSetFree(events)

    @staticmethod
    def _register(nvml: Any, gpu: object, events: object) -> bool:
        """Register for a GPU's events, and return whether it reports errors."""
        kind = nvml.nvmlEventTypeXidCriticalError
        try:
            if not nvml.nvmlDeviceGetSupportedEventTypes(gpu) & kind:
                return False
            nvml.nvmlDeviceRegisterEvents(gpu, kind, events)
        except nvml.NVMLError as error:
            if error.value == nvml.NVML_ERROR_UNKNOWN:
                raise  # the set of events is of no use any more
            return False
        return True

    def _wait(self, nvml: Any, events: object) -> None:
        """Take events until it is time to ask again."""
        until = time.monotonic() + self._ask_s
        while (left_s := until - time.monotonic()) > 0 and not self._stop.is_set():
            try:
                event = nvml.nvmlEventSetWait_v2(events, max(1, int(1000 * left_s)))
            except nvml.NVMLError as error:
                if error.value == nvml.NVML_ERROR_TIMEOUT:
                    return
                if error.value == nvml.NVML_ERROR_GPU_IS_LOST:  # answered at once, and each time
                    self._stop.wait(left_s)
                    return
                raise
            if event.eventType != nvml.nvmlEventTypeXidCriticalError:
                continue
            if event.eventData in HARMLESS_XIDS:
                continue
            if not (uuid := _uuid(nvml, event.device)):
                return  # without an id: the GPUs are asked again right away
            self._by_xid[uuid] = f"the driver told of the error Xid {event.eventData}"
            self._tell(self._ill, self.fault)

    def _tell(self, ill: dict[str, str], fault: str) -> None:
        """Publish which GPUs are unhealthy, including those with earlier errors, or unknown."""
        now = self._by_xid | ill
        if (now, fault) != (self._ill, self.fault):
            self._ill, self.fault = now, fault
            self._changed()
        self._looked.set()


def _gpus(nvml: Any) -> tuple[dict[str, object], int]:
    """Return the GPUs by UUID, and how many of them we may not look at.

    Those that were lost from the beginning have no UUID, and are not among them.
    """
    found: dict[str, object] = {}
    hidden = 0
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            gpu = nvml.nvmlDeviceGetHandleByIndex(index)
        except nvml.NVMLError as error:
            hidden += error.value == nvml.NVML_ERROR_NO_PERMISSION
            continue
        if uuid := _uuid(nvml, gpu):
            found[uuid] = gpu
    return found, hidden


def _uuid(nvml: Any, gpu: object) -> str:
    """Return the UUID of a GPU, or an empty text if it has none. Older bindings answer in bytes."""
    try:
        answer = nvml.nvmlDeviceGetUUID(gpu)
    except nvml.NVMLError:
        return ""
    return answer.decode() if isinstance(answer, bytes) else str(answer)


def _ask(nvml: Any, gpu: object) -> str:
    """Return what is wrong with a GPU, in words, or an empty text if nothing is known.

    One that we may not ask is `_HIDDEN`.
    """
    try:
        try:
            *_, failed = nvml.nvmlDeviceGetRemappedRows(gpu)
        except nvml.NVMLError as error:
            if error.value != nvml.NVML_ERROR_NOT_SUPPORTED:
                raise
            failed = False  # an older GPU remaps no rows: ask something else to see if it is there
            nvml.nvmlDeviceGetMemoryInfo(gpu)
    except nvml.NVMLError as error:
        if error.value == nvml.NVML_ERROR_GPU_IS_LOST:
            return "the driver has lost it"
        if error.value == nvml.NVML_ERROR_RESET_REQUIRED:
            return "it has to be reset"
        return _HIDDEN if error.value == nvml.NVML_ERROR_NO_PERMISSION else ""
    return "a row of its memory could not be remapped" if failed else ""
