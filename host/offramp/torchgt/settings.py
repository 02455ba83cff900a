# SPDX-License-Identifier: Apache-2.0
"""Everything that decides a TorchGT run; a run can be repeated from these alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final, NamedTuple

from offramp.torchgt.reformation import PLACEMENTS
from offramp_base.errors import OfframpError
from offramp_base.wire.objects import sendable

ATTENTIONS: Final = ("topology", "interleaved", "full", "reformed")
POLICIES: Final = ("auto", "periodic", "conditions", "constructed", "never")
EVALUATIONS: Final = ("pattern", "full")
ELEMENT: Final = {"float32": 4, "float64": 8}
"""Bytes of a number."""
WIRES: Final = ("dtype", "bfloat16")
AUTO: Final = "auto"
_BATCH: Final = 16
_FASTEST: Final = 1e30


class Size(NamedTuple):
    """A row of table 4.4."""

    layers: int
    hidden: int
    heads: int


MODELS: Final = {"graphormer": Size(4, 64, 8), "graphormer-large": Size(12, 768, 32), "gt": Size(4, 128, 8)}
"""GPH_Slim, GPH_Large and GT with the sizes of table 4.4."""


@sendable
@dataclass(frozen=True)
class TorchGtSettings:
    """Settings of a run.

    Attributes:
        graph, features, labels, split: as :func:`offramp.graph.load.load` takes them; or a set of graphs
            (:mod:`offramp.torchgt.graph_sets`).
        workers: ranks, each with a share of the tokens, and of the heads in attention.
        model: of :data:`MODELS`; ``layers``, ``hidden`` and ``heads`` change its size.
        attention: ``topology``; ``interleaved``, the same with full attention at times; ``full``; ``reformed``:
            interleaved, with sparse clusters as dense blocks.
        interleave: when ``interleaved`` and ``reformed`` use full attention: in every ``period``-th step, where the
            conditions C1 to C3 fail, or never, with edges added so that they hold (``constructed``) or not (``never``);
            ``auto``: ``periodic`` in short sequences, ``constructed`` in long ones.
        evaluate: ``pattern``: scores are those of the steps between periodic full ones; ``full``: of full attention.
        wire: type of the numbers in all-to-alls, ``bfloat16`` or that of the rest: queries, keys, values, what
            attention gives, and their gradients.
        beta: threshold of density: ``auto``, or a number from 0 to 1.
        clusters, block, placement: k, d_b, and which cells of a cluster become blocks.
        sequence: vertices in a sequence; None: all.
        graphs: in a sequence, for sets of graphs; None: 16, or 1 where blocks would join graphs.
        global_token: whether a token attends to all and is attended to by all; sets of graphs always have it.
        distance: Graphormer tells distances up to this apart.
        positions: Laplacian eigenvectors of GT.

    Raises:
        OfframpError: names the flag and what it takes.
    """

    graph: str
    features: str | None = None
    labels: str | None = None
    split: str | None = None
    workers: int = 2
    model: str = "graphormer"
    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    attention: str = "reformed"
    interleave: str = AUTO
    period: int = 8
    evaluate: str = "pattern"
    beta: str = AUTO
    clusters: int = 8
    block: int = 16
    placement: str = "densest"
    sequence: int | None = None
    graphs: int | None = None
    global_token: bool = True
    distance: int = 1
    positions: int = 8
    epochs: int = 30
    lr: float = 2e-3
    weight_decay: float = 0.01
    dropout: float = 0.0
    dtype: str = "float32"
    wire: str = "dtype"
    seed: int = 0

    def __post_init__(self) -> None:
        _one_of("--model", self.model, tuple(MODELS))
        _one_of("--attention", self.attention, ATTENTIONS)
        _one_of("--interleave", self.interleave, POLICIES)
        _one_of("--evaluate", self.evaluate, EVALUATIONS)
        _one_of("--placement", self.placement, PLACEMENTS)
        _one_of("--dtype", self.dtype, tuple(ELEMENT))
        _one_of("--wire", self.wire, WIRES)
        for name in ("workers", "period", "clusters", "block", "distance", "positions", "epochs"):
            _at_least_one(name, getattr(self, name))
        for name in ("layers", "hidden", "heads", "sequence", "graphs"):
            if getattr(self, name) is not None:
                _at_least_one(name, getattr(self, name))
        if self.size.hidden % self.size.heads:
            raise OfframpError(f"--hidden {self.size.hidden}: expected a multiple of --heads {self.size.heads}")
        if self.size.heads % self.workers:
            raise OfframpError(f"--heads {self.size.heads}: expected a multiple of --workers {self.workers}")
        if self.sequence is not None and self.sequence < self.workers:
            raise OfframpError(f"--sequence {self.sequence}: expected at least --workers {self.workers}")
        if self.attention == "reformed" and self.batch > 1:
            raise OfframpError(f"--graphs {self.graphs} --attention reformed: blocks would join graphs, expected 1")
        if not 0 < self.lr < _FASTEST:
            raise OfframpError(f"--lr {self.lr:g}: expected a positive learning rate")
        if not self.weight_decay >= 0:
            raise OfframpError(f"--weight-decay {self.weight_decay:g}: expected at least 0")
        if not 0 <= self.dropout < 1:
            raise OfframpError(f"--dropout {self.dropout:g}: expected at least 0 and below 1")
        _ = self.fixed_beta

    @property
    def size(self) -> Size:
        """Layers, hidden width and heads of the model."""
        usual = MODELS[self.model]
        return Size(self.layers or usual.layers, self.hidden or usual.hidden, self.heads or usual.heads)

    @property
    def batch(self) -> int:
        """Graphs in a sequence."""
        return self.graphs or (1 if self.attention == "reformed" else _BATCH)

    @property
    def element(self) -> int:
        """Bytes of a number that travels."""
        return ELEMENT[self.dtype] if self.wire == "dtype" else 2

    @property
    def biased(self) -> bool:
        """Whether attention has a bias by distance: Graphormer's."""
        return self.model != "gt"

    @property
    def interleaves(self) -> bool:
        """Whether full attention may come in between."""
        return self.attention in ("interleaved", "reformed")

    @property
    def fixed_beta(self) -> float | None:
        """The threshold; None where the tuner moves it.

        Raises:
            OfframpError: neither ``auto`` nor a number from 0 to 1.
        """
        if self.beta == AUTO:
            return None
        try:
            value = float(self.beta)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise OfframpError(f"--beta {self.beta}: expected {AUTO} or a density from 0 to 1")
        return value

    def as_dict(self) -> dict[str, object]:
        """Field names and values, with the model's size."""
        return {**asdict(self), **self.size._asdict()}


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise OfframpError(f"--{name} {value}: expected at least 1")


def _one_of(flag: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise OfframpError(f"{flag} {value}: expected one of {', '.join(choices)}")
