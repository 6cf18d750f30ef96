"""``ContainerAllocateResponse``: what a device plugin tells the runtime of a container.

It is a message in the wire format of Protocol Buffers. Unknown fields are
skipped, as the format demands.
"""

from collections.abc import Iterator
from dataclasses import dataclass

_BYTES = 2
"""The wire type of texts and messages."""

_ENVS, _MOUNTS, _DEVICES, _ANNOTATIONS, _CDI_DEVICES = 1, 2, 3, 4, 5
_FIRST, _SECOND = 1, 2
"""Field numbers: key and value of a map entry, or the paths in the container and on the host."""

_NO_MESSAGE = "is no ContainerAllocateResponse of a device plugin"


@dataclass(frozen=True, slots=True)
class KubeletAllocateResponse:
    """What a container gets with its devices.

    Attributes:
        environment: Pairs of variable and value.
        mounts: Paths in the container.
        devices: Paths on the host.
        annotations: Pairs of key and value.
        cdi_devices: Names such as ``nvidia.com/gpu=0``.

    """

    environment: tuple[tuple[str, str], ...] = ()
    mounts: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    cdi_devices: tuple[str, ...] = ()


NO_RESPONSE = KubeletAllocateResponse()


def read_allocate_response(data: bytes) -> KubeletAllocateResponse:
    """Return the contents of the message.

    Raises:
        ValueError: The bytes are not such a message.

    """
    found: dict[int, list[dict[int, str]]] = {}
    for number, value in _fields(data):
        if value is not None and number in (_ENVS, _MOUNTS, _DEVICES, _ANNOTATIONS, _CDI_DEVICES):
            found.setdefault(number, []).append(_texts(value))
    return KubeletAllocateResponse(
        tuple(_pair(one) for one in found.get(_ENVS, ())),
        tuple(one.get(_FIRST, "") for one in found.get(_MOUNTS, ())),
        tuple(one.get(_SECOND, "") for one in found.get(_DEVICES, ())),
        tuple(_pair(one) for one in found.get(_ANNOTATIONS, ())),
        tuple(one.get(_FIRST, "") for one in found.get(_CDI_DEVICES, ())),
    )


def _pair(entry: dict[int, str]) -> tuple[str, str]:
    return entry.get(_FIRST, ""), entry.get(_SECOND, "")


def _texts(data: bytes) -> dict[int, str]:
    """Return the text fields of a message, by field number."""
    try:
        return {number: value.decode() for number, value in _fields(data) if value is not None}
    except UnicodeDecodeError:
        raise ValueError(f"{_NO_MESSAGE}: a text is not UTF-8") from None


def _fields(data: bytes) -> Iterator[tuple[int, bytes | None]]:
    """Yield the number of each field, and its bytes, or None if its wire type is a number."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        size = 0
        match key & 7:
            case 0:
                _, at = _varint(data, at)
            case 1:
                size = 8
            case 2:
                size, at = _varint(data, at)
            case 5:
                size = 4
            case other:
                raise ValueError(f"{_NO_MESSAGE}: it has a field of wire type {other}")
        if at + size > len(data):
            raise ValueError(f"{_NO_MESSAGE}: it ends inside a field")
        yield key >> 3, data[at : at + size] if key & 7 == _BYTES else None
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at a byte, and the position after it."""
    value = 0
    for i, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value, at + i + 1
    raise ValueError(f"{_NO_MESSAGE}: it ends inside a number")
