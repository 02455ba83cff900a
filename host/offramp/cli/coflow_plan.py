"""``offramp coflow plan``: a job's priorities as DSCPs and queues."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from offramp.cli.json_file import write_json
from offramp.errors import OfframpError


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

    from offramp.coflow.dscp import Codec
    from offramp.coflow.job_file import load_job
    from offramp.coflow.queues import plan_queues

    described = load_job(job)
    codec = Codec(described.micro_batches, described.model.layers, described.interleaved, plain)
    made = plan_queues(codec, queues, classes, _dscps(control), scheme)
    rows: list[dict[str, Any]] = []
    table = Table(box=None, pad_edge=False)
    for heading in ("code", "DSCP", "queue", "microbatch", "type", "layers"):
        table.add_column(heading, justify="left" if heading == "type" else "right")
    for code, dscp in made.dscp.items():
        meaning = codec.meanings[code]
        types = " ".join(t.name for t in meaning.ctypes)
        table.add_row(str(code), str(dscp), str(made.queue[dscp]), _range(meaning.mids), types, _range(meaning.lids))
        rows.append(
            {
                "code": code,
                "dscp": dscp,
                "queue": made.queue[dscp],
                "micro_batches": meaning.mids,
                "types": [t.name for t in meaning.ctypes],
                "layers": meaning.lids,
            }
        )
    console = Console(highlight=False)
    console.print(table)
    kept = ", ".join(map(str, sorted(made.control))) or "none"
    console.print(f"{len(rows)} priorities, {made.classes} queues for data; higher queues go first; control: {kept}")
    write_json(
        json_path,
        {
            "job": described.as_json(),
            "queues": queues,
            "classes": made.classes,
            "control": sorted(made.control),
            "priorities": rows,
            "dscp_to_queue": made.queue,
        },
    )


def _dscps(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise OfframpError(f"--control {text}: expected DSCPs with commas") from None


def _range(bounds: tuple[int, int]) -> str:
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]}\N{EN DASH}{bounds[1]}"
