# SPDX-License-Identifier: Apache-2.0
"""``offramp coflow plan``: a job's priorities as DSCPs and queues."""

from __future__ import annotations

from typing import Annotated

import typer

from offramp_base.errors import OfframpError
from offramp_cli.json_file import write_json


def plan(
    job: Annotated[str, typer.Argument(help="A YAML or TOML file, or a model of table 5.5.")],
    queues: Annotated[int, typer.Option(help="Strict-priority queues of the switches.")] = 8,
    classes: Annotated[int | None, typer.Option(help="Of them for data; all but control's by default.")] = None,
    control: Annotated[str, typer.Option(help="DSCPs to keep free for control traffic, with commas.")] = "48",
    scheme: Annotated[str, typer.Option(help="Code points to queues: split | msb.")] = "split",
    plain: Annotated[bool, typer.Option("--plain", help="The printed layout, which inverts orders beyond 8.")] = False,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the plan to this file.")] = None,
) -> None:
    """Plan which DSCP each coflow of a job carries, and which switch queue it goes into."""
    from rich.console import Console
    from rich.table import Table

    from offramp.hermod.dscp import Codec
    from offramp.hermod.job_file import load_job
    from offramp.hermod.plan_file import plan_document
    from offramp.hermod.queues import plan_queues

    described = load_job(job)
    codec = Codec(described.micro_batches, described.model.layers, described.interleaved, plain)
    made = plan_queues(codec, queues, classes, parse_dscps(control), scheme)
    document = plan_document(described.as_json(), codec, queues, made)
    table = Table(box=None, pad_edge=False)
    for heading in ("code", "DSCP", "queue", "microbatch", "type", "layers"):
        table.add_column(heading, justify="left" if heading == "type" else "right")
    for row in document["priorities"]:
        bounds = (_range(row["micro_batches"]), " ".join(row["types"]), _range(row["layers"]))
        table.add_row(str(row["code"]), str(row["dscp"]), str(row["queue"]), *bounds)
    console = Console(highlight=False)
    console.print(table)
    kept = ", ".join(map(str, sorted(made.control))) or "none"
    console.print(
        f"{len(made.dscp)} priorities, {made.classes} queues for data; higher queues go first; control: {kept}"
    )
    write_json(json_path, document)


def parse_dscps(text: str) -> list[int]:
    """The DSCPs of ``--control``."""
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise OfframpError(f"--control {text}: expected DSCPs with commas") from None


def _range(bounds: list[int]) -> str:
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]}\N{EN DASH}{bounds[1]}"
