# SPDX-License-Identifier: Apache-2.0
"""An endpoint alone: the numbers of its chunks, what counts as new, and when it answers a PULL. Oracle: by hand."""

from __future__ import annotations

import numpy as np
import pytest

from allreduce_lab import ENGINES, JOB
from offramp.allreduce.rank_endpoint import RankEndpoint
from offramp.allreduce.wire import MOST_RANKS, AllReducePacketType, parse_frames, set_field
from offramp_base.wire.batch import PacketBatch

pytestmark = [pytest.mark.p4, pytest.mark.parametrize("engine", ENGINES)]


def answer(batch: PacketBatch, **fields: int) -> PacketBatch:
    """The first frame of a batch as the switch sends it back, with other fields."""
    frames = batch.data.reshape(len(batch), -1)[:1].copy()
    for name, number in fields.items():
        set_field(frames, name, number)
    return PacketBatch(np.zeros(1, np.int32), np.full(1, frames.shape[1], np.int32), frames)


def chunks(batch: PacketBatch) -> list[int]:
    return [int(number) for number in parse_frames(batch, 1).field("chunk")]


def test_a_pull_has_a_bit_for_each_rank(engine: type[RankEndpoint]) -> None:
    endpoint = engine(MOST_RANKS - 1, MOST_RANKS, JOB)  # type: ignore[call-arg]
    endpoint.begin(np.ones(300, np.int32))
    head = endpoint.outgoing(8)
    every = parse_frames(answer(head, kind=AllReducePacketType.PULL, present=2**MOST_RANKS - 1), 1)
    assert every.field("present").tolist() == [2**32 - 1]


def test_the_first_chunk_has_the_number_after_first(engine: type[RankEndpoint]) -> None:
    endpoint = engine(0, 2, JOB, first=7)  # type: ignore[call-arg]
    endpoint.begin(np.ones(300, np.int32))
    assert chunks(endpoint.outgoing(8)) == [8]
    assert len(endpoint.outgoing(8)) == 0  # until the head's sum is here


def test_a_result_is_new_once_and_only_of_a_chunk_that_was_sent(engine: type[RankEndpoint]) -> None:
    endpoint = engine(0, 1, JOB)  # type: ignore[call-arg]
    endpoint.begin(np.arange(300, dtype=np.int32))
    head = endpoint.outgoing(8)
    endpoint.incoming(answer(head, kind=AllReducePacketType.RESULT, chunk=2, line=1))
    endpoint.incoming(answer(head, kind=AllReducePacketType.RESULT, line=1))  # in another chunk's slot
    assert (endpoint.stats.results, endpoint.stats.duplicates) == (0, 2)
    endpoint.incoming(answer(head, kind=AllReducePacketType.RESULT))
    endpoint.incoming(answer(head, kind=AllReducePacketType.RESULT))
    assert (endpoint.stats.results, endpoint.stats.duplicates) == (1, 3)
    assert chunks(endpoint.outgoing(2)) == [2, 3]


def test_a_pull_is_answered_half_a_time_out_after_the_frame(engine: type[RankEndpoint]) -> None:
    endpoint = engine(0, 2, JOB, retry_s=1.0)  # type: ignore[call-arg]
    endpoint.begin(np.ones(300, np.int32))
    endpoint.tick(5.0)
    head = endpoint.outgoing(8)
    pull = {"kind": AllReducePacketType.PULL, "present": 0b10}
    endpoint.tick(5.4)
    endpoint.incoming(answer(head, **pull))
    assert len(endpoint.outgoing(8)) == 0  # it may be on its way
    endpoint.tick(5.5)
    endpoint.incoming(answer(head, **(pull | {"present": 0b11})))  # which has ours
    assert len(endpoint.outgoing(8)) == 0
    for _ in range(2):
        endpoint.incoming(answer(head, **pull))
    again = endpoint.outgoing(8)
    assert chunks(again) == [1]
    assert parse_frames(again, 1).field("kind").tolist() == [AllReducePacketType.AGAIN]
    assert (endpoint.stats.pulls, endpoint.stats.repeated) == (4, 1)


def test_the_silent_ranks_are_those_that_a_pull_of_the_first_missing_chunk_lacks(engine: type[RankEndpoint]) -> None:
    endpoint = engine(1, 3, JOB, retry_s=1.0)  # type: ignore[call-arg]
    endpoint.begin(np.ones(300, np.int32))
    endpoint.tick(1.0)
    head = endpoint.outgoing(8)
    assert "no answer from the switch" in endpoint.state()
    endpoint.incoming(answer(head, kind=AllReducePacketType.PULL, present=0b111, chunk=2, line=1))
    assert "no answer from the switch" in endpoint.state()
    endpoint.incoming(answer(head, kind=AllReducePacketType.PULL, present=0b011))
    assert endpoint.state() == "rank 1: all_reduce 0: nothing came from rank 2"
    endpoint.incoming(answer(head, kind=AllReducePacketType.PULL, present=0b100))
    assert endpoint.state() == "rank 1: all_reduce 0: the sum does not come"


def test_a_silent_switch_is_asked_ever_later_up_to_four_time_outs(engine: type[RankEndpoint]) -> None:
    endpoint = engine(0, 2, JOB, retry_s=1.0)  # type: ignore[call-arg]
    endpoint.begin(np.ones(300, np.int32))
    endpoint.tick(0.0)
    endpoint.outgoing(8)
    asked = []
    for eighth in range(1, 160):
        endpoint.tick(eighth / 8)
        if len(endpoint.outgoing(8)):
            asked.append(eighth / 8)
    assert asked == [1, 3, 7, 11, 15, 19]
