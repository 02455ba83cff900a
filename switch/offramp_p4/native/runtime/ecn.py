# SPDX-License-Identifier: Apache-2.0
"""Explicit congestion notification (RFC 3168), as in :mod:`offramp_p4.tm.ecn`."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Bytes, call_back, native
from offramp_p4.native.runtime.context import SwitchMemory

_CE: Final = 3
_IPV4: Final = 0x0800
_IPV6: Final = 0x86DD
_VLAN: Final = 0x8100
_SERVICE_VLAN: Final = 0x88A8


@native
def _half(frame: Bytes, at: int, length: int) -> int:
    """16 bits of a frame; what lies behind its end counts as no bytes at all."""
    if at + 2 <= length:
        return frame[at] << 8 | frame[at + 1]
    if at < length:
        return frame[at]
    return 0


@native
def _mark_ipv4(frame: Bytes) -> int:
    if frame[1] & _CE == 0 or frame[1] & _CE == _CE:
        return 0
    before = frame[0] << 8 | frame[1]
    frame[1] = frame[1] | _CE
    total = ((frame[10] << 8 | frame[11]) ^ 0xFFFF) + (before ^ 0xFFFF) + (before | _CE)  # RFC 1624
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    total = total ^ 0xFFFF
    frame[10] = total >> 8
    frame[11] = total & 0xFF
    return 1


@native
def _mark_ipv6(frame: Bytes) -> int:
    bits = frame[1] >> 4 & _CE
    if bits == 0 or bits == _CE:
        return 0
    frame[1] = frame[1] | _CE << 4
    return 1


@native
def _mark_ip(frame: Bytes, length: int) -> int:
    at = 12
    kind = _half(frame, at, length)
    while kind in (_VLAN, _SERVICE_VLAN):
        at += 4
        kind = _half(frame, at, length)
    at += 2
    if kind == _IPV4 and length >= at + 20 and frame[at] >> 4 == 4:
        return _mark_ipv4(frame + at)
    if kind == _IPV6 and length >= at + 40 and frame[at] >> 4 == 6:
        return _mark_ipv6(frame + at)
    return 0


@native
def mark(ctx: SwitchMemory, frame: int, length: int) -> int:
    """Mark a frame in place; returns whether it changed."""
    if ctx.mark == 0:
        return _mark_ip(Bytes(frame), length)
    ctx.marked = 0
    call_back(ctx.mark, frame, length)
    return ctx.marked
