# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga test`` where it cannot run: one line that says how to install what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from offramp_base.errors import OfframpError
from offramp_base.extras import install_command
from offramp_cli.app import app

if TYPE_CHECKING:
    import pytest


def refusal() -> str:
    raised = CliRunner().invoke(app, ["fpga", "test", "-k", "no_such_bench"]).exception
    assert isinstance(raised, OfframpError)
    return str(raised)


def test_an_installation_without_benches_names_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("offramp.fpga.fpga_root", lambda: tmp_path / "fpga")
    assert "in a checkout, pip install -e '.[fpga,dev]'" in refusal()


def test_packages_of_the_tests_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offramp_cli.fpga.test.find_spec", lambda name: None if name == "hypothesis" else object())
    assert refusal() == f"offramp fpga test: no package hypothesis: {install_command('fpga,dev')}"
