# SPDX-License-Identifier: Apache-2.0
"""Transports of messages to the responder: shared memory, TCP, or UCX, which also uses RDMA, behind one interface."""

from offramp.leo.transports.connect import RequesterListener, connect
from offramp.leo.transports.link import TRANSPORTS, Link
from offramp.leo.transports.tcp import TcpLink

__all__ = ["TRANSPORTS", "Link", "RequesterListener", "TcpLink", "connect"]
