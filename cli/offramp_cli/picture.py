# SPDX-License-Identifier: Apache-2.0
"""Pictures that come along with numbers: without Matplotlib the numbers are printed all the same."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING
from weakref import WeakSet

from offramp_base.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from offramp_sim.figures.panels import Panel

_informed: WeakSet[Console] = WeakSet()


def draw_if_possible(console: Console, panels: Sequence[Panel], title: str, path: Path) -> bool:
    """Draw panels into a file, or say once for each console that there is no picture; returns whether there is one.

    Raises:
        OfframpError: the file cannot be written.
    """
    if find_spec("matplotlib") is None:
        if console not in _informed:
            _informed.add(console)
            command = install_command("gnn", "matplotlib")
            console.print(f"no picture: matplotlib is missing ({command})", markup=False, soft_wrap=True)
        return False
    from offramp_sim.figures import draw

    draw(panels, title, path)
    return True
