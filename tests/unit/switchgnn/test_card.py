# SPDX-License-Identifier: Apache-2.0
"""A job as a card's entries, found as the RTL finds them, and loaded into a card in Python.

Blind spot: the RTL, which ``tests/fpga`` has behind the same control.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np
import pytest

from offramp.allreduce import wire as allreduce
from offramp.fpga.card import CardEngine, with_card
from offramp.fpga.registers import register_map
from offramp.switchgnn import card, wire
from offramp.switchgnn.card import REGISTERS, SwitchGnnCard
from offramp.switchgnn.card_tables import edge_entries, hashed, vertex_entries
from offramp.switchgnn.fanout import contributions
from offramp.switchgnn.guard import slot_rows
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.target import FPGA
from offramp.switchgnn.telemetry import Disposition
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.jobs import GraphPlans, random_job, six_vertices
from register_card import register_card

VERTICES, EDGES = 128, 256


def simulated(aggregators: int = 64, vertices: int = VERTICES, edges: int = EDGES) -> AbstractContextManager:
    sizes = {"AGGREGATORS": aggregators, "VERTICES": vertices, "EDGES": edges}
    return register_card(CardEngine.SWITCHGNN, {0x04: card.VERSION, **{REGISTERS[n]: v for n, v in sizes.items()}})


def load(name: str, plans: list[Plan]) -> None:
    with_card(name, lambda: SwitchGnnCard(name, 5), lambda control: control.load(plans), 5)


def job(seed: int = 1) -> GraphPlans:
    return random_job(seed, vertices=16, edges=40, workers=3, limit=8, features=(5, 40))


def test_a_card_tells_the_packets_of_both_protocols_apart() -> None:
    assert allreduce.IP_PROTOCOL != wire.IP_PROTOCOL


def test_offsets_are_those_of_the_register_map() -> None:
    described = register_map("switchgnn_regs")
    offsets = {register.name: register.offset for register in described.registers}
    assert described.version == card.VERSION
    assert {name: offsets[name] for name in REGISTERS} == REGISTERS


def find(entries: np.ndarray, owner: int, block: int, vertex: int) -> list[int] | None:
    """The first slot of a look-up that holds this or is empty."""
    at = int(hashed(np.array([block]), np.array([vertex]), len(entries))[0]) ^ (len(entries) - 1) * owner
    while entries[at, 2] >> 31:
        if (entries[at, 2] >> 30 & 1, entries[at, 1] & 0xFFFF, entries[at, 0]) == (owner, block, vertex):
            return entries[at].tolist()
        at = (at + 1) % len(entries)
    return None


@pytest.mark.parametrize("seed", range(5))
def test_every_vertex_and_owner_is_found_and_nobody_else(seed: int) -> None:
    plans = job(seed).plans
    entries, edges = vertex_entries(plans, VERTICES), edge_entries(plans, EDGES).tolist()
    sums = contributions(plans, FPGA)
    owners = {}
    for keys, params in slot_rows(plans, range(3), FPGA).entries():
        place = find(entries, 0, keys["block_id"], keys["src_id"])
        assert place is not None
        assert (place[1] >> 16, place[2] >> 16 & 0xFF) == (params["base"], params["chunks"])
        assert place[2] >> 24 & 31 == params["port"]
        owners[keys["src_id"]] = params["port"]
        assert place[2] >> 29 & 1
        mine = np.flatnonzero((sums.block_id == keys["block_id"]) & (sums.src_id == keys["src_id"]))
        first = place[2] & 0xFFFF
        for at, edge in zip(mine.tolist(), edges[first : first + len(mine)], strict=True):
            base = 0 if sums.need[at] == 1 else int(sums.base[at])
            assert edge[:2] == [sums.dst_id[at], int(sums.need[at]) << 16 | base]
            assert (edge[2] & 31, edge[2] >> 8) == (sums.dst_owner[at], at == mine[-1])
    for vertex, worker in owners.items():
        place = find(entries, 1, 0, vertex)
        assert place is not None
        assert place[2] >> 24 & 31 == worker
    assert find(entries, 0, 99, 0) is None
    assert find(entries, 1, 0, 99) is None


def test_a_job_is_loaded_whole_and_begins_last() -> None:
    with simulated() as (there, name):
        load(name, job().plans)
        assert [write for write in there.written if write[0] == REGISTERS["MEMBERS"]] == [(0x20, 0), (0x20, 3)]
        assert there.written[-1] == (0x20, 3)
        assert (REGISTERS["CLEAR"], 1) in there.written
        entries = [vertex_entries(job().plans, VERTICES), edge_entries(job().plans, EDGES)]
        for table, expected in enumerate(entries):
            wanted = expected.astype("<u4").tobytes()
            lines = sorted(place for place in there.lines if place >> 30 == table)
            got = b"".join(there.lines[place] for place in lines)
            assert got == wanted.ljust(len(got), b"\0")
            assert lines == [table << 30 | number for number in range(-(-len(wanted) // 64))]


def test_counts_are_read_by_number() -> None:
    with simulated() as (there, name):
        there.registers[REGISTERS["COUNT"]] = 7
        counts = with_card(name, lambda: SwitchGnnCard(name, 5), lambda control: control.counters(), 5)
        asked = [value for offset, value in there.written if offset == REGISTERS["WHICH"]]
    assert asked == [*map(int, Disposition), len(Disposition)]
    assert (counts["uploads"], counts["results"], counts["recirculations"]) == (7, 14, 7)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"aggregators": 4}, "aggregators: the plan needs 6, the switch program has 4"),
        ({"vertices": 8}, "vertices of blocks, and their owners: the plan needs 12, the switch program has 7"),
        ({"edges": 8}, "contributions: the plan needs 14, the switch program has 8"),
    ],
)
def test_what_a_card_has_no_room_for_is_one_line(sizes: dict[str, int], said: str) -> None:
    with simulated(**sizes) as (there, name), pytest.raises(OfframpError, match=said):
        load(name, six_vertices().plans)
    assert not there.written


def test_cards_that_do_not_do_it_are_one_line() -> None:
    with simulated() as (there, name):
        there.room = 3
        with pytest.raises(OfframpError, match="refuses entries of table 0"):
            load(name, job().plans)
        there.registers[REGISTERS["STATUS"]] = 1
        with pytest.raises(OfframpError, match="does not forget its job"):
            load(name, job().plans)
        there.registers[0x04] = 5
        with pytest.raises(OfframpError, match="has no switchgnn with registers of version 0x53470001, but of 0x5"):
            load(name, job().plans)


def test_wide_aggregators_are_refused() -> None:
    wide = random_job(1, vertices=16, edges=40, workers=3, limit=8, lanes=64).plans
    with simulated() as (_, name), pytest.raises(OfframpError, match="aggregators of 64 lanes, fpga has 32"):
        load(name, wide)
