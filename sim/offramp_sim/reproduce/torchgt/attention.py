# SPDX-License-Identifier: Apache-2.0
"""TorchGT's attention by itself: table 4.2, figures 4.5 and 4.11."""

from __future__ import annotations

from typing import Final

from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.item import PaperComparison, Reproduction, measured
from offramp_sim.torchgt.measure import AttentionCase, AttentionCost, measure, slope

_NOTE: Final = (
    "One attention (forward and backward), 64 columns in 8 heads, float32, one core; processor seconds, so that other "
    "load matters less. Every case runs in a process of its own. Graphs: communities of 128 vertices, mean degree "
    "10 unless a referee changes it, nine edges of ten inside."
)
_PUBLISHED_BACKWARD: Final = {"64K": 76.5, "128K": 62.0, "256K": 49.8, "512K": 33.2}
"""Backward time of topology attention over that of its dense counterpart, by tokens (quotients of table 4.2)."""
_SECONDS: Final = "seconds of one core"


@measured("torchgt/table4.2", "Topology against dense blocks, backward", seconds=3, options={"degree": (10, 50)})
def table42(scale: float, seed: int, *, degree: int = 10) -> Reproduction:
    """Backward time of topology attention against as many pairs in dense blocks, and the effect of token order."""
    sizes = [_base(4096, scale) << i for i in range(4)]
    kinds = ("topology", "shuffled", "blocks")
    table = {
        kind: [measure(AttentionCase(kind, tokens, degree, seed=seed)) for tokens in counted(kind, sizes)]
        for kind in kinds
    }
    comparisons = []
    for i, (tokens, (name, published)) in enumerate(zip(sizes, _PUBLISHED_BACKWARD.items(), strict=True)):
        times = {kind: table[kind][i].backward_s for kind in kinds}
        ours = f"{times['topology'] / times['blocks']:.2f} (S={tokens:,})"
        comparisons.append(PaperComparison(f"topology over dense, backward, S={name}", f"{published}", ours))
    for i, tokens in enumerate(sizes):
        ratio = table["shuffled"][i].backward_s / table["topology"][i].backward_s
        comparisons.append(PaperComparison(f"shuffled over clustered, S={tokens:,}", None, f"{ratio:.2f}"))
    lines = {kind: (sizes, [cost.backward_s for cost in costs]) for kind, costs in table.items()}
    note = (
        f"{_NOTE} Blocks are 16 x 16, with as many pairs as the topology. On a GPU scattered pairs cost 33 to 77 times "
        "what dense ones do, as every pair fetches its own rows; a core's caches hide most of that."
    )
    panels = [Curves("Backward", "tokens", _SECONDS, lines, log=True)]
    return Reproduction(comparisons, panels, {"scale": scale, "seed": seed, "sizes": sizes}, note, _data(table, sizes))


@measured(
    "torchgt/fig4.11",
    "Time and memory of attention against length",
    seconds=60,
    options={"degree": (10, 50)},
    sizes=(0.5, 1.0),
)
def figure411(scale: float, seed: int, *, degree: int = 10) -> Reproduction:
    """Time and memory of attention against sequence length and hidden width."""
    doublings = {"dense": range(1, 5), "biased": range(3), "topology": range(2, 7), "blocks": range(2, 7)}
    sizes = {kind: [_base(512, scale) << i for i in steps] for kind, steps in doublings.items()}
    table: dict[str, list[AttentionCost]] = {}
    for kind, grid in sizes.items():
        repeat = 1 if kind in ("dense", "biased") else 3
        table[kind] = [
            measure(AttentionCase(kind, tokens, degree, repeat=repeat, seed=seed)) for tokens in counted(kind, grid)
        ]
    names = {
        "dense": "full attention, fused (GP-Flash)",
        "biased": "full attention with bias (GP-Raw)",
        "topology": "topology",
        "blocks": "dense blocks (reformed)",
    }
    comparisons = []
    for kind, name in names.items():
        published = "2" if kind in ("dense", "biased") else "1"
        time = slope(sizes[kind], [cost.seconds for cost in table[kind]])
        memory = slope(sizes[kind], [max(1, cost.peak_bytes) for cost in table[kind]])
        comparisons += [
            PaperComparison(f"{name}: exponent of time", published, f"{time:.2f}"),
            PaperComparison(f"{name}: exponent of memory", None, f"{memory:.2f}"),
        ]
    comparisons += _gains(sizes, table)
    widths = [64, 128, 256]
    at = sizes["dense"][2]
    wide = {
        kind: [
            measure(AttentionCase(kind, at, degree, width=w, repeat=1, seed=seed)).seconds
            for w in counted(f"{kind}, widths", widths)
        ]
        for kind in ("dense", "topology", "blocks")
    }
    panels = [
        Curves(
            "Time", "tokens", _SECONDS, {names[k]: (sizes[k], [c.seconds for c in table[k]]) for k in names}, log=True
        ),
        Curves(
            "Peak memory",
            "tokens",
            "MB",
            {names[k]: (sizes[k], [c.peak_bytes / 1e6 for c in table[k]]) for k in names},
            log=True,
        ),
        Curves(f"Width, {at:,} tokens", "columns", _SECONDS, {names[k]: (widths, ys) for k, ys in wide.items()}),
    ]
    note = (
        f"{_NOTE} Exponents are slopes of log against log over all sizes of this run. Memory is the peak beyond "
        "queries, keys, values and pattern. The fused kernel keeps no scores, so its memory is linear too; it takes no "
        "bias such as Graphormer's. Published exponents are the complexities that the thesis states."
    )
    data = {kind: _data({kind: costs}, sizes[kind]) for kind, costs in table.items()}
    return Reproduction(
        comparisons, panels, {"scale": scale, "seed": seed, "sizes": sizes}, note, {**data, "width": wide}
    )


def _gains(sizes: dict[str, list[int]], table: dict[str, list[AttentionCost]]) -> list[PaperComparison]:
    """Time of full attention as a multiple of ours, at every length at which it was measured."""
    comparisons = []
    for tokens in (tokens for tokens in sizes["dense"] if tokens in sizes["topology"]):
        full, sparse, blocks = (
            table[kind][sizes[kind].index(tokens)].seconds for kind in ("dense", "topology", "blocks")
        )
        comparisons.append(PaperComparison(f"full over topology, S={tokens:,}", None, f"{full / sparse:.1f}"))
        comparisons.append(PaperComparison(f"full over blocks, S={tokens:,}", None, f"{full / blocks:.1f}"))
    longest = table["dense"][-1].seconds / table["blocks"][sizes["blocks"].index(sizes["dense"][-1])].seconds
    ours = f"{longest:.1f} (S={sizes['dense'][-1]:,})"
    return [
        *comparisons,
        PaperComparison("largest gain over full attention", "103.4 (S=512K, GPU)", ours, turns_at=1.0),
    ]


@measured(
    "torchgt/fig4.5",
    "Throughput against the side of a block",
    seconds=3,
    options={"degree": (10, 50), "width": (64, 256)},
)
def figure45(scale: float, seed: int, *, degree: int = 10, width: int = 64) -> Reproduction:
    """Throughput of attention over equally many pairs in blocks of every size."""
    tokens = _base(16384, scale)
    sides = [2, 4, 8, 16, 32, 64]
    costs = [
        measure(AttentionCase("blocks", tokens, degree, width=width, block=side, seed=seed))
        for side in counted("sides of blocks", sides)
    ]
    rates = [cost.pairs / cost.seconds for cost in costs]
    relative = [rate / rates[0] for rate in rates]
    best = sides[relative.index(max(relative))]
    comparisons = [
        PaperComparison("best side of a block", "16 (RTX 3090, d=64)", str(best)),
        *(
            PaperComparison(f"pairs per second, side {side} over side 2", None, f"{r:.1f}")
            for side, r in zip(sides, relative, strict=True)
        ),
    ]
    note = f"{_NOTE} {tokens:,} tokens. On a GPU large blocks leave compute units idle; a core has none to leave idle."
    panels = [Curves("Throughput against d_b", "side of a block", "relative to side 2", {"here": (sides, relative)})]
    return Reproduction(comparisons, panels, {"scale": scale, "seed": seed, "tokens": tokens}, note, {"rates": rates})


def _base(tokens: int, scale: float) -> int:
    """A length that is divisible by clusters and blocks."""
    return max(256, round(tokens * scale) // 256 * 256)


def _data(table: dict[str, list[AttentionCost]], sizes: list[int]) -> dict[str, object]:
    return {
        kind: [
            {
                "tokens": t,
                "pairs": c.pairs,
                "forward_s": c.forward_s,
                "backward_s": c.backward_s,
                "peak_bytes": c.peak_bytes,
            }
            for t, c in zip(sizes, costs, strict=True)
        ]
        for kind, costs in table.items()
    }
