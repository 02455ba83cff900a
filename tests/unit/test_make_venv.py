# SPDX-License-Identifier: Apache-2.0
"""``ci/make-venv`` by programs that only note how they are called; what pip and uv then do is theirs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = """#!/bin/sh
echo "python $*" >>"$CALLS"
"""  # which finds the platform to be that of the lock
UV = """#!/bin/sh
echo "uv $*" >>"$CALLS"
case "$ACCEPTS $*" in "all "* | "system "*--system-certs*) exit 0 ;; esac
echo "no index by: $*" >&2
exit 2
"""


@pytest.mark.parametrize(("accepts", "tries", "by_pip"), [("all", 1, False), ("system", 2, False), ("none", 2, True)])
def test_uv_tries_the_systems_certificates_before_pip_takes_over(
    accepts: str, tries: int, by_pip: bool, tmp_path: Path
) -> None:
    programs = tmp_path / "venv/bin"
    programs.mkdir(parents=True)
    for name, text in {"python": PYTHON, "pip": PYTHON, "uv": UV}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    calls = tmp_path / "calls"
    environment = {**os.environ, "CALLS": str(calls), "ACCEPTS": accepts}
    words = [ROOT / "ci/make-venv", tmp_path / "venv"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    called = calls.read_text().splitlines()
    assert len([line for line in called if line.startswith("uv ")]) == tries
    locked = [line for line in called if line.startswith("python -m pip") and "requirements.lock" in line]
    assert bool(locked) == by_pip == ("pip installs them" in done.stderr)
    assert done.stderr.count("no index by") == int(by_pip)


@pytest.mark.parametrize("strict", [False, True])
def test_torch_is_installed_by_its_hash_and_without_one_only_if_that_is_allowed(strict: bool, tmp_path: Path) -> None:
    programs = tmp_path / "venv/bin"
    programs.mkdir(parents=True)
    refusing = PYTHON + 'case "$*" in *torch.lock*) exit 1 ;; esac\n'
    for name, text in {"python": refusing, "pip": PYTHON, "uv": UV}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    calls = tmp_path / "calls"
    environment = os.environ | {"CALLS": str(calls), "ACCEPTS": "all", "OFFRAMP_REQUIRE_HASHES": "1" if strict else ""}
    words = [ROOT / "ci/make-venv", tmp_path / "venv"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert "the index has no file that ci/torch.lock knows" in done.stderr
    assert done.returncode == (2 if strict else 0)
    assert any("--no-build-isolation" in line for line in calls.read_text().splitlines()) != strict
