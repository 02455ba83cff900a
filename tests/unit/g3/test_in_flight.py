# SPDX-License-Identifier: Apache-2.0
"""Rows under way in a checkpoint: their number, the passes that belong to them, and there and back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from offramp.g3 import in_flight
from offramp.g3.schedule import schedule_of
from offramp.graph.halo_plan import plan_halo_features
from offramp.graph.load import load
from offramp.graph.step_messages import step_messages
from offramp.models.gcn import Gcn
from offramp_base.errors import OfframpError

GRAPH = load("karate", 0)
MODEL = Gcn([GRAPH.width, 5, GRAPH.classes], seed=0)
PLANS = list(plan_halo_features(GRAPH, (np.arange(GRAPH.vertices) % 2).astype(np.int32), 2, bins=2))


class Codec:
    """Adds the step that a message was sent in, so that a wrong one would be seen."""

    def arrays(self, sent: list[Any]) -> dict[str, Any]:
        """What it keeps of each message."""
        return {"sent": np.array([len(each.message.rows) * each.width for each in sent])}

    def encode(self, rows: torch.Tensor, message: Any, key: Any) -> np.ndarray:
        """Rows of a message."""
        assert len(rows) == len(message.rows)
        return np.array(rows + key.step)

    def decode(self, payload: np.ndarray, message: Any, key: Any, rows: torch.Tensor) -> None:
        """The inverse."""
        rows[:] = torch.from_numpy(payload) - key.step


def size_of(plan: Any) -> int:
    return sum(len(each.message.rows) * each.width for each in step_messages(plan, MODEL.messages))


@pytest.mark.parametrize(
    ("schedule", "kept"), [("g3", False), ("stale", True), ("adaptive", True), ("sequential", False)]
)
def test_a_blank_state_has_room_for_the_rows_that_a_schedule_keeps(schedule: str, kept: bool) -> None:
    blank = in_flight.blank(PLANS[0], MODEL, schedule_of(schedule), Codec(), torch.float32)  # type: ignore[arg-type]
    assert size_of(PLANS[0]) > 0
    assert len(blank["rows"]) == (size_of(PLANS[0]) if kept else 0)
    assert blank["rows"].dtype == np.float32
    assert blank["steps"].tolist() == [0, 0]
    assert blank["sent"].sum() > 0


@pytest.mark.parametrize("steps", [(1, 1), (9, 4)])
def test_passes_are_at_least_the_training_steps(steps: tuple[int, int]) -> None:
    assert in_flight.steps_of({"steps": np.array(steps)}) == steps


@pytest.mark.parametrize("steps", [(1, 0), (0, 0), (3, 4), (5, -1)])
def test_other_numbers_are_refused(steps: tuple[int, int]) -> None:
    with pytest.raises(OfframpError, match=f"a checkpoint of pass {steps[0]} and training step {steps[1]}"):
        in_flight.steps_of({"steps": np.array(steps)})


def test_rows_that_are_collected_can_be_put_back() -> None:
    inbox: dict[Any, Any] = {}
    mailbox: Any = SimpleNamespace(put_back=inbox.__setitem__, take=inbox.get, wait=None)
    numbers = torch.arange(size_of(PLANS[1]), dtype=torch.float32)
    codec: Any = Codec()
    in_flight.put_back(mailbox, PLANS[1], MODEL, 3, codec, numbers)
    messages = list(step_messages(PLANS[1], MODEL.messages))
    assert len(inbox) == len(messages)
    assert {key.step for _, key in inbox} == {3}
    assert [payload.shape for payload in inbox.values()] == [(len(m.message.rows), m.width) for m in messages]
    assert torch.equal(in_flight.collect(mailbox, PLANS[1], MODEL, 3, codec, torch.float32), numbers)
