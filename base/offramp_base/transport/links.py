# SPDX-License-Identifier: Apache-2.0
"""Names of links: ``TRANSPORT:WHERE``, or a bare interface that the default transport opens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.transport.base import FrameIO, FrameSocket, LinkStats

AUTO: Final = "auto"
NIC: Final = "nic"
"""A port of a smartNIC's agent, ``nic:SOCKET#PORT``: it takes tensors and makes the frames itself."""


@dataclass(frozen=True, slots=True)
class Transport:
    """A way for frames.

    Attributes:
        where: the part of a link's name after the colon.
        needs: capabilities that a process must have (capabilities(7)).
        lossless: whether a slow reader holds the sender back instead of losing frames.
    """

    name: str
    where: str
    needs: tuple[str, ...]
    lossless: bool

    @property
    def when_slow(self) -> str:
        """Behaviour when frames arrive faster than they are read, as a phrase for people."""
        return "holds the sender back" if self.lossless else "loses frames, counted"

    @property
    def on_interface(self) -> bool:
        """Whether its links are network interfaces."""
        return self.where == "IFNAME"


TRANSPORTS: Final = {
    transport.name: transport
    for transport in (
        Transport("unix", "PATH", (), lossless=True),
        Transport("shm", "PATH", (), lossless=True),
        Transport("udp", "HOST:PORT", (), lossless=False),
        Transport("af_packet", "IFNAME", ("CAP_NET_RAW",), lossless=False),
        Transport("bundle", "IFNAME", ("CAP_NET_RAW",), lossless=False),
        Transport("af_xdp", "IFNAME", ("CAP_NET_RAW", "CAP_NET_ADMIN", "CAP_BPF"), lossless=False),
    )
}
EXPECTED: Final = ", ".join(f"{t.name}:{t.where}" for t in TRANSPORTS.values()) + " or the name of a network interface"


@dataclass(frozen=True, slots=True)
class LinkName:
    """A link: the name of its transport, and its address."""

    transport: str
    where: str

    def __str__(self) -> str:
        return f"{self.transport}:{self.where}"


def check_transport(name: str) -> str:
    """The name if it is ``auto`` or that of a transport.

    Raises:
        OfframpError: it is neither.
    """
    if name != AUTO and name not in TRANSPORTS:
        raise OfframpError(f"transport {name!r}: expected {AUTO}, {', '.join(TRANSPORTS)}")
    return name


def parse_link(text: str, default: str = AUTO) -> LinkName:
    """The link that ``text`` names; a bare interface is opened by ``default``, where ``auto`` means ``af_packet``.

    ``auto`` never takes AF_XDP, which takes all frames of an interface away from the kernel.

    Raises:
        OfframpError: no such transport, nothing after the colon, or a default that does not go with an interface.
    """
    kind, colon, where = text.partition(":")
    if kind == NIC and where:
        return LinkName(kind, where)
    if colon:
        if kind not in TRANSPORTS or not where:
            raise OfframpError(f"link {text!r}: expected {EXPECTED}")
        return LinkName(kind, where)
    if not text or "/" in text:
        raise OfframpError(f"link {text!r}: expected {EXPECTED}")
    chosen = "af_packet" if check_transport(default) == AUTO else default
    if not TRANSPORTS[chosen].on_interface:
        raise OfframpError(f"link {text!r}: transport {chosen} expects {chosen}:{TRANSPORTS[chosen].where}")
    return LinkName(chosen, text)


def open_io(text: str, default: str = AUTO) -> FrameIO:
    """The host's end of the link that ``text`` names (:func:`parse_link`).

    Raises:
        OfframpError: not a link, nothing listens at the path, there is no such interface, or no permission.
    """
    return io_opener(text, default)()


def io_opener(text: str, default: str = AUTO) -> Callable[[], FrameIO]:
    """:func:`open_io` in two steps: what the link needs is imported now, and the function returned opens it.

    Raises:
        OfframpError: not a link.
    """
    link = parse_link(text, default)
    if link.transport == NIC:
        raise OfframpError(f"link {text!r}: the agent takes tensors, not frames: only SwitchGNN's workers use it")
    if link.transport == "unix":
        from offramp_base.transport.unix import UnixIO

        return partial(UnixIO, link.where)
    if link.transport == "shm":
        from offramp_base.transport.shm.io import ShmIO

        return partial(ShmIO, link.where)
    from offramp_base.transport.socket_io import SocketIO

    if link.transport == "udp":
        from offramp_base.transport.udp import UdpSocket

        return lambda: SocketIO(UdpSocket.connect(link.where))
    return lambda: SocketIO(interface_opener(link, host=True)(None))


def interface_opener(
    link: LinkName, ring_bytes: int | None = None, *, host: bool = False
) -> Callable[[LinkStats | None], FrameSocket]:
    """A function that opens a link's interface as a socket, which goes on with the counts given to it; callable again.

    ``ring_bytes`` is the memory for what arrives, where the transport lets one choose; ``host`` says which end it is.
    """
    if link.transport == "af_xdp":
        from offramp_base.transport.xdp.socket import AfXdpSocket

        return lambda stats: AfXdpSocket(link.where, stats)
    from offramp_base.transport.af_packet import AfPacketSocket
    from offramp_base.transport.ring import RING_BYTES

    if link.transport == "bundle":
        from offramp_base.transport.bundle import BundleSocket

        return lambda stats: BundleSocket(link.where, ring_bytes or RING_BYTES, stats, first=host)
    return lambda stats: AfPacketSocket(link.where, ring_bytes or RING_BYTES, stats)
