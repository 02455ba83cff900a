# SPDX-License-Identifier: Apache-2.0
"""``make judge`` where a tool gives no answer. Blind to the tools, which are outside the repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from judge.verdict import SAME, Verdict, ask


def _silent() -> list[Verdict]:
    raise subprocess.TimeoutExpired(["p4c"], 300)


def _agreeing() -> list[Verdict]:
    return [Verdict("p4c", "b.p4", "program", SAME)]


@pytest.mark.smoke
def test_a_tool_that_gives_no_answer_for_one_program_is_asked_about_the_others() -> None:
    silent, agreeing = ask("p4c", [(Path("a.p4"), _silent), (Path("b.p4"), _agreeing)])
    assert (silent.program, silent.words) == ("a.p4", "not asked: no answer within 300 s")
    assert agreeing.agrees
