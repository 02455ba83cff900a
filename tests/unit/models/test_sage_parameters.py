# SPDX-License-Identifier: Apache-2.0
"""Weights of GraphSAGE by the step of a layer that uses them."""

from __future__ import annotations

from offramp.models.sage import Sage


def test_each_weight_is_used_by_one_step_of_its_layer() -> None:
    model = Sage([8, 4, 6], seed=0)  # the first layer narrows, so that its messages are products
    own, neighbour, biases = (list(each) for each in (model.own, model.neighbour, model.biases))
    preparing = [[id(each) for each in model._preparing(number)] for number in range(4)]
    combining = [[id(each) for each in model._combining(number)] for number in range(4)]
    assert preparing == [[], [*map(id, (own[0], biases[0], neighbour[0]))], [*map(id, (own[1], biases[1]))], []]
    assert combining == [[], [], [id(neighbour[1])], []]
    assert model.trains_first_message
    assert not Sage([4, 8, 2], seed=0).trains_first_message
