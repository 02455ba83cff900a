# SPDX-License-Identifier: Apache-2.0
"""Hermod's tables 5.2 and 5.5 and figures 5.3 and 5.6."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from offramp.hermod.dag import Coflow, Dag, Flows
from offramp.hermod.factors import CType, Factors
from offramp.hermod.job import named_job
from offramp.hermod.models import PRESETS
from offramp.hermod.sizes import sizes
from offramp_sim.figures.panels import Curves
from offramp_sim.hermod.flow.concurrency import concurrent
from offramp_sim.hermod.flow.fabric import BisectionFabric
from offramp_sim.hermod.flow.network import load
from offramp_sim.hermod.flow.simulate import simulate
from offramp_sim.hermod.flow.study import SimulationSetup, compare
from offramp_sim.reproduce.hermod.runs import NETWORK, ONE_LINK, RATES, simulated_job, text
from offramp_sim.reproduce.item import Evidence, PaperComparison, Reproduction, exact, reproduces, simulated

_MIXTRAL: Final = {"pp": 8, "tp": 8, "ep": 8}
"""Degrees of parallelism for 1,024 GPUs, as in table 5.5 for the larger Mixtral."""


@simulated(
    "hermod/table5.2",
    "One type of coflow first",
    seconds=4,
    options={name: values for name, values in RATES.items() if name != "routing"},
    sizes=(1.0,),
)
def table52(scale: float, seed: int, **job_is: Any) -> Reproduction:
    """Table 5.2: one type of coflow strictly above the rest."""
    del scale
    published = {"dp-first": 0.81, "pp-first": 1.29, "ep-first": 1.51}
    job = simulated_job("mixtral-8x7b", **_MIXTRAL, **job_is)
    panels, comparisons, data = [], [], {}
    for routing in ("ecmp", "spray"):
        outcomes = compare(job, ("fifo", "fair", *published, "hermod"), SimulationSetup(routing=routing, seed=seed))
        seconds = {name: outcome.iteration_s for name, outcome in outcomes.items()}
        data[routing] = seconds
        for base in ("fifo", "fair"):
            gains = [seconds[base] / seconds[name] for name in (*published, "hermod")]
            for name, ours in zip(published, gains, strict=False):
                what = f"{name} over {base}, {routing}"
                comparisons.append(PaperComparison(what, text(published[name]), text(ours)))
        lines = {
            f"over {base}": ([*published, "hermod"], [seconds[base] / seconds[n] for n in (*published, "hermod")])
            for base in ("fifo", "fair")
        }
        panels.append(Curves(routing, "", "speed-up", lines, bars=True))
    note = (
        f"{NETWORK}{ONE_LINK}The thesis does not say how its baseline shares the network. DP-first loses either "
        "way. PP and EP gain on the thesis's scale over FIFO, where the large ReduceScatters stand in front of "
        "them; over fair sharing there is little left to gain, as the smaller coflow finishes early anyway."
    )
    return Reproduction(comparisons, panels, {**job.as_json(), "seed": seed}, note, data)


@reproduces("hermod/table5.5", "Models and what they send", seconds=1, evidence=Evidence.RESTATED)
def table55(scale: float, seed: int) -> Reproduction:
    """Table 5.5: the models, and figures that follow from them."""
    del scale, seed
    comparisons = []
    rows = {name: sizes(named_job(name)) for name in PRESETS}
    public = {"mixtral-8x7b": "46.7 G", "gpt3-175b": "175 G", "gpt3-13b": "13 G"}
    for name, row in rows.items():
        preset = PRESETS[name]
        degrees = f"PP {preset.pp}, TP {preset.tp}, EP {preset.ep}"
        comparisons.append(PaperComparison(f"{name}: parameters", public.get(name), f"{row['parameters, G']:.1f} G"))
        comparisons.append(
            PaperComparison(f"{name}: degrees", degrees, f"PP {row['pp']}, TP {row['tp']}, EP {row['ep']}")
        )
    qwen = named_job("qwen-moe-12l")
    layers = qwen.model.layers // qwen.pp
    ep = layers * 4 * qwen.micro_batches * rows["qwen-moe-12l"]["EP leaving the GPU, MB"]
    pp = 2 * qwen.micro_batches * qwen.pp_bytes() / 1e6
    dp = layers * qwen.dense_parameters() * (qwen.gradient_bytes + 2) * (qwen.dp - 1) / qwen.dp / 1e6
    share = ep / (ep + pp + dp)
    comparisons.append(PaperComparison("qwen-moe-12l: EP's share of the traffic", "over 80 %", f"{100 * share:.0f} %"))
    messages = ("PP message, MB", "EP leaving the GPU, MB")
    lines = {message: (list(rows), [float(row[message]) for row in rows.values()]) for message in messages}
    panel = Curves("Messages of a GPU for a microbatch", "", "MB", lines, bars=True)
    note = (
        "Layers, experts, degrees, sequence and microbatch are the table's; hidden sizes, heads, widths and "
        "vocabularies are those of the models' cards, microbatches (8) and 64 routed experts for Qwen are choices."
    )
    return Reproduction(comparisons, [panel], {"micro_batches": 8}, note, rows)


@simulated(
    "hermod/fig5.3",
    "Coflows at a core switch",
    seconds=2,
    options={name: values for name, values in RATES.items() if name != "routing"},
    sizes=(1.0,),
)
def figure53(scale: float, seed: int, **job_is: Any) -> Reproduction:
    """Concurrent coflows at one core switch, with ECMP and with packet spraying."""
    job = simulated_job("mixtral-8x7b", **_MIXTRAL, **job_is)
    panels, means, data = {}, {}, {}
    for routing in ("ecmp", "spray"):
        outcome = compare(job, ("fair",), SimulationSetup(routing=routing, seed=seed))["fair"]
        when, count = concurrent(outcome, 200 if scale >= 1 else 50)
        panels[routing] = (list(np.round(when, 6)), [float(c) for c in count.mean(axis=1)])
        means[routing] = float(count.mean())
        data[routing] = {"mean": means[routing]}
    ratio = means["spray"] / means["ecmp"]
    comparisons = [
        PaperComparison("coflows at a core switch, spray over ECMP", "7.4\N{MULTIPLICATION SIGN}", text(ratio))
    ]
    comparisons += [PaperComparison(f"mean, {routing}", None, f"{mean:.1f}") for routing, mean in means.items()]
    panel = Curves("A core switch, mean of all", "seconds of an iteration", "concurrent coflows", panels)
    note = (
        f"{NETWORK}{ONE_LINK}Sampled at even times of an iteration; a coflow counts at every core switch that "
        "one of its unfinished flows between leaves crosses: all of them with spraying, the one of its path "
        "with ECMP. 16 servers are below a leaf: EP and the rings of a stage stay there and PP crosses, one "
        "pair each, so that the ratio is near the number of core switches that a flow could have taken. The "
        "thesis counts what waits in queues."
    )
    return Reproduction(comparisons, [panel], {**job.as_json(), "seed": seed}, note, data)


@exact("hermod/fig5.6", "Line rate or in proportion", seconds=1)
def figure56() -> Reproduction:
    """Line rate against rates in proportion to size, on two ports."""
    ends = {
        label: line_rate_example(granularity)
        for label, granularity in (("line rate", "flow"), ("in proportion", "coflow"))
    }
    names = ["EP", "PP", "DP"]
    comparisons = [
        PaperComparison(
            "line rate: PP ends with EP", "yes", "yes" if ends["line rate"][1] == ends["line rate"][0] else "no"
        ),
        PaperComparison("in proportion: all have ended at", "13/3", f"{max(ends['in proportion']):.3g}"),
        PaperComparison("in proportion: PP ends at", "later", f"{ends['in proportion'][1]:.4g}"),
    ]
    panel = Curves("Two ports", "", "end", {label: (names, list(row)) for label, row in ends.items()}, bars=True)
    note = (
        "EP sends 3 and 2 units from ports a and b from 0 on, PP 1 unit from b at 2, DP 1 unit from b from 0 on: the "
        "thesis's figure has other sizes, which its text does not give."
    )
    return Reproduction(comparisons, [panel], {"ports": 2}, note, {"ends": ends})


def line_rate_example(granularity: str) -> tuple[float, ...]:
    """Ends of EP, PP and DP (specification section 6)."""

    def flows(*rows: tuple[int, int, float]) -> Flows:
        source, sink, size = zip(*rows, strict=True)
        return Flows(np.array(source), np.array(sink), np.array(size, np.float64))

    tasks = [
        Coflow("dispatch", Factors(0, CType.EP, 0), 0, 0, flows((0, 2, 3.0), (1, 3, 2.0))),
        Coflow("activation", Factors(1, CType.PP, 0), 0, 0, flows((1, 3, 1.0)), [3]),
        Coflow("reduce-scatter", Factors(7, CType.DP, 0), 0, 0, flows((1, 3, 1.0))),
        Coflow("tensor", Factors(0, CType.TP, 0), 0, 0, flows((0, 0, 2.0))),  # two units of time
    ]
    ranks = np.arange(4)
    dag = Dag(list(tasks), 4, 1, 1, 1, 8, False)
    loaded = load(dag, BisectionFabric(ranks, ranks, 4, 1, 1.0), granularity=granularity, tensor_bytes_per_s=1.0)
    return tuple(np.round(simulate(loaded, "hermod", slack_s=0.0).end[:3], 9).tolist())
