"""How a worker's frames reach its switch port: one interface over AF_PACKET, sockets and in-process queues."""

from offramp.transport.base import FrameIO

__all__ = ["FrameIO"]
