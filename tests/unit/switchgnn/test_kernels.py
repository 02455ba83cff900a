# SPDX-License-Identifier: Apache-2.0
"""A worker in machine code beside the same one in NumPy: frames, sums and counts alike, whatever the network does.

Skips without llvmlite, where there is one way only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from offramp.switchgnn import reception, uploads
from offramp.switchgnn.endpoint import SwitchGnnEndpoint
from offramp.switchgnn.kernels import kernels
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.wire import LANES, NO_ID, build_frames
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.jobs import random_job, six_vertices
from offramp_sim.switchgnn.lockstep import Lockstep
from offramp_sim.switchgnn.reference import ReferenceSwitch
from switchgnn_channel import UnrulyChannel

pytestmark = pytest.mark.skipif(not kernels(), reason="needs llvmlite")


@pytest.fixture
def in_numpy(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def switch_off() -> None:
        for module in (reception, uploads):
            monkeypatch.setattr(module, "kernels", dict)

    return switch_off


def run(seed: int, loss: float, duplication: float, delay: float, *, acks: bool, lanes: int = LANES) -> list[object]:
    """Everything that left, arrived and was counted in three exchanges of different widths."""
    job = random_job(seed, vertices=24, edges=70, workers=4, limit=9, features=(5, 40), lanes=lanes)
    seen: list[object] = []

    def noted(batch: PacketBatch) -> PacketBatch:
        seen.append((batch.lengths.tolist(), batch.data.tobytes()))
        return batch

    switch = ReferenceSwitch(job.plans, job.ports, acks=acks)
    up, down = (UnrulyChannel(seed + i, duplication, delay, loss) for i in range(2))
    recovery = Recovery(20.0, 40.0, acks=acks, reupload=acks)
    lockstep = Lockstep(
        job.plans, job.ports, lambda b: noted(switch.process(noted(b))), window=7, up=up, down=down, recovery=recovery
    )
    lockstep.start()
    rng = np.random.default_rng(seed)
    for plan, features in ((0, 5), (1, 40), (1, 33)):
        x = rng.integers(-(2**31), 2**31, (len(job.boundary.owner), features)).astype(np.int32)
        x //= 32  # of so many vertices no sum leaves 32 bits
        sums = lockstep.exchange(plan, [x[e.boundaries[plan]] for e in lockstep.endpoints])
        for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
            assert np.array_equal(got, job.expected(x)[endpoint.boundaries[plan]])
        seen += [got.tobytes() for got in sums]
    return [*seen, *(repr(endpoint.stats) for endpoint in lockstep.endpoints)]


@pytest.mark.parametrize("lanes", [64, 128])
@pytest.mark.parametrize(("loss", "duplication", "delay"), [(0, 0, 0), (0.1, 0.1, 0.2)])
def test_both_ways_are_one_with_wider_packets(
    in_numpy, loss: float, duplication: float, delay: float, lanes: int
) -> None:
    compiled = run(4, loss, duplication, delay, acks=True, lanes=lanes)
    in_numpy()
    assert compiled == run(4, loss, duplication, delay, acks=True, lanes=lanes)


@pytest.mark.full
@pytest.mark.parametrize("acks", [False, True])
@pytest.mark.parametrize(("loss", "duplication", "delay"), [(0, 0, 0), (0, 0.3, 0.4), (0.1, 0.1, 0.2)])
def test_both_ways_are_one(in_numpy, loss: float, duplication: float, delay: float, acks: bool) -> None:
    compiled = [run(seed, loss, duplication, delay, acks=acks) for seed in range(3)]
    in_numpy()
    assert compiled == [run(seed, loss, duplication, delay, acks=acks) for seed in range(3)]


X = np.array([[3], [-1], [10], [4], [-7], [2]], np.int32)


def first_round() -> SwitchGnnEndpoint:
    """Worker 1 of the six vertices, which waits for sums of 2 (three contributions) and 3 (two)."""
    endpoint = SwitchGnnEndpoint(1, six_vertices().plans)
    endpoint.start()
    fields = {"src_id": NO_ID, "dst_id": NO_ID, "count": 3, "is_ack": 1, "is_fetch": 1, "round": 1}
    endpoint.incoming(build_frames(0, fields, 1))
    endpoint.begin(0, X[endpoint.boundaries[0]])
    return endpoint


def sums(**fields: object) -> PacketBatch:
    """Sums of 2 and 3, right but for some fields."""
    right = {"src_id": NO_ID, "dst_id": np.array([2, 3]), "count": np.array([3, 2]), "round": 1}
    return build_frames(0, {**right, **fields}, 2, np.array([[-5], [5]], np.int32).repeat(LANES, 1))


def changed(position: int, value: int) -> PacketBatch:
    batch = sums()
    batch.data[1, position] = value
    return batch


def cut(length: int) -> PacketBatch:
    batch = sums()
    batch.lengths[1] = length
    return batch


UNUSUAL = {
    "another protocol": changed(12, 0x86),
    "IPv6": changed(14, 0x65),
    "fragment": changed(21, 8),
    "UDP": changed(23, 17),
    "cut off": cut(177),
    "longer": PacketBatch.concatenate([sums(), PacketBatch.of([(0, bytes(200))])]),
    "unaggregated": sums(src_id=np.array([NO_ID, 0])),
    "resent": sums(resend=np.array([0, 1])),
    "another vertex": sums(dst_id=np.array([2, 4])),
    "no such vertex": sums(dst_id=np.array([2, NO_ID])),
    "another count": sums(count=3),
    "another block": sums(block_id=np.array([0, 1])),
    "another round": sums(round=np.array([1, 2])),
    "a chunk too many": sums(chunk_id=np.array([0, 1])),
    "twice": PacketBatch.concatenate([sums().select(slice(1)), sums()]),
    "marked": sums(ecn=np.array([1, 0])),
    "as it should be": sums(),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_unusual_is_taken_alike(in_numpy, name: str) -> None:
    def outcome() -> tuple[object, ...]:
        endpoint = first_round()
        endpoint.incoming(UNUSUAL[name])
        return endpoint.finished, endpoint.progress, repr(endpoint.stats), endpoint.sums.tolist(), endpoint.state()

    compiled = outcome()
    in_numpy()
    assert outcome() == compiled
    assert (name in {"as it should be", "twice", "marked", "longer"}) == compiled[0]


def test_rows_that_lie_apart_and_more_frames_than_cells() -> None:
    endpoint = first_round()
    wide = np.zeros((2, 400), np.uint8)
    wide[:, 7 : 7 + 178] = sums().data
    endpoint.incoming(PacketBatch(np.zeros(2, np.int32), np.full(2, 178, np.int32), wide[:, 7 : 7 + 178]))
    assert endpoint.sums.tolist() == [[-5], [5]]
    assert endpoint.stats.results == 2
    endpoint = first_round()
    endpoint.incoming(PacketBatch.concatenate([sums()] * 50))
    assert (endpoint.stats.results, endpoint.stats.duplicates) == (2, 98)
