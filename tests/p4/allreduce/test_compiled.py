# SPDX-License-Identifier: Apache-2.0
"""The endpoint in machine code beside the one in Python, which is its oracle."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import numpy as np
import pytest

from allreduce_lab import ENGINES, JOB, Star, endpoints, equal, lockstep, make
from allreduce_oracle import exact_sum, random_tensor
from offramp.allreduce.endpoint import AllReduceEndpoint
from offramp.allreduce.numbers import CODES
from offramp.allreduce.rank_endpoint import RankEndpoint, make_endpoint
from offramp.allreduce.wire import ALLREDUCE, HEADER_BYTES, AllReducePacketType, frame_bytes
from offramp.switch_packets import PREFIX_BYTES
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch

pytestmark = pytest.mark.p4
TYPES = [name for name in CODES if name != "bfloat16"]  # NumPy has none by itself
LIMITS = [0.0, -0.0, 1e-45, -1e-40, 3e38, np.inf, -np.inf, np.nan, 1.0]


@cache
def _switch(segments: int = 1):
    return make("v1model-native", segments)


def _frames(engine: type[RankEndpoint], given: list[list[np.ndarray]], segments: int) -> tuple[list[bytes], list]:
    """All that goes up to a switch while tensors are summed one after the other, and the sums."""
    switch = _switch(segments)
    switch.reset()
    star = Star(switch, len(given[0]))
    seen: list[bytes] = []

    def process(batch: PacketBatch) -> PacketBatch:
        seen.extend(frame for _, frame in batch)
        return star.process(batch)

    run = lockstep(star, 0, segments=segments, engines=[engine], process=process)
    sums = [[array.copy() for array in each] for each in given]
    for each in sums:
        run.all_reduce(each)
    return seen, sums


@pytest.mark.full
@pytest.mark.parametrize(("ranks", "segments"), [(1, 1), (2, 4), (3, 1), (5, 4)])
def test_frames_and_sums_are_equal_to_the_byte(ranks: int, segments: int) -> None:
    rng = np.random.default_rng(ranks)
    given = []
    for name in TYPES:
        for count in (0, 1, 64 * segments, 64 * segments * 135 + 7):
            given.append(random_tensor(rng, name, count, ranks))
            if "float" in name and count > 1:
                given.append([array.copy() for array in given[-1]])
                for array in given[-1]:
                    places = rng.integers(0, count, 30)
                    with np.errstate(over="ignore"):
                        array[places] = rng.choice(LIMITS, 30).astype(name)
    one, other = (_frames(engine, given, segments) for engine in ENGINES)
    assert len(one[0]) > ranks * 10
    for number, (a, b) in enumerate(zip(sorted(one[0]), sorted(other[0]), strict=True)):  # bursts end where they may
        assert a == b, number
    for a, b in zip(one[1], other[1], strict=True):
        assert all(equal(x, y) and equal(np.signbit(x), np.signbit(y)) for x, y in zip(a, b, strict=True))


def _mutated(rng: np.random.Generator, batch: PacketBatch) -> PacketBatch:
    """Frames as an enemy sends them: of any length, of good ones with bytes changed, of any bytes."""
    frames = []
    for port, good in batch:
        frame = bytearray(good)
        for _ in range(int(rng.integers(1, 6))):
            frame[int(rng.integers(0, len(frame)))] = int(rng.integers(0, 256))
        job = PREFIX_BYTES + ALLREDUCE.by_name["job"].first
        if rng.random() < 0.5:  # not what this job believes
            frame[job] ^= 0x80
        elif rng.random() < 0.5:
            frame = frame[: int(rng.integers(0, HEADER_BYTES))]
        else:
            frame = bytearray(rng.bytes(int(rng.integers(0, 400))))
        frames.append((port, bytes(frame)))
    return PacketBatch.of(frames)


@pytest.mark.full
def test_what_does_not_belong_to_a_job_changes_nothing() -> None:
    rng = np.random.default_rng(5)
    switch = _switch()
    switch.reset()
    star = Star(switch, 3)
    run = lockstep(star, 5, 0.1)
    given = random_tensor(rng, "float32", 9000, 3)
    process = star.process

    def disturbed(batch: PacketBatch) -> PacketBatch:
        down = process(batch)
        return PacketBatch.concatenate([_mutated(rng, down), down]) if len(down) else down

    run._process = disturbed
    arrays = [array.copy() for array in given]
    run.all_reduce(arrays)
    assert all(equal(array, exact_sum(given, 64, 128)) for array in arrays)
    assert all(endpoint.stats.foreign > 100 for endpoint in run.endpoints)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("engine", ENGINES)
def test_forged_packets_of_the_job_end_in_a_line_or_a_wrong_sum(engine: type[RankEndpoint], seed: int) -> None:
    rng = np.random.default_rng(seed)
    endpoint = engine(1, 2, JOB, retry_s=1)  # type: ignore[call-arg]
    array = random_tensor(rng, str(rng.choice(TYPES)), int(rng.integers(0, 20_000)), 2)[1]
    endpoint.begin(array)
    with suppress(OfframpError):
        for turn in range(300):
            sent = endpoint.outgoing(int(rng.integers(1, 40)))
            endpoint.tick(float(turn))
            forged = sent.data.copy() if len(sent) else np.zeros((1, frame_bytes(1)), np.uint8)
            at = PREFIX_BYTES + ALLREDUCE.by_name["kind"].first
            forged[:, at] = rng.choice(
                [AllReducePacketType.RESULT, AllReducePacketType.RESULT, AllReducePacketType.PULL, 9], len(forged)
            )
            for row in forged:
                if rng.random() < 0.3:
                    row[int(rng.integers(PREFIX_BYTES + 4, len(row)))] = int(rng.integers(0, 256))
            lengths = np.full(len(forged), forged.shape[1], np.int32)
            endpoint.incoming(PacketBatch(np.zeros(len(forged), np.int32), lengths, forged))
            endpoint.state()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_head_of_integers_wider_than_any_is_one_line(engine: type[RankEndpoint]) -> None:
    endpoint = engine(0, 1, JOB)  # type: ignore[call-arg]
    endpoint.begin(np.ones(10_000_000, np.int8))
    head = endpoint.outgoing(1)
    forged = head.data.copy()
    forged[:, PREFIX_BYTES + ALLREDUCE.by_name["kind"].first] = AllReducePacketType.RESULT
    forged[:, PREFIX_BYTES + ALLREDUCE.by_name["exponent"].first] = 0xFF
    with pytest.raises(OfframpError, match=r"rank 0: all_reduce 0: the head's sum says integers of 65\d\d\d bits"):
        endpoint.incoming(PacketBatch(head.ports, head.lengths, forged))


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_a_tensor_that_changes_is_one_line(engine: type[RankEndpoint]) -> None:
    switch = _switch()
    switch.reset()
    run = lockstep(Star(switch, 2), 1, engines=[engine])
    arrays = [np.ones(64 * 300, np.float32) for _ in range(2)]
    for endpoint, array in zip(run.endpoints, arrays, strict=True):
        endpoint.begin(array)
    run.step()
    arrays[0][64 * 100 :] = 1e9  # within the window whose exponent the head agreed on
    with pytest.raises(OfframpError, match="rank 0: all_reduce 0: a number is beyond the exponent"):
        run.run()


@pytest.mark.parametrize("engine", ENGINES)
def test_arrays_that_cannot_be_summed_in_place_are_refused(engine: type[RankEndpoint]) -> None:
    endpoint = engine(0, 1, JOB)  # type: ignore[call-arg]
    with pytest.raises(OfframpError, match="rank 0: all_reduce 0: expected an array that is C-contiguous and writable"):
        endpoint.begin(np.ones((4, 4), np.float32).T[:2])
    with pytest.raises(OfframpError, match="type complex64: expected float32"):
        endpoint.begin(np.ones(4, np.complex64))
    assert endpoint.idle


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", [{"pages": 0}, {"pages": 257}, {"segments": 0}, {"segments": 256}])
def test_shapes_that_packets_have_no_room_for_are_refused(engine: type[RankEndpoint], shape: dict[str, int]) -> None:
    with pytest.raises(OfframpError, match="expected 1 to 256 and 1 to 255"):
        engine(0, 2, JOB, **shape)  # type: ignore[call-arg]


def test_without_a_compiler_ranks_run_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offramp.switchgnn.worker_library.available", lambda: False)
    assert isinstance(make_endpoint(0, 2, JOB, pages=2), AllReduceEndpoint)


def test_engines_alternate() -> None:
    assert [type(each) for each in endpoints(3, turn=1)] == [ENGINES[1], ENGINES[0], ENGINES[1]]
