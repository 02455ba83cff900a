# SPDX-License-Identifier: Apache-2.0
"""``offramp hermod models``: the models of the thesis, and what their coflows carry."""

from __future__ import annotations

from typing import Any

from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

_PANELS = (
    {
        "layers": "layers",
        "experts": "experts",
        "gpus": "GPUs",
        "pp": "PP",
        "tp": "TP",
        "ep": "EP",
        "dp": "DP",
        "parameters, G": "params, G",
        "active, G": "active, G",
    },
    {
        "PP message, MB": "PP MB",
        "EP message, MB": "EP MB",
        "EP leaving the GPU, MB": "leaving",
        "forward attention, ms": "attention ms",
        "forward experts or MLP, ms": "FFN ms",
        "PP, ms": "PP ms",
        "EP, ms": "EP ms",
    },
)


@command(Result, example="hermod models --json -")
def models(result: Result) -> None:
    """List the six models of table 5.5: parameters, messages of each GPU, and their times at its share of the NICs."""
    from offramp.hermod.job import named_job
    from offramp.hermod.models import PRESETS
    from offramp.hermod.sizes import sizes

    rows: dict[str, dict[str, Any]] = {name: sizes(named_job(name)) for name in PRESETS}
    console = show.console()
    for fields in _PANELS:
        table = show.table("", *fields.values())
        for name, row in rows.items():
            table.add_row(name, *(_text(row[field]) for field in fields))
        console.print(table)
        console.print()
    result.write("offramp.hermod.models/1", {"models": rows})


def _text(value: float | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
