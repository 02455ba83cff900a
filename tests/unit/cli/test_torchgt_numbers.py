# SPDX-License-Identifier: Apache-2.0
"""What ``offramp train torchgt`` says of a run and exports of its last epoch, from a result that is given."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from offramp.torchgt import coflows
from offramp_cli.torchgt import train


def epoch(**more: float) -> SimpleNamespace:
    given = {"test_score": 0.5, "pairs": 10, "sent_bytes": 4_000_000, "seconds": 9.0, "steps": 2}
    return SimpleNamespace(**{**given, "communication_seconds": 1.0, "reduction_seconds": 2.0, **more})


@pytest.fixture
def result() -> Any:
    return SimpleNamespace(
        epochs=[epoch(), epoch(), epoch(test_score=0.75, pairs=12_000, sent_bytes=1_000_000, seconds=8.0)],
        settings={"workers": 3},
        metric="accuracy",
        seconds=12.345,
        preparation_seconds=0.5,
        tokens=[36, 72, 40],
        pattern_bytes=1234,
        weights={
            "layers.0.q": np.zeros((4, 4)),
            "layers.1.q": np.zeros(9),
            "head": np.zeros(5),
            "layers.0.k": np.ones(2),
        },
    )


def test_the_last_epoch_and_the_bytes_of_all(result: Any) -> None:
    console = Console(record=True, width=120)
    train._summary(console, result)
    assert [" ".join(line.split()) for line in console.export_text().splitlines()] == [
        "test accuracy 0.7500",
        "seconds 12.35",
        "preparation, seconds 0.50",
        "sequences 3",
        "tokens of the longest 72",
        "attended pairs, last epoch 12 000",
        "all-to-all bytes 9 000 000",
        "of each of 3 ranks 3 000 000",
        "bytes of patterns 1 234",
    ]


@pytest.mark.parametrize(("seconds", "computed_s"), [(8.0, 2.5), (2.0, 0.0)])
def test_the_exported_step_is_the_last_epoch_s(
    result: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, computed_s: float
) -> None:
    result.epochs[-1].seconds = seconds
    asked: list[Any] = []
    monkeypatch.setattr(coflows.StepExchanges, "of", lambda *given: asked.append(given))
    monkeypatch.setattr(coflows, "export_step", lambda _, folder: [folder / f"trace.{rank}.et" for rank in range(3)])
    monkeypatch.setattr(coflows, "priorities", lambda _: {"coflows": 7})
    console, settings = Console(record=True, width=300), object()
    assert train._export(console, result, settings, tmp_path) == {"coflows": 7}
    assert asked == [(settings, 72, 18, 5, computed_s)]
    assert json.loads((tmp_path / "plan.json").read_text()) == {"coflows": 7}
    said = f"coflows: {tmp_path}/trace.0.et to {tmp_path}/trace.2.et; priorities: {tmp_path}/plan.json\n"
    assert console.export_text() == said
