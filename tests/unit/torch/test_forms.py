# SPDX-License-Identifier: Apache-2.0
"""PyTorch's forms of collectives over an offload that answers at once, or later: values, shapes and errors.

Blind to what real offloads do with the tensors that they are given.
"""

from __future__ import annotations

from concurrent.futures import Future

import pytest
import torch

from offramp.torch import forms
from offramp.torch.offload import CollectiveCall, CollectiveRequest, Offload
from offramp_base.errors import OfframpError

RANKS = 3


class Echo(Offload):
    """Rank r has r times this rank's values; this rank is the second. It answers with futures if ``later``."""

    kinds = forms.KINDS

    def __init__(self, *, later: bool = False, error: Exception | None = None, in_place: bool = False) -> None:
        self.later, self.error, self.in_place = later, error, in_place
        self.given: list[torch.Tensor] = []
        self.pending: list[tuple[Future[torch.Tensor], torch.Tensor]] = []

    def _answer(self, values: torch.Tensor, result: torch.Tensor):
        self.given.append(values)
        if self.in_place:
            result = values.copy_(result.view(values.shape))
        if not self.later:
            return result
        future: Future[torch.Tensor] = Future()
        self.pending.append((future, result))
        return future

    def deliver(self) -> None:
        for future, result in self.pending:
            if self.error is not None:
                future.set_exception(self.error)
            else:
                future.set_result(result)

    def all_reduce(self, values, call):
        return self._answer(values, values * sum(range(RANKS)))

    def reduce_scatter(self, values, call):
        return self._answer(values, values[1] * sum(range(RANKS)))

    def all_gather(self, values, call):
        return self._answer(values, torch.stack([values * rank for rank in range(RANKS)]))

    def all_to_all(self, into, values, call):
        return self._answer(into, values.flip(0))

    def send(self, values, call):
        return self._answer(values, values)

    def recv(self, into, call):
        return self._answer(into, torch.arange(into.numel(), dtype=into.dtype))


def run(kind, outputs, inputs, form="single", reduce="SUM", offload=None) -> Echo:
    offload = offload or Echo()
    request = CollectiveRequest(kind, form, torch.float32, reduce, 0, "", RANKS)
    over = forms.start(offload, CollectiveCall(request, 0, outputs, inputs, (), (), 0, 0, None), RANKS)
    offload.deliver()
    over.result(timeout=10)
    return offload


def test_every_kind_that_an_offload_may_take_has_a_form():
    assert forms.KINDS == ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "send", "recv")


@pytest.mark.parametrize("later", [False, True])
def test_coalesced_sums_travel_as_one_and_come_back_apart(later):
    first, second = torch.arange(4.0).reshape(2, 2), torch.tensor([10.0])
    offload = run("all_reduce", [first, second], [], "coalesced", offload=Echo(later=later))
    assert [values.tolist() for values in offload.given] == [[0.0, 1.0, 2.0, 3.0, 10.0]]
    assert (first.tolist(), second.tolist()) == ([[0.0, 3.0], [6.0, 9.0]], [30.0])


def test_means_divide_and_integers_are_rounded_towards_zero():
    values, numbers = torch.tensor([1.0, 2.0]), torch.tensor([-5, 5, 4])
    run("all_reduce", [values], [], reduce="AVG")
    assert values.tolist() == [1.0, 2.0]
    assert forms.mean(numbers, RANKS).tolist() == [-1, 1, 1]
    assert forms.mean(numbers, RANKS).dtype is torch.int64
    row = torch.zeros(2)
    run("reduce_scatter", [row], [torch.arange(6.0)], reduce="AVG")
    assert row.tolist() == [2.0, 3.0]


def test_a_sum_in_place_is_not_copied_and_a_strided_one_is_written_back():
    values = torch.arange(3.0)
    run("all_reduce", [values], [], offload=Echo(in_place=True))
    assert values.tolist() == [0.0, 3.0, 6.0]
    table = torch.arange(6.0).reshape(3, 2)
    run("all_reduce", [table[:, 1]], [])
    assert table.tolist() == [[0.0, 3.0], [2.0, 9.0], [4.0, 15.0]]


def test_a_scattered_sum_of_several_tensors_has_each_ranks_rows_beside_each_other():
    one, two = torch.zeros(1, 2), torch.zeros(1)
    inputs = [torch.arange(6.0), torch.tensor([7.0, 8.0, 9.0])]
    offload = run("reduce_scatter", [one, two], inputs, "coalesced")
    assert offload.given[0].tolist() == [[0.0, 1.0, 7.0], [2.0, 3.0, 8.0], [4.0, 5.0, 9.0]]
    assert (one.tolist(), two.tolist()) == ([[6.0, 9.0]], [24.0])
    row = torch.zeros(2)
    offload = run("reduce_scatter", [row], [torch.full((2,), float(rank)) for rank in range(RANKS)], "list")
    assert offload.given[0].shape == (RANKS, 2)
    assert row.tolist() == [3.0, 3.0]


def test_gathered_rows_go_to_one_tensor_or_to_one_for_each_rank():
    whole = torch.zeros(RANKS, 2)
    run("all_gather", [whole], [torch.tensor([1.0, 2.0])])
    assert whole.tolist() == [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]
    coalesced = [torch.zeros(RANKS * 2), torch.zeros(RANKS)]
    run("all_gather", coalesced, [torch.tensor([1.0, 2.0]), torch.tensor([5.0])], "coalesced")
    assert [each.tolist() for each in coalesced] == [[0.0, 0.0, 1.0, 2.0, 2.0, 4.0], [0.0, 5.0, 10.0]]
    lists = [tensor for _ in range(RANKS) for tensor in (torch.zeros(2), torch.zeros(1, 1))]
    run("all_gather", lists, [torch.tensor([1.0, 2.0]), torch.tensor([[5.0]])], "lists")
    assert [each.flatten().tolist() for each in lists] == [[0.0, 0.0], [0.0], [1.0, 2.0], [5.0], [2.0, 4.0], [10.0]]


@pytest.mark.parametrize("kind", ["all_to_all", "recv"])
def test_what_comes_for_a_strided_tensor_is_written_into_it(kind):
    table = torch.zeros(3, 2)
    offload = run(kind, [table[:, 0]], [torch.tensor([2.0, 1.0, 0.0])])
    assert table.tolist() == [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    assert offload.given[0].is_contiguous()
    row = torch.zeros(3)
    run(kind, [row], [torch.tensor([2.0, 1.0, 0.0])], offload=Echo(in_place=True, later=True))
    assert row.tolist() == [0.0, 1.0, 2.0]


def test_a_strided_tensor_is_sent_contiguously():
    offload = run("send", [], [torch.arange(6.0).reshape(3, 2)[:, 1]], offload=Echo(later=True))
    assert offload.given[0].is_contiguous()
    assert offload.given[0].tolist() == [1.0, 3.0, 5.0]


def test_an_error_of_the_offload_or_of_writing_is_that_of_the_collective():
    with pytest.raises(OfframpError, match="the switch is gone"):
        run("all_reduce", [torch.zeros(2)], [], offload=Echo(later=True, error=OfframpError("the switch is gone")))
    with pytest.raises(RuntimeError):
        run("all_to_all", [torch.zeros(3)], [torch.zeros(2)], offload=Echo(later=True))
