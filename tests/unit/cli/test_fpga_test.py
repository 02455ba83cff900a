# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga test``: what pytest is told, and one line that says how to install what is missing."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
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


def test_settings_of_benches_travel_in_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[tuple[list[str], dict[str, str]]] = []

    def run(words: list[str], env: dict[str, str], **_: object) -> SimpleNamespace:
        seen.append((words, {name: env[name] for name in sorted(env) if name.startswith("OFFRAMP_BENCH_")}))
        assert env["HOME"] == "/of/someone"
        return SimpleNamespace(returncode=3)

    monkeypatch.setattr("offramp_cli.fpga.test.find_spec", lambda _: object())
    monkeypatch.setattr("offramp_cli.fpga.test.subprocess.run", run)
    monkeypatch.setattr("offramp_cli.fpga.test.os", SimpleNamespace(environ={"HOME": "/of/someone"}))
    report = str(tmp_path / "c.json")
    options = ["--full", "--folder", "reduce", "--simulator", "verilator", "--waves", "always", "--coverage", report]
    for given in ([], options):
        assert CliRunner().invoke(app, ["fpga", "test", *given, "-k", "skid_buffer"]).exit_code == 3
    (plain, few), (full, all_) = seen
    assert plain[1:] == ["-m", "pytest", plain[3], "-m", "not slow", "-k", "skid_buffer"]
    assert full[1:] == ["-m", "pytest", f"{plain[3]}/reduce", "-k", "skid_buffer"]
    assert few == {"OFFRAMP_BENCH_WAVES": "never"}
    assert all_ == {
        "OFFRAMP_BENCH_COVERAGE_REPORT": report,
        "OFFRAMP_BENCH_SIMULATOR": "verilator",
        "OFFRAMP_BENCH_WAVES": "always",
    }
