# SPDX-License-Identifier: Apache-2.0
"""``offramp hermod compose``: priorities of several jobs that share switches."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from offramp_base import Field, SettingsError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.hermod.plan import parse_dscps
from offramp_cli.result import OUTPUT, Result


def _job(text: str) -> tuple[str, str]:
    name, _, job = text.partition("=")
    if not re.fullmatch(r"[A-Za-z0-9][-A-Za-z0-9_]{0,31}", name) or not job:
        raise ValueError("expected NAME=JOB, such as chat=mixtral-8x22b")
    return name, job


def _weight(text: str) -> tuple[str, float]:
    name, _, weight = text.partition("=")
    try:
        return name, float(weight)
    except ValueError:
        raise ValueError("expected NAME=WEIGHT, such as chat=2") from None


@dataclass(frozen=True)
class ComposeSettings:
    """Jobs that share switches, and the policy between them."""

    job: Annotated[Mapping[str, str], Field("NAME=JOB, a file or a model; repeatable, in order of priority", item=_job)]
    policy: Annotated[
        str,
        Field(
            "Between jobs",
            choices={"strict": "all of a job before all of the next", "weighted": "the same queues, by weight"},
        ),
    ] = "strict"
    weight: Annotated[Mapping[str, float], Field("NAME=WEIGHT, 1 by default; repeatable", item=_weight)] = field(
        default_factory=dict
    )
    queues: Annotated[int, Field("Strict-priority queues of the switches")] = 8
    control: Annotated[tuple[int, ...], Field("DSCPs to keep free for control traffic", parse=parse_dscps)] = (48,)
    out: Annotated[
        Path, Field("Folder for the plan of each job's hosts, NAME.plan.json", group=OUTPUT, filled=True)
    ] = Path()


@command(ComposeSettings, Result, example="hermod compose --job a=mixtral-8x22b --job b=gpt3-13b --json switch.json")
def compose(settings: ComposeSettings, result: Result) -> None:
    """Give jobs that share switches DSCPs of their own, and queues by a policy; --json is the switches' plan."""
    from offramp.hermod import DscpCodec, load_job
    from offramp.hermod.plan_file import SCHEMA, plan_document
    from offramp.hermod.tenants import Tenant, switch_plan
    from offramp.hermod.tenants import compose as composed
    from offramp_base.ending.files import write_text

    stranger = next((name for name in settings.weight if name not in settings.job), None)
    if stranger is not None:
        raise SettingsError("weight", "expected a job of {job}", stranger)
    tenants = []
    for name, source in settings.job.items():
        job = load_job(source)
        codec = DscpCodec(job.micro_batches, job.model.layers, job.interleaved)
        tenants.append(Tenant(name, codec, settings.weight.get(name, 1.0)))
    plans = composed(tenants, settings.policy, settings.queues, settings.control)
    table = show.table("job", "priorities", "DSCPs", "queues", "hosts", left=("job", "hosts"))
    settings.out.mkdir(parents=True, exist_ok=True)
    for tenant, plan in zip(tenants, plans, strict=True):
        path = settings.out / f"{tenant.name}.plan.json"
        document = {"schema": SCHEMA, **plan_document(plan)}
        write_text(path, json.dumps(document, indent=2) + "\n")
        used = set(plan.dscp.values())
        queues = sorted({plan.queue[dscp] for dscp in used}, reverse=True)
        table.add_row(tenant.name, str(len(plan.dscp)), str(len(used)), ", ".join(map(str, queues)), str(path))
    show.console().print(table)
    result.write(SCHEMA, plan_document(switch_plan(tenants, plans)))
