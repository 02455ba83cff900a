# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate hermod``: what coflow priorities gain a job, with the timeline before and after."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_base.errors import OfframpError
from offramp_cli.json_file import write_json

if TYPE_CHECKING:
    from rich.console import Console

    from offramp_cli.hermod.simulate_packets import PacketLevel
    from offramp_sim.hermod.flow.network import Loaded
    from offramp_sim.hermod.flow.simulate import Outcome
    from offramp_sim.hermod.flow.study import Setup

_POLICIES = "fair,fifo,lina,dp-first,pp-first,ep-first,ep-pp-dp,hermod"


def hermod(
    job: Annotated[str, typer.Option(help="A YAML or TOML file, a model of table 5.5, or a folder of Chakra traces.")],
    policies: Annotated[str, typer.Option(help="With commas; the gain is over the first.")] = _POLICIES,
    gpus: Annotated[int | None, typer.Option(help="In place of the job's; more of them are more replicas.")] = None,
    nic_gbps: Annotated[float | None, typer.Option(help="In place of the job's.")] = None,
    queues: Annotated[int | None, typer.Option(help="Data queues of the switches, 1 to 8; exact without.")] = None,
    scheme: Annotated[str, typer.Option(help="Code points to queues: split | msb.")] = "split",
    hosts: Annotated[str, typer.Option(help="With queues, what senders order by: exact | queues.")] = "exact",
    routing: Annotated[str, typer.Option(help="ecmp | spray.")] = "ecmp",
    all_to_all: Annotated[str, typer.Option(help="How EP sends: fluid | matched | shifted.")] = "fluid",
    overhead_us: Annotated[float, typer.Option(help="Of each sub-phase or round of an all-to-all.")] = 0.0,
    iterations: Annotated[int, typer.Option(help="The last one counts.")] = 3,
    timeline: Annotated[str | None, typer.Option(help="Write the timeline of the first and last policy here.")] = None,
    level: Annotated[str, typer.Option(help="flow | packet: every packet through p4/hermod, up to 16 NICs.")] = "flow",
    leaf: Annotated[int, typer.Option(help="NICs under a leaf switch.")] = 16,
    packets: Annotated[int, typer.Option(help="Packet level: about so many stand for all bytes.")] = 100_000,
    loss: Annotated[float, typer.Option(help="Packet level: probability that a link loses a frame.")] = 0.0,
    pause: Annotated[
        list[str] | None, typer.Option(help="Packet level: NIC@START+SECONDS, the switch may not send there.")
    ] = None,
    engine: Annotated[str, typer.Option(help="Packet level: of the P4 switch, auto | native | python.")] = "auto",
    seed: Annotated[int, typer.Option(help="Moves everything random.")] = 0,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the numbers to this file.")] = None,
) -> None:
    """Simulate a training job's coflows under several policies: iteration time and gain, and a timeline."""
    from rich.console import Console
    from rich.progress import Progress

    from offramp_sim.hermod.flow.policies import NAMES
    from offramp_sim.hermod.flow.study import Setup, one

    names = [name.strip() for name in policies.split(",") if name.strip()]
    for name in names or [""]:
        if name not in NAMES:
            raise OfframpError(f"--policies {name}: expected some of {', '.join(NAMES)}")
    if iterations < 2:
        raise OfframpError(f"--iterations {iterations}: expected at least 2")
    overhead_s = overhead_us * 1e-6
    setup = Setup(
        iterations, routing, leaf, all_to_all, overhead_s, queues=queues, scheme=scheme, hosts=hosts, seed=seed
    )
    packet_level = _packet_level(level, setup, packets, engine, loss, pause or [])
    if packet_level is not None:
        setup = packet_level.setup
    console = Console(highlight=False)
    outcomes: dict[str, Outcome] = {}
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("the job's DAG", total=len(names))
        source = _traces(Path(job), nic_gbps, setup) if Path(job).is_dir() else _job(job, gpus, nic_gbps, setup)
        for k, name in enumerate(names):
            bar.update(task, description=name)

            def report(share: float, k: int = k) -> None:
                bar.update(task, completed=k + share)

            if packet_level is None:
                outcomes[name] = one(source.loaded, name, setup, lambda _, share: report(share))
            else:
                outcomes[name] = packet_level.run(source.loaded, name, report)
    rows = _numbers(outcomes, source.tokens)
    numbers = {"job": source.facts, "setup": asdict(setup), "level": level, "policies": rows}
    console.print(source.title)
    _show(console, rows)
    if packet_level is not None:
        numbers["packets"] = packet_level.numbers()
        packet_level.show(console)
    if timeline is not None:
        from offramp_sim.hermod.flow.timeline import draw

        shown = {name: outcomes[name] for name in dict.fromkeys((names[0], names[-1]))}
        draw(shown, Path(timeline), source.title)
        console.print(f"timeline: {timeline}")
    write_json(json_path, numbers)


def _packet_level(
    level: str, setup: Setup, packets: int, engine: str, loss: float, pauses: list[str]
) -> PacketLevel | None:
    if level == "packet":
        from offramp_cli.hermod.simulate_packets import PacketLevel

        return PacketLevel.of(setup, packets, engine, loss, pauses)
    if level != "flow":
        raise OfframpError(f"--level {level}: expected flow or packet")
    if loss or pauses:
        raise OfframpError("--loss and --pause: expected with --level packet")
    return None


@dataclass(frozen=True, slots=True)
class _Source:
    """What is simulated; ``tokens`` of an iteration, 0 where traces do not say."""

    loaded: Loaded
    title: str
    facts: dict[str, Any]
    tokens: int


def _job(name: str, gpus: int | None, nic_gbps: float | None, setup: Setup) -> _Source:
    from offramp.hermod.job_file import load_job
    from offramp_sim.hermod.flow.study import prepare

    changes = {k: v for k, v in (("gpus", gpus), ("nic_gbps", nic_gbps)) if v is not None}
    job = replace(load_job(name), **changes)  # type: ignore[arg-type]
    degrees = f"pp {job.pp} x tp {job.tp} x dp {job.dp}, ep {job.ep}"
    title = f"{job.model.name}: {job.gpus} GPUs = {degrees}, {job.nic_gbps:g} Gb/s"
    return _Source(prepare(job, setup), title, job.as_json(), job.dp * job.micro_batches * job.tokens)


def _traces(folder: Path, nic_gbps: float | None, setup: Setup) -> _Source:
    from offramp.hermod.chakra import load_dag
    from offramp_sim.hermod.flow.study import prepare_traces

    if nic_gbps is None or nic_gbps <= 0:
        raise OfframpError("--nic-gbps: expected a rate above 0, as traces name none")
    dag = load_dag(folder)
    facts = {"traces": str(folder), "ranks": dag.workers, "nic_gbps": nic_gbps}
    title = f"{folder}: {dag.workers} ranks, {nic_gbps:g} Gb/s"
    return _Source(prepare_traces(dag, nic_gbps, setup), title, facts, 0)


def _numbers(outcomes: dict[str, Outcome], tokens: int) -> dict[str, Any]:
    base = next(iter(outcomes.values())).iteration_s
    return {
        name: {
            "iteration_s": o.iteration_s,
            "tokens_per_s": tokens / o.iteration_s if tokens else None,
            "speedup": base / o.iteration_s,
            "events": o.events,
        }
        for name, o in outcomes.items()
    }


def _show(console: Console, rows: dict[str, Any]) -> None:
    from rich.table import Table

    first = next(iter(rows))
    table = Table(box=None, pad_edge=False)
    for heading in ("policy", "iteration", "tokens/s", f"speed to {first}"):
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    for name, row in rows.items():
        tokens = "\N{EN DASH}" if row["tokens_per_s"] is None else f"{row['tokens_per_s']:,.0f}"
        table.add_row(name, f"{row['iteration_s']:.4g} s", tokens, f"{row['speedup']:.3f}")
    console.print(table)
