# SPDX-License-Identifier: Apache-2.0
"""Ranks over sockets around the embedded switch in a process of its own: how jobs begin, and how they end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import numpy as np
import pytest

from allreduce_oracle import exact_sum, random_tensor
from offramp.allreduce import shared_link
from offramp.allreduce.control import AllReduceControl, with_control, with_session
from offramp.allreduce.entries import star
from offramp.allreduce.reducer import AllReduceNetwork, AllReducer
from offramp.p4src import p4_text
from offramp_base.errors import OfframpError
from offramp_base.transport import open_io
from offramp_base.transport.faulty import FaultRates, Faulty
from offramp_p4.embedded import EmbeddedSwitch

pytestmark = pytest.mark.p4

RANKS = 3
PORTS = [1, 2, 3]


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedSwitch]:
    """A switch whose ports 4, 5, … lead nowhere."""
    with EmbeddedSwitch(None, PORTS, engine="python") as switch:
        push(switch)
        yield switch


@pytest.fixture
def switch(running: EmbeddedSwitch) -> EmbeddedSwitch:
    push(running)
    return running


def push(switch: EmbeddedSwitch, name: str = "allreduce/v1model.p4") -> None:
    """Load a program with two pages of slots."""
    text = p4_text(name, {"PAGES": 2}).encode()
    with_session(switch.address, lambda session: session.push(b"", text), 20.0)


def each(work: Callable[[int], object], ranks: int = RANKS) -> list[object]:
    """``work`` of each rank in a thread of its own: what it returns, or the message of what it raises."""
    results: list[object] = [None] * ranks

    def run(rank: int) -> None:
        try:
            results[rank] = work(rank)
        except OfframpError as error:
            results[rank] = str(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def reducer(switch: EmbeddedSwitch, rank: int, *, job: int = 7, timeout_s: float = 20.0, **more: object) -> AllReducer:
    network = AllReduceNetwork(switch.port_specs[rank], switch.address, PORTS, retry_s=0.05)
    return AllReducer(network, rank, RANKS, job, timeout_s, **more)  # type: ignore[arg-type]


def test_tensors_are_summed_in_order_and_the_job_leaves_nothing(switch) -> None:
    rng = np.random.default_rng(1)
    given = [random_tensor(rng, dtype, 1000, RANKS) for dtype in ("float32", "int64", "float64")]

    def work(rank: int) -> list[np.ndarray]:
        with reducer(switch, rank) as one:
            arrays = [tensor[rank].copy().reshape(10, 100) for tensor in given]
            for array in arrays:
                one.all_reduce(array)
            return arrays

    for result in each(work):
        for array, tensor in zip(result, given, strict=True):  # type: ignore[arg-type]
            assert np.array_equal(array.ravel(), exact_sum(tensor, 64, 128))
    assert with_control(switch.address, lambda control: control._taken(), 5.0) == {}


def test_jobs_of_a_process_share_its_link_until_the_last_has_left(switch) -> None:
    rng = np.random.default_rng(5)
    given = {job: [random_tensor(rng, "float32", 1000, 2) for _ in range(4 - job)] for job in (1, 2)}

    def work(which: int) -> list[np.ndarray]:
        job, rank = which // 2 + 1, which % 2
        network = AllReduceNetwork(switch.port_specs[rank], switch.address, PORTS[:2], retry_s=0.05)
        arrays = [tensor[rank].copy() for tensor in given[job]]
        with AllReducer(network, rank, 2, job, 20.0) as one:
            for array in arrays:  # the second job leaves while the first still sums
                one.all_reduce(array)
        return arrays

    for which, arrays in enumerate(each(work, 4)):
        assert isinstance(arrays, list), arrays
        for array, tensor in zip(arrays, given[which // 2 + 1], strict=True):
            assert np.array_equal(array, exact_sum(tensor, 64, 128))
    assert shared_link._links == {}


@pytest.mark.full
def test_over_links_that_lose_and_double_frames(switch) -> None:
    given = random_tensor(np.random.default_rng(2), "float32", 3000, RANKS)

    def work(rank: int) -> np.ndarray:
        faults = FaultRates(loss=0.2, duplication=0.2, reordering=0.2)
        io = Faulty(open_io(switch.port_specs[rank]), seed=rank, sending=faults, receiving=faults)
        with reducer(switch, rank, io=io) as one:
            array = given[rank].copy()
            one.all_reduce(array)
            assert one.stats.repeated
            return array

    for array in each(work):
        assert np.array_equal(array, exact_sum(given, 64, 128))  # type: ignore[arg-type]


def test_ranks_that_sum_different_tensors_all_end_with_one_line(switch) -> None:
    arrays = [np.zeros(10, np.float32), np.zeros(10, np.float32), np.zeros(9, np.int32)]

    def work(rank: int) -> None:
        with reducer(switch, rank) as one:
            one.all_reduce(np.zeros(1, np.int8))
            with pytest.raises(OfframpError):
                one.all_reduce(arrays[rank])
            one.all_reduce(arrays[rank])  # says the same again

    assert each(work) == [
        "rank 0: all_reduce 1: rank 2 sums int32[9], this rank float32[10]",
        "rank 1: all_reduce 1: rank 2 sums int32[9], this rank float32[10]",
        "rank 2: all_reduce 1: rank 0 sums float32[10], this rank int32[9]",
    ]


def test_a_sum_that_does_not_fit_ends_every_rank(switch) -> None:
    def work(rank: int) -> None:
        with reducer(switch, rank) as one:
            one.all_reduce(np.array([1, 2**30, 2], np.int32))

    expected = [f"rank {rank}: all_reduce 0: the sum of element 1 does not fit int32" for rank in range(RANKS)]
    assert each(work) == expected


def test_without_a_rank_the_others_name_it_within_the_timeout(switch) -> None:
    """It sums one tensor and is gone, as if it had been killed."""

    def work(rank: int) -> None:
        one = reducer(switch, rank, timeout_s=0.8)
        try:
            one.all_reduce(np.ones(100, np.float32))
            if rank != 1:
                one.all_reduce(np.ones(100, np.float32))
        finally:
            one._rank.close()

    said = "rank {}: all_reduce 1: nothing came from rank 1 for 0.8 s"
    assert each(work) == [said.format(0), None, said.format(2)]


def test_another_program_is_named(switch) -> None:
    push(switch, "switchgnn/v1model.p4")
    expected = "runs another program, expected allreduce/v1model.p4 or tna.p4"
    assert all(expected in str(said) for said in each(lambda rank: reducer(switch, rank)))


def test_without_control_another_program_or_no_entries_end_by_the_timeout(switch) -> None:
    def work(rank: int) -> None:
        with AllReducer(AllReduceNetwork(switch.port_specs[rank], retry_s=0.05), rank, RANKS, 7, 0.5) as one:
            one.all_reduce(np.ones(3, np.int32))

    for rank, said in enumerate(each(work)):
        assert str(said).startswith(f"rank {rank}: all_reduce 0: no answer from the switch, which may run another")


def test_jobs_have_pages_of_their_own_until_there_are_none_left(switch) -> None:
    def ask(control: AllReduceControl) -> list[object]:
        assert (control.pages, control.segments) == (2, 1)
        answers: list[object] = [control.admit(job, star(PORTS)) for job in (5, 6)]
        with pytest.raises(OfframpError) as refused:
            control.admit(7, star(PORTS))
        answers.append(str(refused.value))
        control.release(5)
        return [*answers, control.admit(8, star(PORTS)), control.admit(8, star(PORTS))]

    full = "job 7: needs 1 pages of slots, the switch has 0 of 2 left beside 2 other jobs"
    assert with_control(switch.address, ask, 5.0) == [[0], [1], full, [0], [0]]


def test_controllers_of_several_jobs_do_not_disturb_each_other(switch) -> None:
    jobs = each(lambda job: with_control(switch.address, lambda c: c.admit(100 + job, star(PORTS)), 20.0), 2)
    assert sorted(map(str, jobs)) == ["[0]", "[1]"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda link: AllReducer(AllReduceNetwork(link), 3, 3, 1), "all_reduce: rank 3: expected 0 to 2"),
        (lambda link: AllReducer(AllReduceNetwork(link), 0, 33, 1), "all_reduce: 33 ranks: expected 1 to 32"),
        (
            lambda link: AllReducer(AllReduceNetwork(link, "x", [1]), 0, 2, 1),
            r"all_reduce: ports \[1\]: expected one for each",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_is_opened(call, message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        call("unix:/nowhere")


@pytest.mark.full
def test_arrays_that_cannot_be_summed_in_place_are_refused_and_change_nothing(switch) -> None:
    with ExitStack() as stack:
        ones = [stack.enter_context(reducer(switch, rank)) for rank in range(RANKS)]
        with pytest.raises(OfframpError, match="rank 0: all_reduce 0: expected an array that is C-contiguous"):
            ones[0].all_reduce(np.zeros((4, 4), np.float32).T)
        arrays = [np.ones((4, 4), np.float32) for _ in ones]
        assert each(lambda rank: ones[rank].all_reduce(arrays[rank])) == [None] * RANKS
        each(lambda rank: ones[rank].close())
        assert all((array == 3).all() for array in arrays)
