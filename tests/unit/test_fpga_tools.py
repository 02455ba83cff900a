# SPDX-License-Identifier: Apache-2.0
"""Programs of a design flow: their logs grow as they run, and their errors become one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from offramp.fpga import tools
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


@pytest.mark.parametrize(
    ("used_s", "waits_s"),
    [
        ([1200.0, 2400.0], [3600.0, 2400.0, 1200.0]),  # a third of a processor: it ends in the third wait
        ([3600.0], [3600.0]),
        ([100.0, 101.0], [3600.0, 3500.0]),  # it stands still
    ],
)
def test_the_limit_is_one_of_processor_time(
    used_s: list[float], waits_s: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    class Tool:
        pid = 1

        def wait(self, seconds: float) -> None:
            waits.append(seconds)
            if len(waits) <= len(used_s):
                raise subprocess.TimeoutExpired("tool", seconds)

    monkeypatch.setattr(tools, "_processor_s", lambda pid: used_s[len(waits) - 1])
    assert tools._ends(cast("subprocess.Popen[bytes]", Tool()), 3600.0) is (len(waits_s) > len(used_s))
    assert waits == waits_s


def test_processor_time_is_of_a_process_and_its_children() -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    program = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}]); print('x', flush=True); input()"
    )
    with subprocess.Popen(python(program), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tool:
        assert tool.stdout is not None
        tool.stdout.read(1)
        assert tools._processor_s(tool.pid) >= 0.29
        tool.communicate(b"\n")
    assert tools._processor_s(tool.pid) == float("inf")


def test_a_tool_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(OfframpError, match=r"^no-such-tool: not found on PATH$"):
        run_tool(["no-such-tool"], tmp_path, "a.log")
