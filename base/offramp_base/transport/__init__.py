# SPDX-License-Identifier: Apache-2.0
"""Transports of frames between a worker and its switch port: interfaces, sockets and queues, one interface."""

from __future__ import annotations

from offramp_base.transport.base import FrameIO, LinkStats
from offramp_base.transport.links import AUTO, TRANSPORTS, check_transport, open_io, parse_link

__all__ = ["AUTO", "TRANSPORTS", "FrameIO", "LinkStats", "check_transport", "open_io", "parse_link"]
