# SPDX-License-Identifier: Apache-2.0
"""PNA's flow cache as packets see it. Entries are added and removed by Python (``native/portable/objects.py``)."""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import offset
from offramp_base.native.subset import Words, below, call_back, native
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import LIVES, SwitchMemory, TableRecord, Timer

BEGUN: Final = 1
"""Event: a timer has been restarted."""
CHANGED: Final = 2
"""Event: a timer has been restarted with another time to live."""


@native
def add_flow(ctx: SwitchMemory, site: int, table: int, key: int, data: int, profile: int) -> int:
    """Add an entry to the table with a number (0: none was missed); 1 when it was added."""
    if table == 0:
        return 0
    request = ctx.learning
    request.site = site
    request.table = table
    request.key = key
    request.data = data
    request.profile = profile
    request.added = 0
    call_back(ctx.learn, int(ctx), 0)
    return ctx.learning.added


@native
def give_flow_id(ctx: SwitchMemory) -> int:
    """A unique flow id."""
    identifier = ctx.flow_ids
    ctx.flow_ids = identifier + 1
    return identifier


@native
def restart_timer(ctx: SwitchMemory, hit: int) -> None:
    """Restart the timer of an entry; ``hit`` is 0, or the words of its table and its number."""
    if hit != 0:
        _renewed(ctx, hit, BEGUN)


@native
def change_life(ctx: SwitchMemory, hit: int, profile: int) -> None:
    """Give an entry another time to live, from now on."""
    if hit == 0:
        return
    life_us = 0
    if below(profile, LIVES):
        life_us = ctx.lives_us[profile]
    timer = Timer(_renewed(ctx, hit, CHANGED))
    timer.life_us = life_us
    if life_us != 0 and ctx.now_us + life_us < ctx.due_us:
        ctx.due_us = ctx.now_us + life_us


@native
def _renewed(ctx: SwitchMemory, hit: int, how: int) -> int:
    """The address of the timer of an entry, which begins now."""
    words = hit >> 32
    number = hit & 0xFFFFFFFF
    timer = TableRecord(Words(ctx) + words).timers + (number - 1)
    timer.began_us = ctx.now_us
    if timer.renewed == 0:
        pair = Words(append(ctx, offset(SwitchMemory.renewed), 16))
        pair[0] = words
        pair[1] = number
    timer.renewed |= how
    return int(timer)
