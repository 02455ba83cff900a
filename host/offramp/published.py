# SPDX-License-Identifier: Apache-2.0
"""The papers' own values of options whose defaults here are others, with the reason; ``--as-published`` takes them.

>>> published("dgs")["fanout"]
(64, 64)
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple


class PublishedValue(NamedTuple):
    """A value of a paper that is not the default here.

    Attributes:
        option: attribute of the command's settings; its default there is ours.
        value: value of the paper.
        reason: reason why the default is another.
    """

    option: str
    value: Any
    reason: str


class PublishedDefaults(NamedTuple):
    """A system as its paper runs it.

    Attributes:
        command: command that takes the values, without ``offramp``.
        paper: where the paper has them.
        values: the values that differ from the command's defaults.
    """

    command: str
    paper: str
    values: tuple[PublishedValue, ...]


_FULL_GRAPH: Final = PublishedValue("propagator", "p2p", "a switch is the default transport")
_HIDDEN: Final = "64 for all full-graph systems alike"

PUBLISHED: Final = {
    "switchgnn": PublishedDefaults(
        "train",
        "sections 3 and 5",
        (
            PublishedValue("partition", "metis", "auto takes METIS where it is installed"),
            PublishedValue("lanes", "32", "wider aggregators send fewer headers"),
            PublishedValue("first_sums", "sent", "sums over input features never change"),
            PublishedValue("acks", True, "requests repair losses with fewer packets"),
            PublishedValue("layers", 4, "2 for all full-graph systems alike"),
            PublishedValue("hidden", 128, _HIDDEN),
        ),
    ),
    "g3": PublishedDefaults(
        "train",
        "sections 4.3, 4.4 and 4.6.1",
        (
            _FULL_GRAPH,
            PublishedValue("partition", "g3-literal", "algorithm 2 mostly ends in a cycle; g3 guards its swaps"),
            PublishedValue("schedule", "g3", "plain works through a switch as well"),
            PublishedValue("packing", "ready", "one set of bins has its blocks in memory once, not for each layer"),
            PublishedValue("hidden", 16, _HIDDEN),
        ),
    ),
    "bns-gcn": PublishedDefaults(
        "train",
        "G3's section 4.6.1: sampling ratio 1, a barrier at each layer",
        (
            _FULL_GRAPH,
            PublishedValue("partition", "metis", "auto takes METIS where it is installed"),
            PublishedValue("schedule", "sequential", "plain works through a switch as well"),
            PublishedValue("hidden", 16, _HIDDEN),
        ),
    ),
    "neutronstar": PublishedDefaults(
        "train",
        "G3's section 4.6.1",
        (
            _FULL_GRAPH,
            PublishedValue("partition", "chunk", "auto takes METIS's edge cut"),
            PublishedValue("schedule", "hybrid", "plain works through a switch as well"),
            PublishedValue("hidden", 16, _HIDDEN),
        ),
    ),
    "pipegcn": PublishedDefaults(
        "train",
        "Sylvie's section 3.6.1",
        (
            _FULL_GRAPH,
            PublishedValue("partition", "metis-volume", "auto takes METIS's edge cut"),
            PublishedValue("schedule", "stale", "plain works through a switch as well"),
            PublishedValue("bins", 1, "eight bins overlap as well"),
        ),
    ),
    "sar": PublishedDefaults(
        "train",
        "Sylvie's section 3.6.1, for models of sums",
        (
            _FULL_GRAPH,
            PublishedValue("partition", "metis", "auto takes METIS where it is installed"),
            PublishedValue("peers", "in-turn", "one all-to-all takes less time where its rows fit in memory"),
        ),
    ),
    "sylvie": PublishedDefaults(
        "train",
        "sections 3.4 to 3.6",
        (
            _FULL_GRAPH,
            PublishedValue("partition", "metis-volume", "auto takes METIS's edge cut"),
            PublishedValue("schedule", "adaptive", "plain works through a switch as well"),
            PublishedValue("codec", "sylvie", "a fixed number of bits costs fewer bytes at the same accuracy"),
            PublishedValue("ranking", "dense", "equal shares of the vertices cost fewer points"),
            PublishedValue("pool", "all", "a pair of workers ranks its own rows, as the public code does"),
            PublishedValue("layers", 4, "2 for all full-graph systems alike"),
            PublishedValue("hidden", 256, _HIDDEN),
        ),
    ),
    "dgs": PublishedDefaults(
        "train dgs",
        "sections 3.3 and 3.4",
        (
            PublishedValue("fanout", (64, 64), "a fan-out of 64 takes nearly all of a small graph"),
            PublishedValue("explain_scope", "pooled", "a pool for each class ranks planted importance better"),
            PublishedValue("explain_loss", "gnnexplainer", "planted ranks planted importance better"),
            PublishedValue("explain_stop", "loss", "the loss with regularisers never comes near 0.01"),
        ),
    ),
    "torchgt": PublishedDefaults(
        "train torchgt",
        "sections 4.3 and 4.4.1",
        (
            PublishedValue("interleave", "conditions", "full attention on long sequences does not fit in memory"),
            PublishedValue("clusters", 0, "8 clusters suit sequences of a few thousand tokens"),
            PublishedValue("block", 0, "blocks of 16 suit sequences of a few thousand tokens"),
            PublishedValue("workers", 8, "2 cores"),
        ),
    ),
    "unitg": PublishedDefaults(
        "train unitg",
        "sections 5.3.3, 5.3.7 and 5.4.1",
        (
            PublishedValue("exits", "value", "quartiles keep all exits in training"),
            PublishedValue("activations", "recomputed", "a forward pass more, and few layers hold little"),
            PublishedValue("stages", 4, "2 cores"),
            PublishedValue("layers", 112, "2 cores"),
            PublishedValue("hidden", 224, "2 cores"),
            PublishedValue("epochs", 1000, "2 cores"),
            PublishedValue("lm_layers", 12, "a small transformer trains from nothing"),
            PublishedValue("lm_width", 768, "a small transformer trains from nothing"),
            PublishedValue("lm_heads", 12, "a small transformer trains from nothing"),
        ),
    ),
    "tape": PublishedDefaults(
        "train unitg",
        "UniTG's section 5.4: texts first, on all layers; its three encodings need a large language model",
        (
            PublishedValue("mode", "sequential", "texts in bubbles take no time of their own"),
            PublishedValue("exits", "none", "quartiles save three eighths of the layers"),
            PublishedValue("microbatches", 1, "a pipeline needs one per stage"),
        ),
    ),
    "glem": PublishedDefaults(
        "train unitg",
        "Zhao et al. (ICLR 2023), section 4: the language model learns labels, then E- and M-steps in turn",
        (
            PublishedValue("mode", "glem", "texts in bubbles take no time of their own"),
            PublishedValue("rounds", 2, "one round has no pseudo-labels of the graph neural network"),
            PublishedValue("exits", "none", "quartiles save three eighths of the layers"),
            PublishedValue("microbatches", 1, "a pipeline needs one per stage"),
        ),
    ),
    "hermod": PublishedDefaults(
        "simulate hermod",
        "sections 5.4 and 5.5",
        (
            PublishedValue("queues", 8, "exact priorities bound what queues can do"),
            PublishedValue("all_to_all", "matched", "fluid all-to-alls favour no policy"),
        ),
    ),
    "leo": PublishedDefaults(
        "simulate leo",
        "section 6.4",
        (PublishedValue("policy", ("paper-literal", "greedy-intra", "greedy-e2e"), "lookahead is faster"),),
    ),
    "themis": PublishedDefaults(
        "simulate themis",
        "sections 4 and 5",
        (PublishedValue("scheduler", ("baseline", "themis+fifo", "themis+scf"), "balanced orders are ours"),),
    ),
    "dgtp": PublishedDefaults(
        "simulate dgtp",
        "section 5",
        (PublishedValue("method", "paper", "the portfolio ends with better placements"),),
    ),
}
"""Every system's published values, by its name."""


def published(system: str) -> dict[str, Any]:
    """The values of ``system``'s paper by option, for its class of settings.

    Raises:
        KeyError: no such system.
    """
    return {each.option: each.value for each in PUBLISHED[system].values}
