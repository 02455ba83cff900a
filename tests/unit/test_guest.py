# SPDX-License-Identifier: Apache-2.0
"""Reports of suites in the guest are not taken for passed when they are not; wrong invocations end in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import guest

CASES = {
    "passed": '<testcase classname="a" name="one"/>',
    "failed": '<testcase classname="a" name="two"><failure message="x">x</failure></testcase>',
    "broken": '<testcase classname="a" name="three"><error message="x">x</error></testcase>',
    "skipped": '<testcase classname="a" name="four"><skipped message="the kernel has no netem"/></testcase>',
}


def suite(folder: Path, *cases: str) -> guest.Suite:
    report = folder / "junit.xml"
    report.write_text(f"<testsuites><testsuite>{''.join(CASES[case] for case in cases)}</testsuite></testsuites>")
    return guest.read(report)


@pytest.mark.parametrize("cases", [["failed"], ["passed", "broken"], ["passed", "skipped"], ["skipped"], []])
def test_what_is_not_passed(tmp_path: Path, cases: list[str]) -> None:
    with pytest.raises(AssertionError):
        suite(tmp_path, *cases).require(least=1)


def test_what_is_passed(tmp_path: Path) -> None:
    suite(tmp_path, "passed").require(least=1)
    suite(tmp_path, "passed", "skipped").require(least=1, skips=["no netem"])
    with pytest.raises(AssertionError, match="1 tests passed, expected 2"):
        suite(tmp_path, "passed").require(least=2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--env", "A B=1", "--", "true"], "--env A B=1: expected NAME=VALUE"),
        (["--env", "A", "--", "true"], "--env A: expected NAME=VALUE"),
        (["--memory", "1024", "--", "true"], "--memory 1024: expected at least 1024 MiB beside the huge pages"),
        ([], "the following arguments are required: command"),
    ],
)
def test_wrong_invocations(words: list[str], said: str) -> None:
    command = [sys.executable, str(guest.ROOT / "ci/guest/run"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
