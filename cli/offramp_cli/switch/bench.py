# SPDX-License-Identifier: Apache-2.0
"""``offramp switch bench``: speed of the engines for a program."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field, OfframpError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result
from offramp_cli.stages import stages
from offramp_cli.switch.bench_rows import BenchRows

if TYPE_CHECKING:
    from offramp_p4.bench.rates import MeasuredRate
    from offramp_p4.bench.workload import SwitchWorkload
    from offramp_p4.program_source import PreprocessorSettings

ENGINES = ("native", "python")
METHOD = (
    "memory: frames in memory, whole batches, the fastest quarter; bmv2 reads a capture file without logging, and "
    "its time is that between output frames. veth: through veth pairs, the best loss-free window or pace; kernel %: of "
    "the switch's processor time."
)


@dataclass(frozen=True)
class SwitchBenchSettings:
    """Settings of the measurement."""

    program: Annotated[
        str | None,
        Field("P4-16 source for v1model; without it, SwitchGNN and a router", position=True),
    ] = None
    size: Annotated[int, Field("Bytes of a packet (with PROGRAM)", least=14, most=9000)] = 64
    seconds: Annotated[float, Field("Time to run packets in each measurement", least=0)] = 2.0
    bmv2: Annotated[bool, Field("Also measure simple_switch, if it is on PATH")] = True
    veth: Annotated[bool, Field("Also measure over veth pairs (needs root)")] = False
    within: Annotated[float, Field("Start no further measurement after this many seconds", least=0)] = 140.0
    seed: Annotated[int, Field("Random seed for packets and table entries", least=0)] = 0


@command(
    SwitchBenchSettings,
    "offramp_p4.program_source:PreprocessorSettings",
    Result,
    example="switch bench --seconds 1 --json -",
)
def bench(settings: SwitchBenchSettings, macros: PreprocessorSettings, result: Result) -> None:
    """Measure packets and passes per second of both engines, and of bmv2 in the same run.

    Each row is printed as soon as it is measured.
    """
    from offramp_p4.reference import missing

    started = time.monotonic()
    rates: list[MeasuredRate] = []
    out = show.console(wrap=False)
    rows = BenchRows(out)
    absent = missing()
    if settings.bmv2 and absent:
        rows.skip("bmv2", f"not on PATH: {', '.join(absent)}")
    with stages(show.console(errors=True)) as stage:
        stage("packets")
        plan = _plan(_workloads(settings, macros), settings.seconds, settings.bmv2 and not absent, settings.veth)
        for at, (name, run) in enumerate(plan):
            if time.monotonic() - started > settings.within:
                left = show.count(len(plan) - at, "measurement")
                rows.skip(left, f"{settings.within:g} s are over (--within), next was {name}")
                break
            stage(name)
            try:
                rates.append(run())
            except OfframpError as error:
                rows.skip(name, str(error))
            else:
                rows.add(rates[-1])
    out.print(METHOD)
    numbers = {"method": METHOD, "skipped": rows.skipped, "rates": [rate.to_json() for rate in rates]}
    result.write("offramp.switch.bench/1", numbers)


def _workloads(settings: SwitchBenchSettings, macros: PreprocessorSettings) -> list[SwitchWorkload]:
    if settings.program is None:
        from offramp_sim.switchgnn import standard_workloads

        return standard_workloads(seed=settings.seed)
    from offramp_p4.bench.random_entries import program_workload

    program, include = Path(settings.program), [Path(folder) for folder in macros.include]
    return [program_workload(program, include, macros.defines, size=settings.size, seed=settings.seed)]


def _plan(
    workloads: list[SwitchWorkload], seconds: float, bmv2: bool, veth: bool
) -> list[tuple[str, Callable[[], MeasuredRate]]]:
    from functools import partial

    from offramp_p4.bench.bmv2 import measure_bmv2
    from offramp_p4.bench.rates import measure
    from offramp_p4.bench.veth import measure_veth

    plan: list[tuple[str, Callable[[], MeasuredRate]]] = []
    for workload in workloads:
        if bmv2:  # before the others, whose rows say how many times as fast they are
            plan.append((f"{workload.name}, bmv2", partial(measure_bmv2, workload, seconds)))
        plan += [(f"{workload.name}, {engine}", partial(measure, workload, engine, seconds)) for engine in ENGINES]
    switches = [*(["bmv2"] if bmv2 else []), *ENGINES] if veth else []
    for workload in sorted(workloads, key=lambda w: not w.repeatable):  # what takes long to set up comes last
        plan += [(f"{workload.name}, {s}, veth", partial(measure_veth, workload, s, seconds)) for s in switches]
    return plan
