# SPDX-License-Identifier: Apache-2.0
"""UniTG by simulator: figures 5.8, 5.13 and 5.14, table 5.4."""

from __future__ import annotations

from typing import Final

from offramp.unitg.settings import UnitgSettings
from offramp.unitg.timetable import timetable
from offramp_sim.figures.panels import Curves, Panel
from offramp_sim.reproduce.item import Evidence, PaperComparison, Reproduction, exact, reproduces
from offramp_sim.unitg.engine import PipelineResult, simulate
from offramp_sim.unitg.picture import panel
from offramp_sim.unitg.scenario import COLOCATED, GATED, INTERLEAVED, POLICIES, SEQUENTIAL, UnitgScenario

MODULES: Final = 256
STAGES: Final = 4
VERTICES: Final = {"arxiv": 169_343, "products": 54_025, "pubmed": 19_717, "cora": 2_708}
SIZES: Final = {
    "revgcn": {"arxiv": (112, 224), "products": (112, 224), "pubmed": (448, 80), "cora": (448, 80)},
    "revgat": {"arxiv": (20, 256), "products": (20, 256), "pubmed": (40, 768), "cora": (40, 768)},
    "resgen": {"arxiv": (56, 128), "products": (56, 128), "pubmed": (112, 64), "cora": (112, 64)},
}
FEATURES: Final = {"arxiv": (128, 40), "products": (100, 47), "pubmed": (500, 3), "cora": (1433, 7)}
_SPEED: Final = "Devices are equal, a backward pass takes twice as long as a forward pass. "


@exact("unitg/fig5.8", "The language model in bubbles", seconds=5)
def figure58() -> Reproduction:
    """Four stages, four microbatches: effect of the language model's length on the makespan."""
    scenario = UnitgScenario(lm_modules=MODULES)
    table = scenario.undisturbed()
    shown = {policy: simulate(scenario, policy) for policy in POLICIES[:3]}
    windows = [sum(end - start for start, end in table.windows(stage)) for stage in range(STAGES)]
    ratios = [0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0]
    lines: dict[str, tuple[list[float], list[float]]] = {policy: (ratios, []) for policy in (*POLICIES[:3], "formula")}
    for ratio in ratios:
        setup = UnitgScenario(iterations=8, lm_steps=8, lm_step_s=ratio * table.busy(0), lm_modules=MODULES)
        for policy in POLICIES[:3]:
            lines[policy][1].append(simulate(setup, policy).makespan_s)
        lines["formula"][1].append(setup.predicted_s())
    sizes: dict[str, tuple[list[float], list[float]]] = {}
    for stages in (2, 4, 8):
        counts = [m for m in (1, 2, 4, 8, 16) if m <= 2 * stages]
        saved = []
        for m in counts:
            idle = timetable([1.0] * stages, [2.0] * stages, m)
            fits = 0.9 * (idle.makespan - idle.busy(0))
            setup = UnitgScenario(stages, m, 6, lm_steps=6, lm_step_s=fits, lm_modules=MODULES)
            spans = [simulate(setup, policy).makespan_s for policy in (SEQUENTIAL, INTERLEAVED)]
            saved.append(100 * (1 - spans[1] / spans[0]))
        sizes[f"{stages} stages"] = ([float(m) for m in counts], saved)
    panels: list[Panel] = [
        *(panel(f"{policy}: {o.makespan_s:.4g}", STAGES, o.bars, "forward passes") for policy, o in shown.items()),
        Curves("8 iterations", "a step of text over a stage's own work", "makespan, forward passes", lines),
        Curves("bubbles filled to 0.9", "microbatches", "time saved, %", sizes),
    ]
    comparisons = [
        PaperComparison("idle of every stage, of 21", "9 (specification)", ", ".join(f"{w:g}" for w in windows)),
        PaperComparison("bubble", "3/7 = 42.9 % (specification)", f"{100 * table.bubble():.1f} %"),
        PaperComparison("makespan, one after the other", None, f"{shown[SEQUENTIAL].makespan_s:.4g}"),
        PaperComparison("side by side", None, f"{shown[COLOCATED].makespan_s:.4g}"),
        PaperComparison("in bubbles", None, f"{shown[INTERLEAVED].makespan_s:.4g}"),
        PaperComparison("formula", None, f"{scenario.predicted_s():.4g}"),
    ]
    note = (
        f"{_SPEED}The thesis shows the figure without numbers. The formula T_GNN + max(0, W - I b) is met up to the "
        "bend (W = 0.75 of a stage's work); a step ends when all ranks had enough bubble, and these do not coincide."
    )
    return Reproduction(comparisons, panels, {"stages": STAGES, "microbatches": 4}, note, {"makespan": lines})


@exact(
    "unitg/fig5.13",
    "Use of bubbles, and what it costs",
    seconds=1,
    options={"link_gbps": (1.0, 0.1, 10.0), "text_s": (7.5, 3.75, 9.0), "gradient_mb": (150.0, 20.0, 400.0)},
)
def figure513(*, link_gbps: float = 1.0, text_s: float = 7.5, gradient_mb: float = 150.0) -> Reproduction:
    """Use of devices in bubbles and side by side; cost of the latter, and of a shared link, to the pipeline."""
    scenario = UnitgScenario(
        iterations=6, lm_steps=6, lm_step_s=text_s, lm_modules=MODULES,
        link_bps=1e9 * link_gbps, activation_bytes=40e6, gradient_bytes=1e6 * gradient_mb,
    )  # fmt: skip
    outcomes = {policy: simulate(scenario, policy) for policy in POLICIES}
    base = scenario.undisturbed().makespan
    slow = {policy: 100 * (sum(o.iteration_s) / len(o.iteration_s) / base - 1) for policy, o in outcomes.items()}
    used = {policy: 100 * _bubble_use(o, scenario) for policy, o in outcomes.items() if policy != SEQUENTIAL}
    comparisons = [
        PaperComparison("bubbles in use without text", "7 % (NCCL kernels)", "0 %"),
        PaperComparison("with text, in bubbles", "40 to 45 % (SM activity)", f"{used[INTERLEAVED]:.0f} %"),
        PaperComparison("the same behind the gate", None, f"{used[GATED]:.0f} %"),
        PaperComparison("pipeline slowed, side by side", "about 40 %", f"{slow[COLOCATED]:.0f} %"),
        PaperComparison("pipeline slowed, in bubbles", "no evident delay", f"{slow[INTERLEAVED]:.1f} %"),
        PaperComparison("pipeline slowed, behind the gate", None, f"{slow[GATED]:.1f} %"),
    ]
    policies = list(outcomes)
    panels: list[Panel] = [
        Curves(
            "Iteration of the pipeline", "", "slowed by, %", {"": (policies, [slow[p] for p in policies])}, bars=True
        ),
        panel("interleaved", STAGES, outcomes[INTERLEAVED].bars),
        panel("interleaved+gate", STAGES, outcomes[GATED].bars),
    ]
    note = (
        f"{_SPEED}{link_gbps:g} Gb/s, 40 MB between stages for each microbatch, {gradient_mb:g} MB of gradients, a "
        f"step of {text_s:g} s in 9 s of bubble: ours. A device in use is one that has something to do, not an "
        "SM's activity."
    )
    return Reproduction(
        comparisons, panels, {"policies": policies}, note, {"slowed_percent": slow, "used_percent": used}
    )


@exact("unitg/fig5.14", "Use of the second and third stage", seconds=1)
def figure514() -> Reproduction:
    """Activity of middle stages over time, with and without texts in their bubbles."""
    scenario = UnitgScenario(iterations=3, lm_steps=3, lm_step_s=7.5, lm_modules=MODULES)
    alone = UnitgScenario(iterations=3, lm_steps=0, lm_modules=MODULES)
    with_text, without = simulate(scenario, INTERLEAVED), simulate(alone, INTERLEAVED)
    table = scenario.undisturbed()
    comparisons = []
    for stage in (1, 2):
        idle = [end - start for start, end in table.windows(stage)]
        comparisons += [
            PaperComparison(f"stage {stage}: idle windows of an iteration, forward passes", "a long and a short bubble"
                       if stage == 1 else None, ", ".join(f"{length:g}" for length in idle)),
            PaperComparison(f"stage {stage}: bubbles in use", "about 40 % (SM activity)",
                       f"{100 * _bubble_use(with_text, scenario, stage):.0f} %"),
        ]  # fmt: skip
    slower = 100 * (with_text.iteration_s[1] / without.iteration_s[1] - 1)
    comparisons.append(PaperComparison("iteration, slowed by texts", "no evident delay", f"{slower:+.1f} %"))
    panels: list[Panel] = [
        panel("pipeline alone", STAGES, without.bars, "forward passes"),
        panel("with texts in bubbles", STAGES, with_text.bars, "forward passes"),
    ]
    note = (
        f"{_SPEED}A stage is in use while it has something to do; what share of a GPU's multiprocessors that keeps "
        "busy, which the figure shows, a simulator of devices does not know."
    )
    return Reproduction(comparisons, panels, {"stages": STAGES, "microbatches": 4}, note)


def _bubble_use(outcome: PipelineResult, scenario: UnitgScenario, stage: int | None = None) -> float:
    """Share of the idle time of a stage, or of all, in which the language model worked while the pipeline ran."""
    table = scenario.undisturbed()
    stages = range(scenario.stages) if stage is None else (stage,)
    whole = outcome.pipeline_s * len(stages)
    busy = scenario.iterations * sum(table.busy(s) for s in stages)
    bars = (b for b in outcome.bars if b.name == "language model" and b.stage in stages and b.end <= outcome.pipeline_s)
    return min(1.0, sum(b.end - b.start for b in bars) / (whole - busy))


@reproduces(
    "unitg/table5.4", "Models: weights, microbatches, bytes between stages", seconds=1, evidence=Evidence.RESTATED
)
def table54(scale: float, seed: int) -> Reproduction:
    """The models of tables 5.3 and 5.4: weights, microbatches, bytes between stages."""
    del scale
    comparisons, data = [], {}
    for model, sizes in SIZES.items():
        for graph, (layers, hidden) in sizes.items():
            settings = UnitgSettings(graph, model=model, layers=layers, hidden=hidden, stages=STAGES, seed=seed)
            weights = sum(p.numel() for p in settings.make_model(settings.widths(*FEATURES[graph])).parameters())
            sent = VERTICES[graph] * hidden * 4
            published = "151.7 MB (specification)" if (model, graph) == ("revgcn", "arxiv") else None
            count = settings.microbatches_of(VERTICES[graph])
            ours = f"{sent / 1e6:.1f} MB, {weights / 1e6:.2f} M weights, M = {count}"
            comparisons.append(PaperComparison(f"{model}, {graph}: {layers} layers of {hidden}", published, ours))
            data[f"{model}, {graph}"] = {"boundary_bytes": sent, "weights": weights, "microbatches": count}
    lines = {
        model: (list(sizes), [data[f"{model}, {graph}"]["boundary_bytes"] / 1e6 for graph in sizes])
        for model, sizes in SIZES.items()
    }
    panels = [Curves("Between two stages, each way", "", "MB an iteration", lines, bars=True)]
    note = (
        "Bytes between two stages, each way and iteration. Our reversible layers have one matrix each; the originals' "
        "have more. The auto scheduler's rule (16, 8, 4) never exceeds the four stages."
    )
    return Reproduction(comparisons, panels, {"stages": STAGES}, note, data)
