"""Ports of the node itself that pods ask for (kube-scheduler's NodePorts)."""

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address

from placer_models.typed import check_field_types

ANY_IP = "0.0.0.0"
"""The address that stands for all addresses of a node."""

MOST_PORT = 65_535
"""The highest port there is."""


class PortProtocol(StrEnum):
    """Protocols, each of which has ports of its own."""

    TCP = "TCP"
    UDP = "UDP"
    SCTP = "SCTP"


@dataclass(frozen=True, slots=True, order=True)
class HostPort:
    """A port of the node on which a pod is reached.

    Attributes:
        ip: The node's address that it is reached by; ``ANY_IP``: by all of them, so that nobody
            else can have the port on any address. ``::`` is an address like others, as it is to
            kube-scheduler.

    Raises:
        ValueError: There is no such port, or the address is none.

    """

    port: int
    protocol: PortProtocol = PortProtocol.TCP
    ip: str = ANY_IP

    def __post_init__(self) -> None:
        check_field_types(self)
        if not 1 <= self.port <= MOST_PORT:
            raise ValueError(f"got port {self.port}; ports are 1 to {MOST_PORT}")
        object.__setattr__(self, "ip", str(ip_address(self.ip)))

    @property
    def port_and_protocol(self) -> str:
        """The port without its address, such as ``80/TCP``."""
        return f"{self.port}/{self.protocol}"

    def __str__(self) -> str:
        """Return the port as people write it, such as ``80/TCP`` or ``10.0.0.7:80/TCP``."""
        if self.ip == ANY_IP:
            return self.port_and_protocol
        ip = f"[{self.ip}]" if ":" in self.ip else self.ip
        return f"{ip}:{self.port_and_protocol}"
