# SPDX-License-Identifier: Apache-2.0
"""Links through the agent, ``nic:SOCKET#PORT``."""

from __future__ import annotations

from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number

PREFIX: Final = "nic:"
"""Prefix of a link ``nic:SOCKET#PORT``: a port of the agent whose control socket is there."""
LINK_COUNTS: Final = ("received", "sent", "dropped", "malformed", "missed")
"""Fields of :class:`LinkStats` that the agent counts, in its order; its ports have no hosts that others could spoof."""


def parse_nic_link(link: str) -> tuple[str, int]:
    """Control socket and port of ``nic:SOCKET#PORT``.

    Raises:
        OfframpError: the link does not have this form.
    """
    path, mark, number = link.removeprefix(PREFIX).rpartition("#")
    port = whole_number(number)
    if not link.startswith(PREFIX) or not mark or not path or port is None:
        raise OfframpError(f"link {link!r}: expected nic:SOCKET#PORT, a port of the agent counted from 0")
    return path, port
