# SPDX-License-Identifier: Apache-2.0
"""Graphs that bins keep or make again, over a model that multiplies, whose gradients are known by hand.

Blind spot: real models and stores, which ``test_pipeline.py`` has.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from offramp.g3.tape import Rows, StageOutputs, StageTapes, Tape, leaf
from offramp.models.base import Inputs

WEIGHT = torch.tensor([2.0], requires_grad=True)


class Product:
    """State = weight x message + own; counts how often it is computed."""

    layers = 1

    def __init__(self) -> None:
        self.computed = 0

    def combine(self, number: int, block: Any, inputs: Inputs) -> torch.Tensor:
        assert number == 1
        self.computed += 1
        message, own, _ = inputs
        return message * WEIGHT + own


def tapes(model: Any, trained: tuple[bool, bool], *, streams: bool) -> tuple[StageTapes, Any]:
    block: Any = SimpleNamespace(targets=slice(0, 1), gathered=lambda rows: rows[:1])
    prepared: Any = (torch.tensor([[3.0], [4.0]]), torch.tensor([[5.0], [6.0]]))
    return StageTapes(model, 1, prepared, None, trained, streams=streams), block


@pytest.mark.parametrize("trained", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("streams", [False, True])
def test_gradients_of_what_is_trained(trained: tuple[bool, bool], *, streams: bool) -> None:
    model = Product()
    stage, block = tapes(model, trained, streams=streams)
    outputs = stage.forward(0, block, training=True)
    assert outputs.state is not None
    assert outputs.state.item() == 11
    assert outputs.state.requires_grad is not streams
    upstream = StageOutputs(torch.tensor([[10.0]]), None, None)
    of_inputs, of_parameters = stage.backward(0, block, upstream, [WEIGHT])  # type: ignore[list-item]
    assert [None if each is None else each.item() for each in of_inputs] == [
        20.0 if trained[0] else None,
        10.0 if trained[1] else None,
        None,
    ]
    assert [each.item() for each in of_parameters] == [30.0]
    assert model.computed == 1 + streams


def test_a_graph_is_kept_for_one_way_back_and_for_training_only() -> None:
    model = Product()
    stage, block = tapes(model, (True, True), streams=False)
    stage.forward(0, block, training=False)
    upstream = StageOutputs(torch.ones(1, 1), None, None)
    for computed in (2, 3):
        stage.backward(0, block, upstream, [])
        assert model.computed == computed


def test_without_gradients_of_outputs_there_are_zeros() -> None:
    inputs = Inputs(leaf(torch.ones(1), trained=True), None, None)
    tape = Tape(inputs, StageOutputs(inputs.message * WEIGHT, None, None))
    of_inputs, of_parameters = tape.gradients(StageOutputs(None, None, None), [WEIGHT])  # type: ignore[list-item]
    assert of_inputs == [None, None, None]
    assert [each.tolist() for each in of_parameters] == [[0.0]]
    nothing = Tape(Inputs(torch.ones(1), None, None), StageOutputs(WEIGHT * 1, None, None))
    assert nothing.gradients(StageOutputs(torch.ones(1), None, None), []) == ([None, None, None], ())


def test_rows_that_bins_fill() -> None:
    store: Any = SimpleNamespace(empty=torch.zeros, kept=lambda rows: rows, wrote=lambda rows: None)
    rows = Rows(3, 2, store)
    assert not rows
    assert rows.whole().shape == (3, 0)
    rows.put(torch.tensor([0, 2]), torch.tensor([[1.0], [3.0]]))
    rows.put(torch.tensor([1]), torch.tensor([[2.0]]))
    assert rows
    assert rows.whole().tolist() == [[1.0], [2.0], [3.0]]
    one, part = Rows(2, 1, store), torch.ones(2, 1)
    one.put(torch.tensor([0, 1]), part)
    assert one.whole() is part
