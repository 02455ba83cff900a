# SPDX-License-Identifier: Apache-2.0
"""One worker's protocol against hand-made packets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from offramp.switchgnn.endpoint import SwitchGnnEndpoint
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.wire import LANES, NO_ID, SwitchGnnPacketType, build_frames, parse_frames
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.jobs import SIX_VERTEX_BLOCKS, six_vertices

X = np.array([[3], [-1], [10], [4], [-7], [2]], np.int32)


def go(round_: int) -> PacketBatch:
    fields = {"src_id": NO_ID, "dst_id": NO_ID, "count": 3, "is_ack": 1, "is_fetch": 1, "round": round_}
    return build_frames(0, fields, 1)


def data(value: int, **fields: int) -> PacketBatch:
    lanes = np.full((1, LANES), value, np.int32)
    return build_frames(0, {"src_id": NO_ID, "dst_id": NO_ID, "round": 1, **fields}, 1, lanes)


def result(vertex: int, value: int, count: int, **fields: int) -> PacketBatch:
    return data(value, dst_id=vertex, count=count, **fields)


def raw(vertex: int, value: int, **fields: int) -> PacketBatch:
    return data(value, src_id=vertex, count=1, **fields)


def sent(endpoint: SwitchGnnEndpoint) -> list[tuple[str, int, int]]:
    """(type, source, round) of everything that the endpoint wants to send."""
    out = []
    while len(batch := endpoint.outgoing(2)):
        packets = parse_frames(batch)
        for kind, source, round_ in zip(packets.kind, packets.field("src_id"), packets.field("round"), strict=True):
            out.append(("DATA" if kind == 0 else "DONE", int(source), int(round_)))
    return out


def test_who_was_not_let_in_says_so() -> None:
    endpoint = SwitchGnnEndpoint(1, six_vertices().plans)
    endpoint.start()
    assert endpoint.state() == "round 0: no GO, so not every worker has joined"


def joined(worker: int = 1, **kwargs: object) -> SwitchGnnEndpoint:
    """A worker in round 1, with its first exchange begun."""
    endpoint = SwitchGnnEndpoint(worker, six_vertices(**kwargs).plans)  # type: ignore[arg-type]
    endpoint.start()
    assert sent(endpoint) == [("DONE", worker, 0)]
    endpoint.incoming(go(1))
    endpoint.begin(0, X[endpoint.boundaries[0]])
    return endpoint


def test_one_block() -> None:
    endpoint = joined()
    assert endpoint.boundaries[0].tolist() == [2, 3]
    assert sent(endpoint) == [("DATA", 2, 1), ("DATA", 3, 1)]
    endpoint.incoming(result(3, 5, 2))
    assert not endpoint.finished
    assert endpoint.state() == "block 0, round 1: 1 of 2 results are missing (of vertices 2)"
    endpoint.incoming(result(2, -5, 3))
    assert endpoint.finished
    assert endpoint.sums.tolist() == [[-5], [5]]
    assert sent(endpoint) == [("DONE", 1, 1)]


def test_blocks_follow_each_other_behind_the_barrier() -> None:
    endpoint = joined(blocks=SIX_VERTEX_BLOCKS)
    assert sent(endpoint) == [("DATA", 2, 1)]
    endpoint.incoming(result(2, -4, 2))
    assert sent(endpoint) == [("DONE", 1, 1)]
    endpoint.incoming(go(2))
    assert sent(endpoint) == [("DATA", 3, 2)]
    endpoint.incoming(result(3, 2, 1, block_id=1, round=2))
    endpoint.incoming(go(3))
    endpoint.incoming(result(3, 3, 1, block_id=2, round=3))
    endpoint.incoming(go(4))
    endpoint.incoming(result(2, -1, 1, block_id=3, round=4))
    assert endpoint.finished
    assert endpoint.sums.tolist() == [[-5], [5]]
    assert endpoint.stats.rounds == 4


def test_a_worker_without_vertices_in_a_block_is_done_at_once() -> None:
    endpoint = joined(0, blocks=SIX_VERTEX_BLOCKS)
    endpoint.incoming(result(0, 3, 2))
    sent(endpoint)
    endpoint.incoming(go(2))
    endpoint.incoming(result(1, 2, 1, block_id=1, round=2))
    sent(endpoint)
    endpoint.incoming(go(3))
    endpoint.incoming(result(0, 4, 1, block_id=2, round=3))
    sent(endpoint)
    endpoint.incoming(go(4))
    endpoint.incoming(result(1, 10, 1, block_id=3, round=4))
    assert endpoint.sums.tolist() == [[7], [12]]
    other = joined(2, blocks=SIX_VERTEX_BLOCKS)
    other.incoming(result(4, 13, 2))
    other.incoming(go(2))
    other.incoming(result(5, 3, 2, block_id=1, round=2))
    sent(other)
    for round_ in (3, 4):
        other.incoming(go(round_))
        assert sent(other) == [("DONE", 2, round_)]
    assert other.finished


def test_a_result_overtakes_go() -> None:
    endpoint = joined(blocks=SIX_VERTEX_BLOCKS)
    endpoint.incoming(result(2, -4, 2))
    endpoint.incoming(result(3, 2, 1, block_id=1, round=2))
    assert endpoint.round == 2
    endpoint.incoming(go(2))
    assert sent(endpoint) == [("DATA", 3, 2), ("DONE", 1, 2)]
    assert endpoint.stats.duplicates == 1


def test_results_wait_for_an_exchange_that_has_not_begun_here() -> None:
    endpoint = SwitchGnnEndpoint(1, six_vertices().plans)
    endpoint.start()
    endpoint.incoming(go(1))
    endpoint.incoming(result(3, 5, 2))
    endpoint.incoming(result(2, -5, 3))
    endpoint.begin(0, X[2:4])
    assert endpoint.finished
    assert endpoint.sums.tolist() == [[-5], [5]]


def test_what_does_not_belong_here_changes_nothing() -> None:
    endpoint = joined()
    good = next(result(3, 5, 2).frames())
    for batch in (
        result(3, 9, 1),  # partial
        result(3, 9, 2, block_id=1),
        result(3, 9, 2, chunk_id=1),
        result(4, 9, 2),  # another worker's vertex
        raw(3, 9),  # a vertex that no vertex here needs
        raw(0, 9, dst_id=2, chunk_id=1),
        result(3, 9, 2, round=0),
        result(3, 9, 2, round=2),
        build_frames(0, {"src_id": 3, "is_ack": 1, "is_fetch": 1, "round": 2}, 1),  # DONE of a host
        build_frames(0, {"src_id": 3, "is_ack": 1, "resend": 1, "round": 1}, 1),  # of no type
        go(1),
        go(2),  # before DONE was sent
        PacketBatch.of([(0, good[:100]), (0, b"\xff" * 178), (0, b"")]),
    ):
        endpoint.incoming(batch)
    stats = endpoint.stats
    assert (stats.rejected, stats.stale, stats.foreign, stats.truncated, stats.duplicates) == (6, 2, 4, 1, 2)
    assert (endpoint.round, endpoint.progress, stats.results, stats.raws) == (1, 1, 0, 0)
    endpoint.incoming(PacketBatch.concatenate([result(3, 5, 2), result(3, 5, 2)]))
    endpoint.incoming(result(3, 6, 2))
    endpoint.incoming(result(2, -5, 3))
    assert stats.duplicates == 4
    assert endpoint.sums.tolist() == [[-5], [5]]


def test_raw_features_add_up_and_serve_every_vertex_that_needs_them() -> None:
    endpoint = joined()
    endpoint.incoming(raw(0, 3))
    endpoint.incoming(raw(0, 3))
    assert endpoint.stats.duplicates == 1
    endpoint.incoming(PacketBatch.concatenate([raw(5, 2), raw(1, -1), raw(4, -7)]))
    assert endpoint.finished
    assert endpoint.sums.tolist() == [[-5], [5]]
    assert endpoint.stats.raws == 4


def test_a_result_replaces_what_raw_features_have_added() -> None:
    endpoint = joined()
    endpoint.incoming(raw(0, 3))
    endpoint.incoming(result(3, 5, 2))
    endpoint.incoming(raw(5, 2))  # needed by 3 alone, which is complete
    endpoint.incoming(result(2, -5, 3))
    assert endpoint.sums.tolist() == [[-5], [5]]


def test_sums_of_several_blocks_exceed_32_bits() -> None:
    endpoint = joined(blocks=SIX_VERTEX_BLOCKS)
    top = 2**31 - 1
    endpoint.incoming(result(2, top, 2))
    for round_, vertex, block in ((2, 3, 1), (3, 3, 2), (4, 2, 3)):
        endpoint.incoming(go(round_))
        endpoint.incoming(result(vertex, top, 1, block_id=block, round=round_))
    assert endpoint.sums.tolist() == [[2 * top], [2 * top]]


def test_done_is_repeated_with_that_of_the_round_before() -> None:
    """The latter is news to a switch that has lost its registers only."""
    endpoint = joined()
    sent(endpoint)
    endpoint.repeat_done()
    assert sent(endpoint) == [("DONE", 1, 0)]
    endpoint.incoming(result(3, 5, 2))
    endpoint.incoming(result(2, -5, 3))
    assert sent(endpoint) == [("DONE", 1, 1)]
    for _ in range(2):
        endpoint.repeat_done()
        assert sent(endpoint) == [("DONE", 1, 0), ("DONE", 1, 1)]
    assert endpoint.state() == "block 0, round 1: no GO, so not every worker has finished the round"
    endpoint.incoming(go(2))
    endpoint.repeat_done()
    assert sent(endpoint) == [("DONE", 1, 1)]


def ack(vertex: int, **fields: int) -> PacketBatch:
    return build_frames(0, {"src_id": vertex, "dst_id": NO_ID, "is_ack": 1, "count": 2, "round": 1, **fields}, 1)


def test_an_ack_that_comes_late_counts_until_the_round_is_over() -> None:
    """While GO is awaited; vertex 0 has two neighbours here. Of another round, block or chunk it tells nothing."""
    endpoint = joined()
    endpoint.incoming(result(3, 5, 2))
    endpoint.incoming(result(2, -5, 3))
    assert endpoint.waiting
    before = endpoint.progress
    endpoint.incoming(ack(0))
    assert (endpoint.progress, endpoint.stats.stale) == (before + 2, 0)
    for again in (ack(0), ack(0, block_id=1), ack(0, chunk_id=1), ack(77)):
        endpoint.incoming(again)
    assert (endpoint.progress, endpoint.stats.stale) == (before + 2, 0)
    endpoint.incoming(ack(4, round=0))
    assert (endpoint.progress, endpoint.stats.stale) == (before + 2, 1)
    endpoint.incoming(go(2))
    endpoint.incoming(ack(4))
    assert endpoint.stats.stale == 2


def test_done_goes_back_further_while_it_does_not_help() -> None:
    """A switch that lost its registers may have taken up an old round, from a DONE that was long on its way."""
    endpoint = joined(blocks=SIX_VERTEX_BLOCKS)
    endpoint.incoming(result(2, 1, 2))
    for round_, vertex, block in ((2, 3, 1), (3, 3, 2), (4, 2, 3)):
        endpoint.incoming(go(round_))
        endpoint.incoming(result(vertex, 1, 1, block_id=block, round=round_))
    sent(endpoint)
    endpoint.tick(0.0)
    said = []
    for _ in range(8):
        endpoint.tick(float(100 * (1 + len(said))))
        said.append([round_ for _, _, round_ in sent(endpoint)])
    assert said == [[3, 4], [3, 4], [1, 2, 3, 4]] + 5 * [[0, 1, 2, 3, 4]]
    endpoint.incoming(go(5))
    endpoint.tick(1000.0)
    endpoint.tick(1100.0)
    assert sent(endpoint) == [("DONE", 1, 4)]


def test_a_go_that_skips_a_round_is_not_followed() -> None:
    """A worker that was restarted in mid-job would put the features of one block into the sums of another."""
    endpoint = SwitchGnnEndpoint(1, six_vertices().plans)
    endpoint.start()
    endpoint.incoming(go(7))
    assert (endpoint.round, endpoint.waiting, endpoint.stats.rejected) == (0, True, 1)
    assert endpoint.state().startswith("round 0: the switch is in round 7, so this worker was restarted")
    endpoint.incoming(go(1))
    assert (endpoint.round, endpoint.waiting) == (1, False)
    endpoint.incoming(go(7))
    assert endpoint.round == 1


def test_bytes_are_counted_in_both_directions() -> None:
    endpoint = joined()
    sent(endpoint)
    endpoint.incoming(result(3, 5, 2))
    up, down = endpoint.stats.up, endpoint.stats.down
    assert (up.packets, up.data_packets, up.payload_bytes, up.wire_bytes) == (3, 2, 2 * 4, 84 + 2 * 202)
    assert (down.packets, down.data_packets, down.payload_bytes, down.wire_bytes) == (2, 1, 4, 84 + 202)


@pytest.mark.parametrize(
    ("plan", "values", "message"),
    [
        (1, X[2:4], "worker 1: plan 1: expected 0 to 0"),
        (0, X[:3], r"worker 1: values: expected 2 rows of at most 32 features, got shape \(3, 1\)"),
        (0, np.zeros((2, 33), np.int32), r"got shape \(2, 33\)"),
        (0, np.zeros((2, 0), np.int32), r"got shape \(2, 0\)"),
        (0, np.zeros((2, 1)), "worker 1: values: expected int32, got float64"),
    ],
)
def test_values_that_do_not_fit_are_refused(plan: int, values: np.ndarray, message: str) -> None:
    endpoint = SwitchGnnEndpoint(1, six_vertices().plans)
    with pytest.raises(OfframpError, match=message):
        endpoint.begin(plan, values)


def test_one_exchange_at_a_time() -> None:
    endpoint = joined()
    with pytest.raises(OfframpError, match="worker 1: an exchange is still running"):
        endpoint.begin(0, X[2:4])


def test_a_sum_that_comes_before_its_exchange_is_counted_with_it() -> None:
    endpoint = joined()
    sent(endpoint)
    endpoint.incoming(result(2, -5, 3))
    endpoint.incoming(result(3, 5, 2))
    assert endpoint.finished
    before = endpoint.stats.down.payload_bytes
    endpoint.incoming(result(2, 7, 3, round=2))
    assert endpoint.stats.down.payload_bytes == before
    endpoint.begin(0, np.zeros((2, 9), np.int32))
    assert endpoint.stats.down.payload_bytes == before + 9 * 4


@pytest.mark.parametrize("features", [40, 65])
def test_every_chunk_of_a_wide_vector_is_repeated_and_answered_with_its_own_features(features: int) -> None:
    chunks = -(-features // LANES)
    plans = [replace(plan, chunks=chunks) for plan in six_vertices().plans]
    endpoint = SwitchGnnEndpoint(1, plans, recovery=Recovery(acks=True, reupload=True))
    endpoint.start()
    endpoint.incoming(go(1))
    sent(endpoint)
    values = np.arange(2 * features, dtype=np.int32).reshape(2, features)
    endpoint.begin(0, values)
    wide = np.zeros((2, chunks * LANES), np.int32)
    wide[:, :features] = values
    expected = {(v, c): wide[v - 2, c * LANES : (c + 1) * LANES].tolist() for v in (2, 3) for c in range(chunks)}
    assert wanted(endpoint) == expected
    again: dict[tuple[int, int], list[int]] = {}
    for step in range(100):  # before the time-out after which it fetches
        endpoint.tick(step / 100)
        again |= wanted(endpoint)
    assert again == expected
    for (vertex, chunk), lanes in expected.items():
        fields = {"src_id": 0, "dst_id": vertex, "is_fetch": 1, "chunk_id": chunk, "round": 1}
        endpoint.incoming(build_frames(0, fields, 1))
        assert wanted(endpoint) == {(vertex, chunk): lanes}


def wanted(endpoint: SwitchGnnEndpoint) -> dict[tuple[int, int], list[int]]:
    """The features of each vertex and chunk that the endpoint wants to send."""
    out = {}
    while len(batch := endpoint.outgoing(2)):
        packets = parse_frames(batch)
        packets = packets.select(packets.kind != SwitchGnnPacketType.DONE)
        for vertex, chunk, lanes in zip(packets.field("src_id"), packets.field("chunk_id"), packets.lanes, strict=True):
            out[int(vertex), int(chunk)] = lanes.tolist()
    return out
