"""Selectors of devices: the equalities and comparisons in CEL that Placer understands.

``device.driver``, ``device.attributes["domain"].name`` and ``device.capacity["domain"].name``
compared with a value, joined by ``&&``. All else in CEL is refused, never guessed.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

from placer_models.kubernetes.device_attributes import (
    AttributeScalar,
    ResourceSliceDevice,
    parse_semantic_version,
)
from placer_models.quantity import parse_amount_rounding_up


class DeviceSelectorFieldKind(StrEnum):
    """The part of a device that is compared."""

    DRIVER = "driver"
    ATTRIBUTE = "attributes"
    CAPACITY = "capacity"


_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

_TOKEN = re.compile(
    r"\s*(?:(?P<text>\"[^\"\\\n]*\"|'[^'\\\n]*')|(?P<number>-?[0-9]{1,19}(?![0-9.eExu]))"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>&&|==|!=|<=|>=|[][().<>!]))"
)
_END = ""


class UnsupportedDeviceSelectorError(ValueError):
    """A selector that goes beyond what Placer understands."""


@dataclass(frozen=True, slots=True)
class _Amount:
    """A quantity, in thousandths."""

    milli: int


@dataclass(frozen=True, slots=True)
class DeviceSelectorComparison:
    """One comparison of a device with a value.

    Attributes:
        name: Name of the attribute or capacity, with its domain; empty for the driver.

    """

    subject: DeviceSelectorFieldKind
    name: str
    sign: str
    value: AttributeScalar | _Amount

    def meets(self, device: ResourceSliceDevice) -> bool | None:
        """Return whether a device meets it, or None if comparing is an error, as in Kubernetes."""
        found: object = device.driver
        wanted: object = self.value
        if self.subject is DeviceSelectorFieldKind.ATTRIBUTE:
            found = device.attributes.get(self.name)
        elif self.subject is DeviceSelectorFieldKind.CAPACITY:
            found = device.capacity_milli.get(self.name)
            if found is not None and not isinstance(wanted, _Amount):
                return None
            wanted = wanted.milli if isinstance(wanted, _Amount) else wanted
        if found is None or isinstance(found, tuple):
            return None
        alike = type(found) is type(wanted)
        if self.sign in ("==", "!="):
            return (alike and found == wanted) is (self.sign == "==")
        if not alike or isinstance(found, bool):
            return None
        return _ORDER[self.sign](found, wanted)


CelSelector = tuple[DeviceSelectorComparison, ...]
"""Comparisons, all of which have to hold."""


def device_meets_selectors(
    selectors: Sequence[CelSelector], device: ResourceSliceDevice
) -> bool | None:
    """Return whether a device meets the selectors in turn, or None if one of them is an error."""
    for selector in selectors:
        found = [comparison.meets(device) for comparison in selector]
        if False in found:
            return False
        if None in found:
            return None
    return True


def read_cel_selector(expression: str) -> CelSelector:
    """Read a selector.

    Raises:
        UnsupportedDeviceSelectorError: It is more than comparisons of a device, joined by ``&&``.

    """
    return _Reader(_tokens(expression)).whole()


def _tokens(expression: str) -> list[tuple[str, str]]:
    found = []
    at = 0
    rest = expression.rstrip()
    while at < len(rest):
        match = _TOKEN.match(rest, at)
        if match is None or match.lastgroup is None:
            raise UnsupportedDeviceSelectorError(f"'{rest[at:].strip()[:20]}' is not understood")
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


@dataclass(frozen=True, slots=True)
class _Reference:
    subject: DeviceSelectorFieldKind
    name: str = ""


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0

    def whole(self) -> CelSelector:
        """Read to the end."""
        found = self._all_of()
        if self._at < len(self._tokens):
            self._refuse()
        return tuple(found)

    def _all_of(self) -> list[DeviceSelectorComparison]:
        found = self._one()
        while self._takes("&&"):
            found += self._one()
        return found

    def _one(self) -> list[DeviceSelectorComparison]:
        if self._takes("("):
            found = self._all_of()
            self._wants(")")
            return found
        if self._takes("!"):
            return [self._flag(self._reference(), on=False)]
        if self._next() == ("name", "device"):
            return [self._compared(self._reference())]
        value = self._value()
        sign = self._sign()
        reference = self._reference()
        return [DeviceSelectorComparison(reference.subject, reference.name, _TURNED[sign], value)]

    def _compared(self, reference: _Reference) -> DeviceSelectorComparison:
        if self._takes("."):
            method = self._name()
            self._wants("(")
            value = self._value()
            self._wants(")")
            if method == "compareTo":
                sign = self._sign()
                if self._value() != 0:
                    raise UnsupportedDeviceSelectorError("compareTo is compared with 0 only")
            elif method in ("isGreaterThan", "isLessThan"):
                sign = ">" if method == "isGreaterThan" else "<"
            else:
                raise UnsupportedDeviceSelectorError(f"'{method}' is not understood")
            return DeviceSelectorComparison(reference.subject, reference.name, sign, value)
        if self._next()[1] not in _TURNED:
            return self._flag(reference, on=True)
        sign = self._sign()
        return DeviceSelectorComparison(reference.subject, reference.name, sign, self._value())

    @staticmethod
    def _flag(reference: _Reference, *, on: bool) -> DeviceSelectorComparison:
        if reference.subject is not DeviceSelectorFieldKind.ATTRIBUTE:
            raise UnsupportedDeviceSelectorError(
                f"device.{reference.subject} is compared with nothing"
            )
        return DeviceSelectorComparison(reference.subject, reference.name, "==", on)

    def _reference(self) -> _Reference:
        if self._name() != "device":
            self._at -= 1
            self._refuse()
        self._wants(".")
        subject = self._name()
        if subject == DeviceSelectorFieldKind.DRIVER:
            return _Reference(DeviceSelectorFieldKind.DRIVER)
        if subject not in (DeviceSelectorFieldKind.ATTRIBUTE, DeviceSelectorFieldKind.CAPACITY):
            raise UnsupportedDeviceSelectorError(f"'device.{subject}' is not understood")
        self._wants("[")
        domain = self._text()
        self._wants("]")
        if self._takes("["):
            name = self._text()
            self._wants("]")
        else:
            self._wants(".")
            name = self._name()
        return _Reference(DeviceSelectorFieldKind(subject), f"{domain}/{name}")

    def _value(self) -> AttributeScalar | _Amount:
        kind, text = self._next()
        self._at += 1
        if kind == "text":
            return text[1:-1]
        if kind == "number":
            return int(text)
        if text in ("true", "false"):
            return text == "true"
        if text in ("quantity", "semver"):
            self._wants("(")
            inside = self._text()
            self._wants(")")
            try:
                return (
                    _Amount(parse_amount_rounding_up(inside, 1000))
                    if text == "quantity"
                    else parse_semantic_version(inside)
                )
            except ValueError as error:
                raise UnsupportedDeviceSelectorError(str(error)) from None
        self._at -= 1
        return self._refuse()

    def _sign(self) -> str:
        text = self._next()[1]
        if text not in _TURNED:
            self._refuse()
        self._at += 1
        return text

    def _name(self) -> str:
        return self._of("name")

    def _text(self) -> str:
        return self._of("text")[1:-1]

    def _of(self, kind: str) -> str:
        is_kind, text = self._next()
        if is_kind != kind:
            self._refuse()
        self._at += 1
        return text

    def _next(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("", _END)

    def _takes(self, sign: str) -> bool:
        if self._next() != ("sign", sign):
            return False
        self._at += 1
        return True

    def _wants(self, sign: str) -> None:
        if not self._takes(sign):
            self._refuse()

    def _refuse(self) -> NoReturn:
        text = self._next()[1]
        raise UnsupportedDeviceSelectorError(
            f"'{text}' is not understood" if text else "it ends too early"
        )
