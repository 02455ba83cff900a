# SPDX-License-Identifier: Apache-2.0
"""A stage's line fits the terminal, whatever it is called."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from offramp_cli.stages import one_line


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("name", ["plan", "switchgnn/where-measured (3 of 9; about 10 min): " + 20 * "long "])
def test_one_line(width: int, name: str) -> None:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    with one_line(console) as progress:
        progress.add_task(name, total=10, completed=3)
        table = progress.get_renderable()
    lines = ["".join(segment.text for segment in line).rstrip() for line in console.render_lines(table, pad=False)]
    assert len(lines) == 1
    assert cell_len(lines[0]) <= width
    assert lines[0].startswith(name[:4])
    assert "30%" in lines[0]
    assert lines[0].endswith("0:00:00")
