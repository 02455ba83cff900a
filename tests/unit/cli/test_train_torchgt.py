# SPDX-License-Identifier: Apache-2.0
"""``offramp train torchgt``: what it prints and writes, and one clear line where it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from offramp.report.units import number
from offramp_base.errors import OfframpError
from offramp_cli.app import app

TINY = ["--graph", "karate", "--layers", "1", "--hidden", "8", "--heads", "2", "--clusters", "2", "--block", "4"]


def torchgt(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["train", "torchgt", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_run_with_its_coflows(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    done = torchgt(*TINY, "--epochs", "2", "--json", str(out), "--coflows", str(tmp_path / "step"))
    assert done.exit_code == 0
    assert done.output.splitlines()[0].startswith("epoch 1/2  loss ")
    numbers = json.loads(out.read_text())
    assert numbers["metric"] == "accuracy"
    assert numbers["settings"]["heads"] == 2
    # 36 tokens with the global one and padding; forward, backward and no third way.
    assert numbers["tokens"] == [36]
    assert numbers["per_epoch"][0]["sent_bytes"] == 2 * 2 * (4 * 36 * 8 // 4) * 4
    assert (tmp_path / "step/trace.1.et").exists()
    assert json.loads((tmp_path / "step/plan.json").read_text())["coflows"] == numbers["coflows"]["coflows"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--heads", "3"], "--hidden 8: expected a multiple of --heads 3"),
        (["--workers", "4"], "--heads 2: expected a multiple of --workers 4"),
        (["--sequence", "1"], "--sequence 1: expected at least --workers 2"),
        (["--beta", "high"], "--beta high: expected auto or a density from 0 to 1"),
        (["--graph", "molecules:size=3"], "molecules:size=3: size: expected one of nodes, rings, count"),
        (["--graph", "families:k=9"], "families:k=9: k: expected 2 to 5, got '9'"),
        (["--json", "nowhere/x.json"], "--json nowhere/x.json: cannot be written: No such file or directory"),
        (["--lr", "1e30"], "--lr 1e+30: expected more than 0 and below 1e+30"),
    ],
)
def test_one_clear_line(arguments: list[str], message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        torchgt(*TINY, "--epochs", "3", "--workers", "2", *arguments)
    assert str(caught.value) == message


def test_what_a_run_says_at_its_end(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    lines = torchgt(*TINY, "--epochs", "2", "--json", str(out)).output.splitlines()
    lines = [" ".join(line.split()) for line in lines]
    numbers = json.loads(out.read_text())
    sent = sum(epoch["sent_bytes"] for epoch in numbers["per_epoch"])
    for fact in (
        f"test accuracy {numbers['per_epoch'][-1]['test_score']:.4f}",
        f"seconds {numbers['seconds']:.2f}",
        "sequences 1",
        "tokens of the longest 36",
        " ".join(f"all-to-all bytes {number(sent)}".split()),
        " ".join(f"of each of 2 ranks {number(sent // 2)}".split()),
    ):
        assert fact in lines
