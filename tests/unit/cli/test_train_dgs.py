# SPDX-License-Identifier: Apache-2.0
"""What ``offramp train dgs`` shows of a run's numbers; the runs themselves are tested elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import offramp.dgs
from offramp.dgs.ledger import KINDS
from offramp_base.errors import OfframpError
from offramp_cli.app import app

SENT = {kind: 1000 * (n + 1) for n, kind in enumerate(KINDS)} | {"total": 29_000, "gradients": 512, "rows": 77}
NUMBERS: dict[str, Any] = {
    "bytes": SENT,
    "bytes_last_epoch": {kind: count // 2 for kind, count in SENT.items()},
    "test_accuracy": 0.75,
    "final_test_accuracy": 0.5,
    "edges_sampled_per_s": 12_300.0,
    "explanations": 4,
    "seconds": 1.25,
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Samplers of the runs that were asked for; none runs."""
    asked: list[str] = []

    def train(graph: object, settings: Any, on_epoch: object) -> SimpleNamespace:
        del graph, on_epoch
        asked.append(settings.sampler)
        return SimpleNamespace(as_dict=lambda: NUMBERS, masks={})

    monkeypatch.setattr(offramp.dgs, "train_dgs", train)
    return asked


def run(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, ["train", "dgs", "--graph", "karate", *arguments], env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return [" ".join(line.split()) for line in result.output.splitlines()]


def test_bytes_by_purpose_and_the_accuracy(asked: list[str], tmp_path: Path) -> None:
    lines = run("--json", str(tmp_path / "n.json"))
    table = [line for line in lines if line.split(" ")[0] in SENT or line.startswith("remote rows")]
    assert table == [
        "requests 1.00 kB 500 B",
        "structure 2.00 kB 1.00 kB",
        "features 3.00 kB 1.50 kB",
        "masks 4.00 kB 2.00 kB",
        "explanation 5.00 kB 2.50 kB",
        "synchronisation 6.00 kB 3.00 kB",
        "headers 7.00 kB 3.50 kB",
        "total 29.0 kB 14.5 kB",
        "gradients 512 B 256 B",
        "remote rows 77 38",
    ]
    assert "75.0 % at the best epoch on validation, 50.0 % at the end" in " ".join(lines)
    assert asked == ["dgs"]
    written = json.loads((tmp_path / "n.json").read_text())
    assert {name: written[name] for name in NUMBERS} == NUMBERS


def test_masks_go_with_dgs_alone(asked: list[str], tmp_path: Path) -> None:
    with pytest.raises(OfframpError, match="goes with --sampler dgs only"):
        run("--sampler", "ladies", "--save-masks", str(tmp_path / "m.npz"))
    assert asked == []


def test_masks_are_saved_where_one_asks_for_it(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    saved: list[tuple[str, object]] = []
    monkeypatch.setattr(offramp.dgs, "save_masks", lambda path, masks: saved.append((path, masks)))
    run()
    assert saved == []
    run("--save-masks", str(tmp_path / "m.npz"))
    assert saved == [(str(tmp_path / "m.npz"), {})]
    assert asked == ["dgs", "dgs"]
