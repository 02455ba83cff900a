# SPDX-License-Identifier: Apache-2.0
"""The rights of this process to use network interfaces (capabilities(7))."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

from offramp_base.transport.links import Transport

CAPABILITIES: Final = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21, "CAP_BPF": 39}
_IMPLIED: Final = {"CAP_BPF": "CAP_SYS_ADMIN"}
_STATUS: Final = Path("/proc/self/status")
_AF_XDP: Final = 44


def has_capability(name: str) -> bool:
    """Whether this process has one of :data:`CAPABILITIES`, or the one that includes it."""
    try:
        status = _STATUS.read_text(encoding="ascii")
    except OSError:
        return False
    effective = next((line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")), "0")
    names = {name, _IMPLIED.get(name, name)}
    return any(int(effective, 16) >> CAPABILITIES[one] & 1 for one in names)


def obstacle(transport: Transport) -> str:
    """The reason that this process cannot use the transport; empty if it can."""
    missing = [name for name in transport.needs if not has_capability(name)]
    if missing:
        return f"needs root, or {' and '.join(missing)}"
    if transport.name == "af_xdp" and not _kernel_has_xdp():
        return "not in this kernel (CONFIG_XDP_SOCKETS)"
    return ""


def _kernel_has_xdp() -> bool:
    try:
        socket.socket(_AF_XDP, socket.SOCK_RAW, 0).close()
    except OSError:
        return False
    return True
