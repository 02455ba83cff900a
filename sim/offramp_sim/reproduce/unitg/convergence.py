# SPDX-License-Identifier: Apache-2.0
"""UniTG's convergence beside that of training on texts first (figure 5.12), on two stages on this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from offramp.graph.generate import generate
from offramp.unitg.run import train_unitg
from offramp.unitg.settings import UnitgSettings
from offramp.unitg.text import TOPICS, vertex_texts
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.item import Evidence, PaperComparison, Reproduction, measured

if TYPE_CHECKING:
    from offramp.unitg.results import UnitgResult

_SPLIT: Final = "0.3/0.2/0.5"


@measured(
    "unitg/fig5.12",
    "Convergence of UniTG and of texts first",
    seconds=45,
    options={"model": ("gcn", "revgcn"), "exits": ("centrality", "none"), "homophily": (0.5, 0.8), "epochs": (300, 60)},
)
def figure512(
    scale: float, seed: int, *, model: str = "gcn", exits: str = "centrality", homophily: float = 0.5, epochs: int = 300
) -> Reproduction:
    """Test accuracy over epochs: in bubbles, texts first, without texts, and with texts of other vertices."""
    n = max(160, round(600 * scale))
    graph = generate(f"sbm:n={n},k=5,homophily={homophily:g},degree=6,features=16", _SPLIT, seed)
    base = UnitgSettings(
        "sbm", text=TOPICS, stages=2, model=model, layers=2, hidden=32, epochs=max(10, round(epochs * min(1.0, scale))),
        exits=exits, lm_length=16, lm_width=32, lm_layers=4, lm_batch=32, lm_epochs=6, lm_lr=3e-3, seed=seed,
    )  # fmt: skip
    texts = vertex_texts(graph, TOPICS, base.lm_length, seed)
    others = np.random.default_rng(seed).permutation(n)
    results: dict[str, UnitgResult] = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "texts"
        path.write_text("".join(f"{texts[other]}\n" for other in others), encoding="utf-8")
        ways: dict[str, dict[str, Any]] = {
            "UniTG (in bubbles)": {"mode": "interleaved"},
            "texts first (TAPE's way)": {"mode": "sequential"},
            "no texts": {"mode": "alone"},
            "texts of other vertices": {"mode": "interleaved", "text": str(path)},
        }
        for name in counted("runs", list(ways)):
            result = train_unitg(graph, replace(base, **ways[name]))
            assert result is not None
            results[name] = result
    last = {name: 100 * result.epochs[-1].test_accuracy for name, result in results.items()}
    unitg, first, without, shuffled = last.values()
    published = "-1.08 (RevGCN, arxiv), -0.22 (RevGAT, arxiv)"
    comparisons = [
        PaperComparison("UniTG less texts first, points", published, f"{unitg - first:+.2f}", turns_at=0.0),
        PaperComparison("UniTG less no texts, points", None, f"{unitg - without:+.2f}", turns_at=0.0),
        PaperComparison("UniTG less texts of other vertices, points", None, f"{unitg - shuffled:+.2f}", turns_at=0.0),
        *(
            PaperComparison(f"{name}: seconds in all", None, f"{r.seconds:.1f}", Evidence.CONTEXT)
            for name, r in results.items()
        ),
    ]
    curves: dict[str, tuple[list[Any], list[float]]] = {
        name: ([e.epoch for e in result.epochs], [100 * e.test_accuracy for e in result.epochs])
        for name, result in results.items()
    }
    note = (
        "A stochastic block model whose features alone say little, texts drawn by class, a transformer that starts "
        "from nothing, two stages as processes. UniTG's embeddings come while the graph neural network trains, so its "
        "first epochs are those without texts. Texts of other vertices are the control: as much text, no signal. "
        "TAPE's explanations by a large language model are not here."
    )
    shown = {"vertices": n, "model": model, "epochs": base.epochs, "exits": exits, "seed": seed}
    return Reproduction(comparisons, [Curves("convergence", "epoch", "test accuracy, %", curves)], shown, note, last)
