"""Random packets, table entries and replication for any program."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from offramp.errors import OfframpError
from offramp_sim.p4.fuzz.programs import PORTS
from offramp_sim.p4.state import (
    ANY,
    ActionData,
    CloneSession,
    Exact,
    Lpm,
    Match,
    Optional,
    Range,
    Replica,
    TableEntry,
    TableState,
    Ternary,
)
from offramp_sim.p4.state.match import key_width

if TYPE_CHECKING:
    from offramp_sim.p4.switch import Switch

Packet = tuple[int, bytes]


def random_packets(rng: Random, count: int, hints: Sequence[int] = ()) -> list[Packet]:
    """Packets of 0 to 200 bytes; half of their bytes are ``hints`` or small."""
    return [(rng.randrange(PORTS), _frame(rng, hints)) for _ in range(count)]


def _frame(rng: Random, hints: Sequence[int]) -> bytes:
    length = rng.choice((0, 3, rng.randint(4, 40), rng.randint(40, 200), 200))
    likely = [*(hint & 0xFF for hint in hints), 0, 1, 2, 3]
    return bytes(rng.choice(likely) if rng.random() < 0.5 else rng.randrange(256) for _ in range(length))


def populate(switch: Switch | Any, seed: int) -> None:
    """Entries in every table that takes them, multicast groups 1 to 3 (one empty) and clone sessions 1 and 2."""
    rng = Random(seed)
    for name in sorted(switch.tables):
        table = switch.tables[name]
        if not table.table.const_entries and table.profile is None:
            _fill(rng, table)
    switch.pre.multicast.update({1: _replicas(rng), 2: _replicas(rng), 3: ()})
    for session in (1, 2):
        switch.pre.clones[session] = CloneSession(_replicas(rng), packet_length=rng.choice((0, 0, 20)))


def _replicas(rng: Random) -> tuple[Replica, ...]:
    return tuple(Replica(rng.randrange(PORTS), instance) for instance in range(1, rng.randint(2, 4)))


def _fill(rng: Random, table: TableState) -> None:
    for _ in range(rng.randint(0, 6)):
        keys = tuple(_match(rng, kind, width) for kind, width in zip(table.kinds, table.widths, strict=True))
        choice = table.actions[rng.choice(sorted(table.actions))]
        action = ActionData(
            choice.action.name, tuple(rng.randrange(1 << key_width(p.type)) for p in choice.data_params)
        )
        try:
            table.insert(TableEntry(keys, action, rng.randint(1, 9) if table.needs_priority else 0))
        except OfframpError:
            continue  # the same match again, or a table that is full


def _match(rng: Random, kind: str, width: int) -> Match:
    value, other = (rng.choice((rng.randrange(1 << width), rng.randrange(1 << min(width, 2)))) for _ in range(2))
    if kind != "exact" and rng.random() < 0.2:
        return ANY
    made: dict[str, Match] = {
        "exact": Exact(value),
        "lpm": Lpm(value, rng.randint(1, width)),
        "ternary": Ternary(value, other),
        "range": Range(min(value, other), max(value, other)),
        "optional": Optional(value),
    }
    return made[kind]
