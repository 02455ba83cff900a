# SPDX-License-Identifier: Apache-2.0
"""Programs of a design flow: their logs grow as they run, and their errors become one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from offramp.fpga.tools import run_tool
from offramp_base.errors import OfframpError


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_both_outputs_are_in_the_log(tmp_path: Path) -> None:
    log = run_tool(python("import sys; print('out', flush=True); print('err', file=sys.stderr)"), tmp_path, "a.log")
    assert log == (tmp_path / "a.log").read_text() == "out\nerr\n"


def test_the_log_is_there_before_the_end(tmp_path: Path) -> None:
    """The tool itself reads what it has written so far."""
    seen = run_tool(python("print('first', flush=True); print(open('a.log').read() * 2, end='')"), tmp_path, "a.log")
    assert seen == "first\n" * 3


def test_the_first_error_is_told(tmp_path: Path) -> None:
    with pytest.raises(OfframpError, match=r"failed: ERROR: no such cell$"):
        run_tool(python("print('ERROR: no such cell\\nERROR: another'); raise SystemExit(1)"), tmp_path, "a.log")
    with pytest.raises(OfframpError, match=r"failed: see .*a.log$"):
        run_tool(python("raise SystemExit(1)"), tmp_path, "a.log")


def test_a_tool_that_does_not_end(tmp_path: Path) -> None:
    with pytest.raises(OfframpError, match=r"not done after 1 s: see .*a.log$"):
        run_tool(python("import time; print('so far', flush=True); time.sleep(60)"), tmp_path, "a.log", 1)
    assert (tmp_path / "a.log").read_text() == "so far\n"


def test_a_tool_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(OfframpError, match=r"^no-such-tool: not found on PATH$"):
        run_tool(["no-such-tool"], tmp_path, "a.log")
