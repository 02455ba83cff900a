# SPDX-License-Identifier: Apache-2.0
"""Suites inside the guest (ci/guest/run): what they gave, by their own reports."""

from __future__ import annotations

import ctypes
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAILED = 125
"""Exit status of a guest that failed, whatever its command did."""
_LIMIT_S = 3000
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Suite:
    """Result of a run of pytest in the guest.

    Attributes:
        passed, skipped, failed: tests, by ``file::name``; of those that were skipped also why.
        output: output of the run.
        counters: counters of the RDMA card, where there is one.
    """

    passed: frozenset[str]
    skipped: Mapping[str, str]
    failed: frozenset[str]
    output: str
    counters: Mapping[str, int]

    def require(self, least: int, skips: Sequence[str] = ()) -> None:
        """Fail unless at least so many tests passed, none failed, and those skipped say one of ``skips``."""
        tail = self.output[-6000:]
        assert not self.failed, f"{sorted(self.failed)}\n{tail}"
        assert len(self.passed) >= least, f"{len(self.passed)} tests passed, expected {least}\n{tail}"
        other = {name: reason for name, reason in self.skipped.items() if not any(skip in reason for skip in skips)}
        assert not other, other


def run(*command: str, out: Path | None = None, env: Mapping[str, str] | None = None, limit_s: float = _LIMIT_S,
        options: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """A command in the guest; what it wrote and how it ended.

    The guest has its own time limit; nothing waits for one that does not keep it.
    """
    if shutil.which("qemu-system-x86_64") is None:
        pytest.skip("needs qemu-system-x86_64 (make guest)")
    words = [str(ROOT / "ci/guest/run"), "--timeout", str(limit_s), *options]
    if out is not None:
        words += ["--out", str(out)]
    for name, value in (env or {}).items():
        words += ["--env", f"{name}={value}"]
    return subprocess.run(
        [sys.executable, *words, "--", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=limit_s + 300,
        preexec_fn=_end_with_parent,
    )


def _end_with_parent() -> None:
    """A guest has no business after the tests, however they end."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def suite(out: Path, *arguments: str, before: Sequence[str] = (), env: Mapping[str, str] | None = None) -> Suite:
    """A run of pytest in the guest behind ``before``, such as ``ci/guest/with-rxe rc``."""
    pytest_words = [".venv/bin/python", "-m", "pytest", "-p", "no:cacheprovider", "--junitxml", "/mnt/junit.xml"]
    done = run(*before, *pytest_words, *arguments, out=out, env=env)
    said = done.stdout + done.stderr
    report = out / "junit.xml"
    assert report.is_file(), said[-6000:]
    outcome = read(report, said, out / "counters")
    assert done.returncode == (1 if outcome.failed else 0), said[-6000:]
    return outcome


def read(report: Path, output: str = "", counters: Path | None = None) -> Suite:
    """A report in JUnit's form, as pytest writes it."""
    passed, skipped, failed = set(), {}, set()
    for case in ET.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed.add(name)
        elif skip is not None:
            skipped[name] = str(skip.get("message"))
        else:
            passed.add(name)
    lines = counters.read_text("ascii").splitlines() if counters is not None and counters.is_file() else []
    counts = {name: int(value) for name, value in (line.split() for line in lines)}
    return Suite(frozenset(passed), skipped, frozenset(failed), output, counts)
