# SPDX-License-Identifier: Apache-2.0
"""``offramp themis export`` and ``check``, and MSCCL files in ``offramp simulate themis``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from offramp_cli.app import app


def run(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("msccl") / "example.xml"
    words = ("themis", "export", "msccl", "--size", "16MiB", "--chunks", "4", "--out", str(path))
    done = run(*words, "--json", str(path.with_suffix(".json")))
    assert done.exit_code == 0, done.output
    return path


def test_an_export_is_checked_and_timed(exported: Path) -> None:
    written = json.loads(exported.with_suffix(".json").read_text())
    assert written["gpus"] == 16
    assert written["simulated_s"] == pytest.approx(written["planned_s"], rel=0.2)


def test_check(exported: Path, tmp_path: Path) -> None:
    numbers = tmp_path / "check.json"
    assert run("themis", "check", str(exported), "--json", str(numbers)).exit_code == 0
    assert json.loads(numbers.read_text())["programs"][0]["faults"] == []
    wrong = tmp_path / "wrong.xml"
    wrong.write_text(exported.read_text().replace('hasdep="1"', 'hasdep="0"'))
    done = run("themis", "check", str(exported), str(wrong), "--json", str(numbers))
    assert str(done.exception).startswith(f"{wrong}: deadlock: ")
    assert len(json.loads(numbers.read_text())["programs"]) == 2


def test_a_program_beside_schedulers(exported: Path, tmp_path: Path) -> None:
    numbers = tmp_path / "t.json"
    words = ("simulate", "themis", "--network", "example", "--size", "16MiB", "--chunks", "4", "--msccl", str(exported))
    done = run(*words, "--json", str(numbers))
    assert done.exit_code == 0, done.output
    written = json.loads(numbers.read_text())
    assert written["msccl"]["seconds"] >= written["bound_without_latency_s"] * 0.999
    assert set(written["schedulers"]) == {"baseline", "themis+fifo", "themis+scf", "balanced"}
    assert written["msccl"]["collective"] == "all-reduce"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("simulate", "themis", "--msccl", "{}", "--network", "current"), "16 GPUs: current has 1024"),
        (("simulate", "themis", "--msccl", "{}", "--network", "example", "--delays", "nccl"), "--msccl"),
        (("simulate", "themis", "--gpu", "hopper"), "--gpu hopper: has no effect with --delays overlap"),
        (("themis", "export", "msccl", "--out", "{}", "--channels", "4"), "--channels 4: has no effect with msccl"),
        (("themis", "export", "msccl", "--out", "{}", "--chunks", "500"), "steps in a thread block"),
        (("themis", "check", "{}.none"), "No such file"),
    ],
)
def test_what_is_refused(exported: Path, words: tuple[str, ...], message: str) -> None:
    before = exported.read_text()
    done = run(*(word.format(exported) for word in words))
    assert message in str(done.exception), done.exception
    assert "\n" not in str(done.exception)
    assert exported.read_text() == before
