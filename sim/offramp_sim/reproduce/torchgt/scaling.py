# SPDX-License-Identifier: Apache-2.0
"""TorchGT over ranks: bytes on the wire and the longest sequences (section 4.4.3, figure 4.7)."""

from __future__ import annotations

from typing import Any

from offramp.torchgt.parallel import layer_bytes
from offramp.torchgt.settings import TorchGtSettings
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated


@simulated("torchgt/fig4.7", "Bytes and time against ranks", seconds=30, options={"degree": (10, 30)})
def figure47(scale: float, seed: int, *, degree: int = 10) -> Reproduction:
    """Bytes that a rank sends, as counted in runs, against the formula and an all-gather; and time of a step."""
    from offramp.torchgt.run import train

    vertices = max(256, round(4096 * scale) // 8 * 8)
    graph = f"sbm:n={vertices},k=10,degree={degree}"
    ranks = [1, 2, 4, 8]
    sent, seconds, comparisons = [], [], []
    for count in counted("ranks", ranks):
        settings = TorchGtSettings(graph, workers=count, attention="topology", global_token=False, epochs=3, seed=seed)
        result = train(settings)
        assert result is not None
        forward = (exchange.sent for exchange in result.exchanges[0] if not exchange.backward)
        sent.append(sum(forward) / settings.size.layers)
        seconds.append(min(epoch.seconds for epoch in result.epochs))
        formula = layer_bytes(result.tokens[0], settings.size.hidden, count)
        comparisons.append(
            PaperComparison(f"bytes a layer, rank and way, P={count}", f"{formula:,} (formula)", f"{sent[-1]:,.0f}")
        )
    golden = {2: 67.1, 4: 50.3, 8: 29.4, 16: 15.7}
    for count, megabytes in golden.items():
        ours = layer_bytes(256 * 1024, 64, count) / 1e6
        comparisons.append(PaperComparison(f"S=256K, d=64, P={count}", f"{megabytes} MB", f"{ours:.1f} MB"))
    gathered = [3 * vertices * 64 * 4 * (count - 1) / count for count in ranks]
    lines: dict[str, tuple[list[Any], list[float]]] = {
        "all-to-all, counted": (ranks, [b / 1e6 for b in sent]),
        "all-gather of Q, K and V": (ranks, [b / 1e6 for b in gathered]),
    }
    note = (
        f"{vertices:,} vertices, graphormer, topology, float32; all ranks are processes that share these cores: "
        "the time of a step says what sharing costs, not how ranks with cores of their own scale. With the sequence "
        "fixed, bytes of a rank fall as (P-1)/P², those of an all-gather rise."
    )
    panels = [
        Curves("A layer's forward", "ranks", "MB sent by a rank", lines),
        Curves("Step", "ranks", "seconds", {"here": (ranks, seconds)}),
    ]
    return Reproduction(comparisons, panels, {"graph": graph, "seed": seed}, note, {"sent": sent, "seconds": seconds})
