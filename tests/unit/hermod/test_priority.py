# SPDX-License-Identifier: Apache-2.0
"""Factors, code points and queues. The order itself is the thesis's; whether it is good the simulator says."""

from __future__ import annotations

import itertools

import pytest

from offramp.hermod.dscp import DscpCodec, dscp_of
from offramp.hermod.endhost.priorities import Priorities
from offramp.hermod.factors import CType, Factors, hermod_policy, key
from offramp.hermod.queues import plan_queues
from offramp_base.errors import OfframpError

EP, PP, DP = CType.EP, CType.PP, CType.DP


def inversions(codec: DscpCodec) -> int:
    policy = hermod_policy(interleaved=codec.interleaved)
    rows = sorted((key(policy, f), codec.code(f)) for f in codec.every())
    return sum(a[0] < b[0] and a[1] > b[1] for a, b in itertools.combinations(rows, 2))


@pytest.mark.parametrize(
    ("micro_batches", "factors", "code"),
    [
        (8, Factors(0, EP, 0), 0),
        (8, Factors(2, PP, 15), 17),
        (8, Factors(7, DP, 31), 63),
        (8, Factors(7, DP, 0), 60),
        (8, Factors(7, EP, 20), 58),
        (16, Factors(5, EP, 9), 18),
        (16, Factors(15, EP, 31), 58),
        (16, Factors(15, DP, 0), 60),
        (4, Factors(3, DP, 0), 28),
    ],
)
def test_golden_codes(micro_batches: int, factors: Factors, code: int) -> None:
    codec = DscpCodec(micro_batches, 32)
    assert codec.code(factors) == code
    assert codec.dscp(factors) == 63 - code
    meaning = codec.decode(63 - code)
    assert meaning.mids[0] <= factors.mid <= meaning.mids[1]
    assert meaning.lids[0] <= factors.lid <= meaning.lids[1]
    assert factors.ctype in meaning.ctypes


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("micro_batches", [1, 2, 3, 4, 7, 8, 9, 12, 16, 31, 32, 48, 64])
def test_the_code_never_inverts_an_order(micro_batches: int, interleaved: bool) -> None:
    assert inversions(DscpCodec(micro_batches, 8, interleaved)) == 0


@pytest.mark.parametrize(
    ("micro_batches", "interleaved", "pairs"),
    [(8, False, 0), (9, False, 24), (16, False, 192), (32, False, 1152), (7, True, 0)],
)
def test_the_printed_layout_inverts_beyond_eight(micro_batches: int, interleaved: bool, pairs: int) -> None:
    codec = DscpCodec(micro_batches, 8, interleaved, plain=True)
    classes = sorted({(key(hermod_policy(interleaved=interleaved), f), codec.code(f)) for f in codec.every()})
    assert sum(a[0] < b[0] and a[1] > b[1] for a, b in itertools.combinations(classes, 2)) == pairs


def test_conflicts_are_resolved_as_in_table_5_4() -> None:
    def first(policy: str, *factors: Factors) -> Factors:
        return min(factors, key=lambda f: key(policy, f))

    early, late = Factors(0, PP, 9), Factors(1, EP, 1)
    assert first("hermod", late, early) == early  # MID over LID
    gradient, parameters = Factors(7, PP, 9), Factors(7, DP, 0)
    assert first("hermod", parameters, gradient) == gradient  # CType over LID
    assert first("hermod", Factors(7, DP, 3), Factors(7, DP, 2)).lid == 2
    assert key("hermod", Factors(3, EP, 2)) == key("hermod", Factors(3, PP, 2))
    assert first("hermod-interleaved", Factors(3, PP, 0), Factors(3, EP, 5)).ctype is EP
    assert first("ep-pp-dp", Factors(0, PP, 0), Factors(7, EP, 9)).ctype is EP
    assert first("layer-first", Factors(0, PP, 3), Factors(5, EP, 2)).lid == 2


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("micro_batches", [1, 2, 4, 8, 16, 64])
@pytest.mark.parametrize("queues", range(1, 9))
def test_the_split_map_keeps_the_order_and_dp_apart(queues: int, micro_batches: int, interleaved: bool) -> None:
    codec = DscpCodec(micro_batches, 32, interleaved)
    plan = plan_queues(codec, queues)
    policy = hermod_policy(interleaved=interleaved)
    rows = sorted((key(policy, f), -plan.queue_of(codec, f)) for f in codec.every())
    assert [queue for _, queue in rows] == sorted(queue for _, queue in rows)
    by_type = {t: {plan.queue_of(codec, f) for f in codec.every() if f.ctype is t} for t in (EP, PP, DP)}
    if plan.classes > 1:
        assert max(by_type[DP]) < min(by_type[EP] | by_type[PP])
    codes = sorted(plan.dscp)
    assert [plan.dscp[c] for c in codes] == sorted((plan.dscp[c] for c in codes), reverse=True)
    assert len(set(plan.dscp.values())) == len(codes)
    assert 48 not in plan.dscp.values()
    if queues > 1:
        assert plan.queue[48] == queues - 1
        assert plan.queue[48] not in {plan.queue[value] for value in plan.dscp.values()}


def test_eight_queues_without_control_are_the_specification_s() -> None:
    codec = DscpCodec(8, 32)
    plan = plan_queues(codec, 8, control=())
    for mid in range(8):
        assert plan.queue_of(codec, Factors(mid, EP, 17)) == 7 - mid * 6 // 8
    assert [plan.queue_of(codec, Factors(7, DP, lid)) for lid in (0, 15, 16, 31)] == [1, 1, 0, 0]
    assert all(plan.dscp[code] == 63 - code for code in plan.dscp)


def test_the_upper_bits_put_dp_with_the_last_microbatch() -> None:
    codec = DscpCodec(8, 32)
    plan = plan_queues(codec, 8, control=(), scheme="msb")
    assert plan.queue_of(codec, Factors(7, DP, 0)) == plan.queue_of(codec, Factors(7, EP, 0)) == 0
    assert plan.queue_of(codec, Factors(0, EP, 0)) == 7


@pytest.mark.parametrize("queues", range(3, 9))
@pytest.mark.parametrize("micro_batches", [4, 8, 16])
def test_a_plan_apart_leaves_the_lowest_queue_to_everybody_else(queues: int, micro_batches: int) -> None:
    codec = DscpCodec(micro_batches, 32)
    plan, whole = plan_queues(codec, queues, apart=True), plan_queues(codec, queues - 1)
    assert 0 not in plan.dscp.values()
    assert min(plan.queue[dscp] for dscp in plan.dscp.values()) == plan.lowest == 1
    assert plan.queue[48] == queues - 1
    for factors in codec.every():
        assert plan.queue_of(codec, factors) == whole.queue_of(codec, factors) + 1
    place = [Priorities.of_job(micro_batches, 32, queues=n, apart=n == queues) for n in (queues, queues - 1)]
    assert [place[0].mark(f).so_priority for f in codec.every()] == [
        place[1].mark(f).so_priority for f in codec.every()
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"apart": True, "classes": 7},
            "classes 7: the switch has 8 queues, one of them for control, one for everybody else, expected 1 to 6",
        ),
        (
            {"apart": True, "queues": 2},
            "queues 2, one of them for control, one for everybody else: none is left for the job",
        ),
        ({"classes": 8}, "classes 8: the switch has 8 queues, one of them for control, expected 1 to 7"),
        ({"queues": 4, "classes": 5, "control": ()}, "classes 5: the switch has 4 queues, expected 1 to 4"),
        ({"queues": 9}, "queues 9: expected 1 to 8"),
        ({"control": (64,)}, "control DSCP 64: expected 0 to 63"),
        ({"control": range(40)}, "36 priorities and 40 DSCPs for control: there are 64 DSCPs"),
        ({"scheme": "top"}, "scheme top: expected one of split, msb"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(arguments: dict, message: str) -> None:
    with pytest.raises(OfframpError) as error:
        plan_queues(DscpCodec(8, 32), **arguments)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        (Factors(8, EP, 0), "microbatch 8: the job has 8, expected one from 0 on"),
        (Factors(0, EP, 32), "layer 32: the job has 32, expected one from 0 on"),
        (Factors(3, DP, 0), "microbatch 3: DP starts after the last one, expected 7"),
        (Factors(0, CType.TP, 0), "type TP: stays inside a server and has no code point"),
    ],
)
def test_a_coflow_outside_the_job_has_no_code(factors: Factors, message: str) -> None:
    with pytest.raises(OfframpError) as error:
        DscpCodec(8, 32).code(factors)
    assert str(error.value) == message


def test_a_code_and_its_dscp_are_each_other_s_complement() -> None:
    assert [dscp_of(dscp_of(code)) for code in range(64)] == list(range(64))
    with pytest.raises(OfframpError, match="DSCP 51: not used by this job"):
        DscpCodec(8, 32).decode(51)
