"""Quotas of a node's devices in one number: a class of resources as a bit field (seed 003).

Device i of a class (from 1) has the field of ``bits`` bits that begins at bit
``(i - 1) * bits``, so device 1 is the lowest field:

    number = quota_1 | quota_2 << bits | ... | quota_n << (n - 1) * bits

A number alone does not say how many devices there are (0 stands for any count of empty ones),
so ``bits`` and the count are kept beside it. The plain expression would silently give an answer
for values that do not fit and for devices that do not exist; here both are refused (B6, B7).

`BitPackedQuotas` is what is stored and sent. What is compared fast is words of 64 bits, with no
field across two of them (`fields_per_word`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

WORD_BITS = 64
"""Bits of a machine word."""

_DIGITS_AT_ONCE = 4_000
"""Python refuses to turn longer decimal texts into numbers in one step."""

_QUANTITY = re.compile(r"(?P<digits>[0-9]+)(?:(?P<suffix>[kMGTPE])|[eE](?P<exponent>[0-9]{1,4}))?")


class IllegalQuotaError(ValueError):
    """A quota, a device number or an encoded number is not legal; the message says what is."""


def bits_per_quota(largest: int) -> int:
    """Return the bits that one field needs for quotas up to the largest (B3).

    Raises:
        IllegalQuotaError: The largest quota is below 0.

    """
    if largest < 0:
        raise IllegalQuotaError(f"the largest quota is {largest}; a quota is 0 or more")
    return max(1, largest.bit_length())


def encode_device_quotas(quotas: Sequence[int], bits: int) -> int:
    """Return the quotas of devices 1, 2, ... as one number (B2).

    Raises:
        IllegalQuotaError: A quota is below 0 or above 2**bits - 1 (B6).

    """
    _check_bits(bits)
    number = 0
    for index, quota in enumerate(quotas):
        if not 0 <= quota < 1 << bits:
            raise IllegalQuotaError(
                f"device {index + 1}: quota {quota} is outside 0 to {(1 << bits) - 1}, "
                f"all that a {bits}-bit field can say; encode with more bits"
            )
        number |= quota << index * bits
    return number


def decode_device_quota(number: int, bits: int, device: int, devices: int) -> int:
    """Return the quota of one device, numbered from 1 (B4).

    Raises:
        IllegalQuotaError: There is no such device (B7), or the number has more fields than devices.

    """
    if not 1 <= device <= devices:
        there_are = f"devices are 1 to {devices}" if devices > 0 else "the class has no device"
        raise IllegalQuotaError(f"device {device} does not exist; {there_are}")
    _check_number(number, bits, devices)
    return number >> (device - 1) * bits & (1 << bits) - 1


def decode_quotas(number: int, bits: int, devices: int) -> tuple[int, ...]:
    """Return the quotas of all devices, device 1 first (B5).

    Raises:
        IllegalQuotaError: The number is below 0 or has more fields than devices.

    """
    _check_number(number, bits, devices)
    mask = (1 << bits) - 1
    return tuple(number >> index * bits & mask for index in range(devices))


@dataclass(frozen=True, slots=True)
class BitPackedQuotas:
    """The quotas of one class of resources of one node, as they are stored and sent.

    A class of one dimension (a count, such as the addresses of a pool) is a single device whose
    quota is the count.

    Attributes:
        number: As `encode_device_quotas` returns it.
        bits: Bits of each field: enough for the largest quota that any node has in total.
        devices: How many fields there are.

    Raises:
        IllegalQuotaError: The number does not have just these fields.

    """

    number: int
    bits: int
    devices: int

    def __post_init__(self) -> None:
        _check_number(self.number, self.bits, self.devices)

    @classmethod
    def of(cls, quotas: Sequence[int], bits: int) -> "BitPackedQuotas":
        """Encode quotas.

        Raises:
            IllegalQuotaError: A quota does not fit (B6).

        """
        return cls(encode_device_quotas(quotas, bits), bits, len(quotas))

    @property
    def quotas(self) -> tuple[int, ...]:
        """The quotas, device 1 first."""
        return decode_quotas(self.number, self.bits, self.devices)

    @property
    def words(self) -> tuple[int, ...]:
        """The number cut into 64-bit words, lowest first; a field may span two of them."""
        count = max(1, -(-self.bits * self.devices // WORD_BITS))
        mask = (1 << WORD_BITS) - 1
        return tuple(self.number >> index * WORD_BITS & mask for index in range(count))


def fields_per_word(field_bits: int) -> int:
    """Return how many fields a 64-bit word holds where none may span two words (B8).

    Raises:
        IllegalQuotaError: No field of this width fits a word.

    """
    _check_bits(field_bits)
    if field_bits > WORD_BITS:
        raise IllegalQuotaError(f"a field of {field_bits} bits does not fit a word of {WORD_BITS}")
    return WORD_BITS // field_bits


def quota_quantity_text(number: int) -> str:
    """Write a number of any size as a Kubernetes quantity: decimal digits, nothing else.

    Quantities in the decimal format may have any size. Kubernetes cuts those with binary
    suffixes at 2**63 - 1, so no suffix is written.
    """
    if number < 0:
        raise IllegalQuotaError(f"{number} is below 0; an encoded number is 0 or more")
    chunk = 10**_DIGITS_AT_ONCE
    parts: list[str] = []
    while number >= chunk:
        number, low = divmod(number, chunk)
        parts.append(f"{low:0{_DIGITS_AT_ONCE}d}")
    return "".join([str(number), *reversed(parts)])


def parse_quota_quantity(text: str) -> int:
    """Read a number back from a Kubernetes quantity, of any size.

    Kubernetes rewrites round numbers: what was sent as 3000 comes back as ``3k``.

    Raises:
        IllegalQuotaError: The text is no decimal whole number, for example 0.5, 500m or 1Ki.

    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        raise IllegalQuotaError(
            f"{shown!r} is no encoded number; expected decimal digits, "
            "with a suffix k, M, G, T, P or E as Kubernetes may write it"
        )
    digits = match["digits"]
    number = 0
    for start in range(0, len(digits), _DIGITS_AT_ONCE):
        part = digits[start : start + _DIGITS_AT_ONCE]
        number = number * 10 ** len(part) + int(part)
    if match["suffix"]:
        exponent = 3 * ("kMGTPE".index(match["suffix"]) + 1)
    else:
        exponent = int(match["exponent"] or 0)
    scale: int = 10**exponent
    return number * scale


def _check_bits(bits: int) -> None:
    if bits < 1:
        raise IllegalQuotaError(f"a field of {bits} bits holds nothing; use 1 bit or more")


def _check_number(number: int, bits: int, devices: int) -> None:
    _check_bits(bits)
    if devices < 0:
        raise IllegalQuotaError(f"{devices} devices; a class has 0 or more")
    if number < 0:
        raise IllegalQuotaError(
            f"the encoded number is below 0; it has {devices} fields of {bits} bits"
        )
    if number.bit_length() > bits * devices:
        raise IllegalQuotaError(
            f"the encoded number has {number.bit_length()} bits, "
            f"but {devices} devices of {bits} bits have {bits * devices}"
        )
