# SPDX-License-Identifier: Apache-2.0
"""Frames from ports that may not send them: each kind by itself, then whole jobs under attack.

Blind to a worker that lies in its own name from its own port: nothing tells it from an honest one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from offramp.switchgnn.leaf_spine import even_racks
from offramp.switchgnn.wire import LANES, NO_ID, build_frames
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn import direct
from offramp_sim.switchgnn.jobs import GraphPlans, six_vertices
from switchgnn_attack import Attacker, attacked_job, turns
from switchgnn_leaf_reference import addressed
from switchgnn_two_level import MakeTwoLevels, factory

pytestmark = pytest.mark.p4

FOREIGN = 9


def frame(value: int | None = None, **fields: int) -> bytes:
    lanes = None if value is None else np.full((1, LANES), value, np.int32)
    return next(build_frames(0, {"dst_id": NO_ID, "round": 1, **fields}, 1, lanes).frames())


# Of worker 0, on port 1, which owns vertices 0 and 1 of the six; port 2 is worker 1's.
OF_WORKER_0 = {
    "upload": frame(9, src_id=0),
    "fetch": frame(src_id=0, dst_id=4, is_fetch=1),
    "repeated fetch": frame(src_id=0, dst_id=4, is_fetch=1, resend=1),
    "resend": frame(9, src_id=0, dst_id=3, resend=1),
    "ack": frame(src_id=0, is_ack=1, count=3),
    "done": frame(src_id=0, is_ack=1, is_fetch=1),
    "done of the round before": frame(src_id=0, is_ack=1, is_fetch=1, round=0),
}
SUM_OF_3 = [5] * LANES  # of 0 and 5


@pytest.mark.parametrize("port", [0, 2, FOREIGN, 127])
@pytest.mark.parametrize("kind", OF_WORKER_0)
def test_a_forged_frame_is_counted_as_a_strangers_and_changes_nothing(make_target, kind: str, port: int) -> None:
    target = make_target(six_vertices(), acks=True)
    target.set_round(1)
    before = target.counters()
    assert len(target.process(PacketBatch.of([(port, OF_WORKER_0[kind])]))) == 0
    after = target.counters()
    assert after.pop("stranger") == before.pop("stranger") + 1
    assert after == before
    # The real ones come after, and count: no duplicate, no released aggregator, no host that has said DONE.
    assert len(target.process(PacketBatch.of([(1, frame(3, src_id=0))]))) == 0
    out = list(target.process(PacketBatch.of([(3, frame(2, src_id=5))])))
    assert [(p, np.frombuffer(f[50:178], ">i4").tolist()) for p, f in out] == [(2, SUM_OF_3)]
    done = [frame(src_id=host, is_ack=1, is_fetch=1) for host in range(3)]
    assert len(target.process(PacketBatch.of([(2, done[1]), (3, done[2])]))) == 0
    assert len(target.process(PacketBatch.of([(1, done[0])]))) == 3


@pytest.mark.parametrize("kind", ["upload", "done"])
def test_a_forged_frame_in_the_strawman(make_strawman, kind: str) -> None:
    target = make_strawman(six_vertices(), capacity=6)
    target.set_round(1)
    assert len(target.process(PacketBatch.of([(p, OF_WORKER_0[kind]) for p in (2, FOREIGN)]))) == 0
    assert target.counters()["stranger"] == 2
    assert len(target.process(PacketBatch.of([(1, frame(3, src_id=0))]))) == 0
    assert len(target.process(PacketBatch.of([(3, frame(2, src_id=5))]))) == 1


def test_what_comes_from_nobodys_port_is_a_strangers_whatever_it_is(make_target) -> None:
    """Unknown vertices, past rounds, chunks that are not there, flags without a meaning: all of one counter."""
    odd = [{"src_id": 6}, {"round": 7}, {"chunk_id": 9}, {"is_ack": 1, "resend": 1}, {"src_id": NO_ID}]
    frames = [frame(9, **{"src_id": 0, **fields}) for fields in odd]
    target = make_target(six_vertices())
    target.set_round(1)
    assert len(target.process(PacketBatch.of((FOREIGN, f) for f in frames))) == 0
    assert target.counters()["stranger"] == len(frames)


def test_a_switch_without_a_round_takes_none_from_a_stranger(make_target) -> None:
    target = make_target(six_vertices())
    lost = frame(src_id=0, is_ack=1, is_fetch=1, round=77)
    assert len(target.process(PacketBatch.of([(2, lost), (FOREIGN, lost)]))) == 0
    done = [(1 + host, frame(src_id=host, is_ack=1, is_fetch=1, round=0)) for host in range(3)]
    assert [f[48:50].hex() for _, f in target.process(PacketBatch.of(done))] == ["0001"] * 3


@pytest.mark.full
def test_strangers_are_counted_by_port(p4_targets) -> None:
    for name in ("python", "native", "replicated-native", "tna-python", "tna-native"):
        target = p4_targets(name)(six_vertices())
        target.set_round(1)
        target.process(PacketBatch.of([(2, OF_WORKER_0["upload"]), *[(FOREIGN, OF_WORKER_0["done"])] * 3]))
        assert direct.strangers(target.switch) == {2: 1, FOREIGN: 3}


# --- leaves and spines -------------------------------------------------------------------------------------

SIX = even_racks(3, 2, 2)  # workers 0, 1 on ports 1, 2 of leaf 0 (3, 4 lead to spines); 2 on port 1 of leaf 1 (2, 3)


@pytest.fixture(scope="session")
def two_levels(programs) -> dict[str, MakeTwoLevels]:
    return {engine: factory(programs["v1model"], engine) for engine in ("python", "native")}


def of_leaf(leaf: int, content: bytes) -> bytes:
    return addressed(content, leaf)


PARTIAL = {"src_id": NO_ID, "dst_id": 0, "count": 1, "level": 1}
LEAF_DONE = {"src_id": 4, "is_ack": 1, "is_fetch": 1, "level": 1}
GO = {"src_id": NO_ID, "is_ack": 1, "is_fetch": 1, "round": 2}

# (switch: leaf 0, leaf 1 or a spine; port; frame)
NOT_THEIRS = {
    "a partial sum from a worker": (0, 2, of_leaf(1, frame(9, **PARTIAL))),
    "a partial sum from nobody": (0, FOREIGN, of_leaf(1, frame(9, **PARTIAL))),
    "a partial sum of the leaf itself": (0, 3, of_leaf(0, frame(9, **PARTIAL))),
    "a partial sum of no leaf": (0, 3, frame(9, **PARTIAL)),
    "an upload by an uplink": (0, 3, of_leaf(1, frame(9, src_id=0))),
    "a fetch of an own vertex by an uplink": (0, 3, of_leaf(1, frame(src_id=0, dst_id=4, is_fetch=1))),
    "a fetch of another rack's vertex from a worker": (0, 1, frame(src_id=4, dst_id=0, is_fetch=1)),
    "a leaf's DONE from a worker": (0, 1, of_leaf(1, frame(**LEAF_DONE))),
    "DONE of a worker in the name of a leaf's level": (0, 1, frame(src_id=0, is_ack=1, is_fetch=1, level=1)),
    "DONE of a worker by an uplink": (0, 3, of_leaf(1, frame(src_id=0, is_ack=1, is_fetch=1))),
    "GO from a worker": (1, 1, of_leaf(0, frame(**GO))),
    "GO from nobody": (1, FOREIGN, of_leaf(0, frame(**GO))),
    "an upload that would begin a round": (1, 1, frame(9, src_id=NO_ID, round=2)),
    "leaf 1's partial sum by leaf 0's port": (2, 1, of_leaf(1, frame(9, **PARTIAL))),
    "leaf 0's DONE by leaf 1's port": (2, 2, of_leaf(1, frame(**{**LEAF_DONE, "src_id": 3}))),
    "GO by leaf 1's port": (2, 2, of_leaf(1, frame(**GO))),
    "a fetch from nobody on a spine": (2, FOREIGN, of_leaf(0, frame(src_id=0, dst_id=4, is_fetch=1))),
}
UNKNOWN = {"an upload that would begin a round"}


@pytest.mark.full
@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("name", NOT_THEIRS)
def test_what_a_port_of_a_leaf_or_spine_may_not_send(two_levels, name: str, engine: str) -> None:
    number, port, forged = NOT_THEIRS[name]
    levels = two_levels[engine](six_vertices().plans, SIX, acks=True)
    pair = [*levels.leaves, levels.spines[0]][number]
    pair.switch.registers["SwitchGnnIngress.round.current"].write(0, 1)
    pair.oracle.round = 1
    assert len(pair.process(PacketBatch.of([(port, forged)]))) == 0
    counts = direct.counters(pair.switch)
    assert counts == pair.oracle.counters()
    assert pair.switch.registers["SwitchGnnIngress.round.current"].read(0) == 1
    refused = "stale" if name in UNKNOWN else "stranger"
    assert counts[refused] == 1
    assert direct.strangers(pair.switch) == pair.oracle.strangers == ({} if name in UNKNOWN else {port: 1})


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize(
    ("now", "said", "then"), [(1, 0x8000, 0x8000), (1, 0x8001, 1), (0xFFFF, 0x7FFE, 0x7FFE), (5, 4, 5)]
)
def test_a_leaf_follows_go_for_half_of_all_rounds(two_levels, engine: str, now: int, said: int, then: int) -> None:
    levels = two_levels[engine](six_vertices().plans, SIX)
    leaf = levels.leaves[1]
    leaf.switch.registers["SwitchGnnIngress.round.current"].write(0, now)
    leaf.oracle.round = now
    leaf.process(PacketBatch.of([(2, of_leaf(0, frame(**{**GO, "round": said})))]))
    assert leaf.switch.registers["SwitchGnnIngress.round.current"].read(0) == leaf.oracle.round == then


# --- jobs --------------------------------------------------------------------------------------------------

FRAMES = 100
NOBODYS = (0, 15, 16, 77, 127)
NOBODYS_OF_V1MODEL = (*NOBODYS, 255, 256, 500, 510, 511)
"""With the port that recirculated packets are sent to."""


def attack(seed: int, make: Callable[..., object], foreign: tuple[int, ...] = NOBODYS_OF_V1MODEL) -> int:
    """A job in peace and under attack; how many frames the attacker sent."""
    job: GraphPlans = attacked_job(seed)
    acks = bool(seed % 2)
    peace = turns(seed, job, make(job, acks=acks).process, job.ports, acks=acks)
    target = make(job, acks=acks)
    attacker = Attacker(target.process, np.random.default_rng([seed, 1]), job.ports, foreign, FRAMES)
    assert turns(seed, job, attacker, job.ports, acks=acks) == peace
    attacker.attack([], FRAMES)  # what is left, after the job
    assert target.open() == 0
    assert target.counters()["stranger"] > attacker.sent // 2
    return attacker.sent


@pytest.mark.parametrize("seed", range(12))
def test_a_job_under_attack(p4_targets, seed: int) -> None:
    assert attack(seed, p4_targets("native")) == FRAMES


@pytest.mark.parametrize("seed", range(4))
def test_a_job_under_attack_by_replication(p4_targets, seed: int) -> None:
    assert attack(seed, p4_targets("replicated-native")) == FRAMES


@pytest.mark.parametrize("seed", range(2))
def test_a_job_under_attack_on_tofino(p4_targets, seed: int) -> None:
    assert attack(seed, p4_targets("tna-native"), NOBODYS) == FRAMES


def attack_two_levels(seed: int, make: MakeTwoLevels) -> int:
    job = attacked_job(seed)
    rng = np.random.default_rng([seed, 1])
    workers = len(job.ports)
    network = even_racks(workers, 2, int(rng.integers(1, 3)))
    ports = list(range(1, workers + 1))
    acks = bool(seed % 2)

    def run(attackers: Callable[..., list[Attacker]]) -> tuple[list[int], int]:
        levels = make(job.plans, network, acks=acks)
        sending = attackers(levels)
        inside = levels.inside
        ended = turns(seed, job, inside.process, ports, acks=acks, racks=network.racks, busy=inside.busy)
        levels.check()
        return ended, sum(attacker.sent for attacker in sending)

    def attackers(levels) -> list[Attacker]:
        spoilers = []
        inside = levels.inside
        for processes, members in (
            (inside._leaves, [[network.host_port(w) for w in network.members(leaf)] for leaf in range(2)]),
            (inside._spines, [network.spine_ports()] * network.spines),
        ):
            for at, own in enumerate(members):
                processes[at] = Attacker(processes[at], rng, own, (0, 77, 500, 511), FRAMES // 4)
                spoilers.append(processes[at])
        return spoilers

    (peace, _), (war, sent) = run(lambda _: []), run(attackers)
    assert war == peace
    return sent


@pytest.mark.parametrize("seed", range(6))
def test_leaves_and_spines_under_attack(two_levels, seed: int) -> None:
    assert attack_two_levels(seed, two_levels["native"]) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 2000))
def test_a_thousand_jobs_under_attack(p4_targets, seed: int) -> None:
    assert attack(seed, p4_targets("native")) == FRAMES


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2000, 2100))
def test_a_hundred_jobs_under_attack_by_replication(p4_targets, seed: int) -> None:
    assert attack(seed, p4_targets("replicated-native")) == FRAMES


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2100, 2120))
def test_twenty_jobs_under_attack_on_tofino(p4_targets, seed: int) -> None:
    assert attack(seed, p4_targets("tna-native"), NOBODYS) == FRAMES


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2200, 2300))
def test_a_hundred_networks_under_attack(two_levels, seed: int) -> None:
    assert attack_two_levels(seed, two_levels["native"]) > 0
