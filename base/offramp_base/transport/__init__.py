# SPDX-License-Identifier: Apache-2.0
"""How a worker's frames reach its switch port: interfaces, sockets and in-process queues, one interface."""

from __future__ import annotations

from offramp_base.transport.base import FrameIO, LinkStats
from offramp_base.transport.links import AUTO, TRANSPORTS, check_transport, open_io, parse_link

__all__ = ["AUTO", "TRANSPORTS", "FrameIO", "LinkStats", "check_transport", "open_io", "parse_link"]
