# SPDX-License-Identifier: Apache-2.0
"""The operator with a process for each rank, started once: contents, groups, agreement, gradients, faults."""

from __future__ import annotations

import multiprocessing
from contextlib import contextmanager

import pytest

torch = pytest.importorskip("torch")

import coflow_ranks  # noqa: E402
from endpoints import SECONDS, endpoints  # noqa: E402
from offramp.hermod.endhost import Tuning  # noqa: E402
from offramp.hermod.operator import AllToAll, all_to_all  # noqa: E402
from offramp.workers.processes import PRELOAD, run_workers  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402

RANKS = 4


@pytest.fixture(scope="module")
def results():
    """Findings of the ranks in each part."""
    return run_workers(coflow_ranks.everything, [None] * RANKS, lambda _: None)


def test_random_matrices_by_every_way_as_all_to_all_single(results):
    assert results["matrices"] == []


def test_other_groups_and_their_ranks(results):
    assert results["groups"] == []


def test_small_exchanges_are_not_cut_and_measured_ones_are(results):
    assert results["choices"] == []


def test_dispatch_and_combine_with_gradients_and_one_exchange_of_counts(results):
    assert results["moe"] == []


def test_bad_input_is_one_line_on_every_rank_and_the_operator_goes_on(results):
    for way in coflow_ranks.WAYS:
        for lines in zip(*results["refusals", way], strict=True):
            assert len(set(lines)) == 1, lines
        assert results["refusals", way][0] == [
            "rank 2: input: splits sum to 5, it has 8 rows",
            "rank 1: output: 3 splits for 4 ranks",
            "rank 3: output is torch.float64, input torch.float32: expected the same",
            "rank 1 expects 5 rows from rank 0, which sends 2",
            "rank 2 and rank 0 differ in the type of the values",
            "rank 1 and rank 0 differ in the size of a row",
            "rank 3 and rank 0 differ in the priority",
        ]


def test_all_reduce_is_the_sum_in_rank_order_to_the_bit(results):
    assert results["all-reduce"] == []


def test_messages_between_pipeline_stages(results):
    assert results["messages"] == []


def test_batches_as_nccl_takes_them(results):
    assert results["batches"] == []


@pytest.mark.parametrize("way", coflow_ranks.WAYS)
def test_a_rank_that_is_killed_ends_the_others(way, tmp_path):
    """Long before their time limit, which the test does not wait for."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    store = (tmp_path / "store").as_uri()
    pipes = [context.Pipe(duplex=False) for _ in range(3)]
    ranks = [context.Process(target=coflow_ranks.dying, args=(r, store, way, pipes[r][1])) for r in range(3)]
    try:
        for process in ranks:
            process.start()
        lines = {}
        for rank in (0, 2):
            assert pipes[rank][0].poll(SECONDS)
            lines[rank] = pipes[rank][0].recv()
    finally:
        for process in ranks:
            process.kill()
            process.join()
    for line in lines.values():
        assert "\n" not in line
        assert "rank 1 is gone" in line if way == "sockets" else "failed" in line


@contextmanager
def pair():
    """Two operators in this process."""
    with (
        endpoints(2, tuning=Tuning(timeout_s=SECONDS)) as (a, b),
        AllToAll(endpoint=a, timeout_s=SECONDS) as here,
        AllToAll(endpoint=b, timeout_s=SECONDS) as there,
    ):
        yield here, there


def test_a_rank_that_is_late_ends_all_in_the_time_limit():
    with pair() as (here, there):
        rows = torch.zeros(4)
        handle = here.all_to_all_single(torch.zeros(4), rows, async_op=True)
        with pytest.raises(OfframpError, match=r"all-to-all 1 is not over after 0\.2 s"):
            handle.wait(0.2)
        for operator in (here, there):
            with pytest.raises(OfframpError, match=r"all-to-all 1 is not over after 0\.2 s"):
                operator.all_to_all_single(torch.zeros(4), rows)


def test_a_rank_whose_rows_do_not_come_is_named():
    with pair() as (here, there):
        exchanges = [operator.start(torch.zeros(4), [2, 2]) for operator in (here, there)]
        exchange, _ = exchanges[0].wait()
        exchanges[1].wait()
        with pytest.raises(OfframpError, match=r"all-to-all 2 is not over after 0\.2 s, waiting for rank 1"):
            here.start(torch.zeros(4), like=exchange.transposed).wait(0.2)


def test_rows_that_do_not_fit_a_known_exchange_end_all_ranks():
    with pair() as (here, there):
        exchanges = [operator.start(torch.zeros(4), [2, 2]) for operator in (here, there)]
        exchange, _ = exchanges[0].wait()
        waiting = here.start(torch.zeros(4), like=exchange.transposed)
        with pytest.raises(OfframpError, match="rank 1: input: splits sum to 4, it has 5 rows"):
            there.start(torch.zeros(5), like=exchange.transposed)
        with pytest.raises(OfframpError, match="rank 1: input: splits sum to 4, it has 5 rows"):
            waiting.wait()


def test_a_preparation_that_fails_leaves_the_operator_at_work(monkeypatch):
    calls = []

    def failing(rows):
        calls.append(rows)
        raise RuntimeError("dictionary changed size during iteration")

    monkeypatch.setattr(all_to_all, "decompose", failing)
    with pair() as operators:
        handles = [each.all_to_all_single(torch.zeros(4), torch.arange(4.0), async_op=True) for each in operators]
        assert [handle.wait(SECONDS).tolist() for handle in handles] == [[0, 1, 0, 1], [2, 3, 2, 3]]
    assert calls[:2] == [[[0]], [[0]]]


def test_operators_need_a_group_and_sane_settings():
    with pytest.raises(OfframpError, match=r"expected torch\.distributed to be initialised"):
        AllToAll()
    with pytest.raises(OfframpError, match="quantum -1"):
        AllToAll(quantum=-1)
    with pytest.raises(OfframpError, match="timeout_s 0"):
        AllToAll(timeout_s=0)
    with pytest.raises(OfframpError, match="transport pigeons: expected one of group, sockets"):
        AllToAll(transport="pigeons")
    with pytest.raises(OfframpError, match=r"endpoint: expected torch\.distributed to be initialised"):
        AllToAll(transport="sockets")
