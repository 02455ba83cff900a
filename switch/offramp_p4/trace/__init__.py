# SPDX-License-Identifier: Apache-2.0
"""Traces: what each packet met on its way through a switch, as data and as text."""

from __future__ import annotations

from offramp_p4.trace.model import Event, PacketTrace, Span

__all__ = ["Event", "PacketTrace", "Span"]
