# SPDX-License-Identifier: Apache-2.0
"""Traces as the text of their trees."""

from __future__ import annotations

import io

from rich.console import Console

from offramp_p4.trace import PacketTrace
from offramp_p4.trace.render import tree


def shown(*traces: PacketTrace) -> str:
    """The trees of all packets."""
    file = io.StringIO()
    console = Console(file=file, width=4000, highlight=False)
    for trace in traces:
        console.print(tree(trace))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"
