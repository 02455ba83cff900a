# SPDX-License-Identifier: Apache-2.0
"""``offramp hermod plan``: a job's priorities as DSCPs and queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from offramp_base import Field
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

JOB = "A YAML or TOML file, or a model of table 5.5"


def parse_dscps(text: str) -> tuple[int, ...]:
    """Parse DSCPs separated by commas.

    Raises:
        ValueError: something else.
    """
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise ValueError("expected DSCPs separated by commas") from None


@dataclass(frozen=True)
class QueueSettings:
    """A job, and the queues that its coflows share."""

    job: Annotated[str, Field(JOB, position=True)]
    queues: Annotated[int, Field("Strict-priority queues of the switches", least=1, most=8)] = 8
    classes: Annotated[int | None, Field("Queues for data; all but control's by default")] = None
    control: Annotated[tuple[int, ...], Field("DSCPs to keep free for control traffic", parse=parse_dscps)] = (48,)
    scheme: Annotated[str, Field("Mapping of code points to queues: split | msb")] = "split"
    apart: Annotated[bool, Field("Leave queue 0 and DSCP 0, below all of the job's, to other traffic")] = False
    plain: Annotated[bool, Field("Use the published layout, which inverts the order of priorities beyond 8")] = False


@command(QueueSettings, Result, example="hermod plan mixtral-8x22b --queues 8 --json plan.json")
def plan(settings: QueueSettings, result: Result) -> None:
    """Plan which DSCP each coflow of a job carries, and which switch queue it goes into."""
    from offramp.hermod import DscpCodec, load_job, plan_queues
    from offramp.hermod.plan_file import SCHEMA, plan_document

    described = load_job(settings.job)
    codec = DscpCodec(described.micro_batches, described.model.layers, described.interleaved, settings.plain)
    control, apart = list(settings.control), settings.apart
    job = described.as_json()
    planned = plan_queues(codec, settings.queues, settings.classes, control, settings.scheme, apart=apart, job=job)
    document = plan_document(planned)
    table = show.table("code", "DSCP", "queue", "microbatch", "type", "layers", left=("type",))
    for row in document["priorities"]:
        bounds = (_range(row["micro_batches"]), " ".join(row["types"]), _range(row["layers"]))
        table.add_row(str(row["code"]), str(row["dscp"]), str(row["queue"]), *bounds)
    console = show.console()
    console.print(table)
    kept = ", ".join(map(str, sorted(planned.control))) or "none"
    console.print(
        f"{len(planned.dscp)} priorities, {planned.classes} queues for data; higher queues go first; control: {kept}"
    )
    result.write(SCHEMA, document)


def _range(bounds: list[int]) -> str:
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]}\N{EN DASH}{bounds[1]}"
