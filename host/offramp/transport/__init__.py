"""How a worker's frames reach its switch port: AF_PACKET, sockets and in-process queues, one interface."""

from __future__ import annotations

from offramp.errors import OfframpError
from offramp.transport.base import FrameIO

__all__ = ["FrameIO", "open_io"]


def open_io(spec: str) -> FrameIO:
    """The link that ``spec`` names: ``unix:PATH``, or a network interface.

    Raises:
        OfframpError: nothing listens at the path, there is no such interface, or no permission.
    """
    kind, colon, path = spec.partition(":")
    if kind == "unix" and colon:
        from offramp.transport.unix import UnixIO

        return UnixIO(path)
    if not spec or "/" in spec or colon:
        raise OfframpError(f"link {spec!r}: expected unix:PATH or the name of a network interface")
    from offramp.transport.af_packet import AfPacketIO

    return AfPacketIO(spec)
