# SPDX-License-Identifier: Apache-2.0
"""The line to which pip's output is reduced; installations need an index and are tested where one answers."""

from __future__ import annotations

import pytest

from offramp_base.tools import _reason

BUILD = """Collecting pynq>=4
error: subprocess-exited-with-error

\N{MULTIPLICATION SIGN} Building wheel for pynq (pyproject.toml) did not run successfully.
exit code: 1

hint: See above for details.""".splitlines()

RETRY = (
    "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken "
    "by 'NewConnectionError('Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')'"
)
NOT_FOUND = "ERROR: Could not find a version that satisfies the requirement x (from versions: none)"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["Looking", "ERROR: No matching distribution found for x", "more"], "No matching distribution found for x"),
        (BUILD, "Building wheel for pynq (pyproject.toml) did not run successfully."),
        (["error: externally-managed-environment", "hint: see PEP 668"], "externally-managed-environment"),
        (["Killed"], "Killed"),
        ([RETRY, NOT_FOUND], "pip reaches no package index; is there a network?"),
        ([RETRY, "ERROR: Failed building wheel for x"], "Failed building wheel for x"),
        ([NOT_FOUND], "Could not find a version that satisfies the requirement x (from versions: none)"),
        ([], ""),
    ],
)
def test_the_line_of_pips_that_says_why(lines: list[str], reason: str) -> None:
    assert _reason(lines) == reason
