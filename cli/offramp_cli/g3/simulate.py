# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate g3``: pipelines of full-graph training on workers with devices, links and network cards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field
from offramp_base.settings import BITS_PER_SECOND
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Plotted
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from offramp_sim.figures import Gantt
    from offramp_sim.g3 import Pipelined

_SHOWN = 4
"""Most workers in a picture."""


def _modes() -> tuple[str, ...]:
    from offramp_sim.g3 import MODES

    return tuple(MODES)


@dataclass(frozen=True)
class PipelineSettings:
    """Settings of a simulated pipeline."""

    graph: Annotated[str, Field("A graph, as for offramp train: ba:n=2000,m=5, karate, FILE.npz, …")] = "ba:n=2000,m=5"
    workers: Annotated[int, Field("Machines with one device each", least=1)] = 8
    partition: Annotated[str, Field("Partition, as for offramp train: g3, metis, chunk, random, …")] = "g3"
    layers: Annotated[int, Field("Layers of the model", least=1)] = 3
    hidden: Annotated[int, Field("Width of the hidden layers", least=1)] = 16
    link_bps: Annotated[
        int, Field("Rate of each network card: 10G, 100M", key="link", above=0, unit=BITS_PER_SECOND)
    ] = 10**10
    device_link_bps: Annotated[
        int, Field("Rate between host and device", key="device_link", above=0, unit=BITS_PER_SECOND)
    ] = 10**11
    targets: Annotated[int | None, Field("Vertices in a bin; a sixteenth of a worker's by default", least=1)] = None
    mode: Annotated[tuple[str, ...], Field("Pipelines; repeatable; all by default", choices=_modes)] = ()
    seed: Annotated[int, Field("Random seed for graph and partition", least=0)] = 0


@command(PipelineSettings, Plotted, example="simulate g3 --graph ba:n=500,m=4 --workers 4 --json -")
def g3(settings: PipelineSettings, outputs: Plotted) -> None:
    """Simulate a forward pass of G3's pipelines and their baselines: bins that load, compute, unload and travel."""
    from offramp.graph.load import load
    from offramp.graph.partition import partition as cut
    from offramp_sim.figures import draw
    from offramp_sim.g3 import Costs, simulate

    workers, hidden = settings.workers, settings.hidden
    chosen = dict.fromkeys(settings.mode or _modes())
    rate = settings.device_link_bps / 8
    costs = Costs(load_bps=rate, unload_bps=rate, send_bps=settings.link_bps / 8)
    console = show.console()
    outcomes: dict[str, Pipelined] = {}
    with stages(console) as stage:
        stage("partition")
        graph = load(settings.graph, settings.seed, None)
        owner = cut(graph, workers, settings.partition, settings.seed)
        each = settings.targets or max(1, -(-graph.vertices // (16 * workers)))
        widths = [graph.width or hidden, *[hidden] * (settings.layers - 1), max(graph.classes, 1)]
        for name in chosen:
            stage(name)
            outcomes[name] = simulate(graph, owner, widths, name, costs, targets=each)
    headings = ("pipeline", "ms", "against the slowest", "device computes", "card sends", "MB sent")
    table = show.table(*headings, title=f"{graph.name}, {workers} workers, layers {widths}")
    slowest = max(outcome.seconds for outcome in outcomes.values())
    for name, outcome in outcomes.items():
        table.add_row(
            name,
            f"{outcome.seconds * 1e3:.3f}",
            f"{100 * (outcome.seconds / slowest - 1):+.1f} %",
            f"{100 * outcome.busy('compute'):.0f} %",
            f"{100 * outcome.busy('send'):.0f} %",
            f"{outcome.bytes_sent / 1e6:.2f}",
        )
    console.print(table)
    bound = max(outcome.bound_s for outcome in outcomes.values())
    console.print(f"no pipeline of these bins takes less than {bound * 1e3:.3f} ms: the busiest engine of any worker")
    panels = [_gantt(name, outcome) for name, outcome in outcomes.items()]
    outputs.draw(partial(draw, panels, f"G3: {graph.name}"))
    numbers = {
        name: {
            "seconds": o.seconds,
            "bound_s": o.bound_s,
            "bytes_sent": o.bytes_sent,
            "busy": {engine: o.busy(engine) for engine in ("load", "compute", "unload", "send")},
        }
        for name, o in outcomes.items()
    }
    known = {name: getattr(settings, name) for name in ("graph", "workers", "partition", "seed")}
    known |= {"widths": widths, "targets": each}
    outputs.write("offramp.simulate.g3/1", {"settings": known, "pipelines": numbers})


def _gantt(name: str, outcome: Pipelined) -> Gantt:
    """Activity of the first workers' engines, by layer."""
    from offramp_sim.figures import Gantt
    from offramp_sim.g3.pipeline import ENGINES

    workers = sorted({span.worker for span in outcome.spans})[:_SHOWN]
    rows = tuple(f"{worker} {engine}" for worker in workers for engine in ENGINES)
    spans: dict[str, list[tuple[int, float, float]]] = {}
    for span in outcome.spans:
        if span.worker in workers and span.length_s > 0:
            row = workers.index(span.worker) * len(ENGINES) + span.engine
            spans.setdefault(f"layer {span.layer}", []).append((row, span.start_s * 1e3, span.length_s * 1e3))
    return Gantt(f"{name}: {outcome.seconds * 1e3:.2f} ms", "ms", rows, spans)
