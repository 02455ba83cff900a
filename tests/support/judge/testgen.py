# SPDX-License-Identifier: Apache-2.0
"""p4testgen: do both engines pass the tests that it makes of our v1model programs."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path
from typing import Final

from judge.verdict import SAME, Verdict, ask, first_line, includes, shown
from offramp_base.errors import OfframpError
from offramp_p4.frontend import load
from offramp_p4.stf import run_stf

NAME: Final = "p4testgen"
_TESTS: Final = 20
_LIMIT_S: Final = 300
_ENGINES: Final = ("python", "native")


def judge(programs: list[Path], folder: Path) -> list[Verdict]:
    """A verdict for each program of which it makes tests; those that it cannot handle say so and count as differing."""
    chosen = enumerate(path for path in programs if includes(path, "v1model.p4"))
    return ask(NAME, ((path, partial(_one, path, folder / str(number))) for number, path in chosen))


def _one(path: Path, folder: Path) -> list[Verdict]:
    return [Verdict(NAME, shown(path), "STF", _words(path, folder))]


def _words(path: Path, folder: Path) -> str:
    command = [NAME, "--target", "bmv2", "--arch", "v1model", "--std", "p4-16", "--test-backend", "STF"]
    command += ["--max-tests", str(_TESTS), "--seed", "1", "--out-dir", str(folder), str(path)]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"it makes no tests in {_LIMIT_S} s"
    tests = sorted(folder.rglob("*.stf"))
    if not tests:
        return f"it makes no tests: {first_line(done.stderr)}"
    program = load(path)
    for test in tests:
        for engine in _ENGINES:
            try:
                result = run_stf(program, test.read_text(), test.name, engine=engine)
            except OfframpError as error:
                return f"not run: {first_line(str(error))}"
            if not result.passed:
                return f"{test.name}, {engine} engine: {result.mismatches[0].message}"
    return SAME
