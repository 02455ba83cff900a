# SPDX-License-Identifier: Apache-2.0
"""Everything that decides a run of UniTG; a run can be repeated from these alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from offramp.models.gat import Gat
from offramp.models.gcn import Gcn
from offramp.models.gcnii import Gcnii
from offramp.models.sage import Sage
from offramp.unitg.deep import GROUPS, ResGen, RevGat, RevGcn
from offramp.unitg.schedule import automatic_microbatches, split_layers
from offramp.unitg.text import FEATURES
from offramp_base.errors import OfframpError
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.models import Model

MODELS: Final[dict[str, Callable[..., Model]]] = {
    "gcn": Gcn,
    "sage": Sage,
    "gat": Gat,
    "gcnii": Gcnii,
    "revgcn": RevGcn,
    "revgat": RevGat,
    "resgen": ResGen,
}
_DENSE_READOUT: Final = frozenset({"gcnii", "revgcn", "revgat", "resgen"})
INTERLEAVED, COLOCATED, SEQUENTIAL, ALONE = "interleaved", "colocated", "sequential", "alone"
MODES: Final = (INTERLEAVED, COLOCATED, SEQUENTIAL, ALONE)
"""The language model in bubbles; beside the pipeline whenever it likes; before the pipeline begins; not at all."""
CUTS: Final = ("affinity", "random")
EXIT_RULES: Final = ("centrality", "random", "none")
_MOST_LAYERS = 1024


@sendable
@dataclass(frozen=True)
class UnitgSettings:
    """Settings of a run.

    ``graph``, ``features``, ``labels`` and ``split`` are as :func:`offramp.graph.load.load` takes them, ``text`` as
    :func:`offramp.unitg.text.vertex_texts`.

    ``microbatches`` None leaves them to the auto scheduler. ``lm_epochs`` are passes over all texts; ``lm_batch`` texts
    of each exit in a step, for each rank. ``link_bps`` emulates the stages' network cards; ``device_ms`` an accelerator
    on which a stage's forward pass of a microbatch takes that long and a backward pass twice as long, ``lm_ms`` the
    same for a module of the language model.
    """

    graph: str
    features: str | None = None
    labels: str | None = None
    split: str | None = None
    text: str = FEATURES
    stages: int = 2
    microbatches: int | None = None
    cut: str = "affinity"
    model: str = "revgcn"
    layers: int = 8
    hidden: int = 64
    epochs: int = 60
    lr: float = 0.01
    dropout: float = 0.0
    dtype: str = "float32"
    mode: str = INTERLEAVED
    exits: str = "centrality"
    lm_layers: int = 4
    lm_width: int = 64
    lm_heads: int = 4
    lm_length: int = 24
    lm_batch: int = 16
    lm_epochs: int = 3
    lm_lr: float = 1e-3
    link_bps: float | None = None
    device_ms: float = 0.0
    lm_ms: float = 0.0
    timeout_s: float = 120.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be run.

        Raises:
            OfframpError: names the flag and what it takes.
        """
        for flag, value, choice in (
            ("--model", self.model, MODELS),
            ("--mode", self.mode, MODES),
            ("--cut", self.cut, CUTS),
            ("--exits", self.exits, EXIT_RULES),
            ("--dtype", self.dtype, ("float32", "float64")),
        ):
            if value not in choice:
                raise OfframpError(f"{flag} {value}: expected one of {', '.join(choice)}")
        for flag, number, least in (
            ("--hidden", self.hidden, 1),
            ("--epochs", self.epochs, 1),
            ("--lm-layers", self.lm_layers, 1),
            ("--lm-width", self.lm_width, 1),
            ("--lm-heads", self.lm_heads, 1),
            ("--lm-length", self.lm_length, 2),
            ("--lm-batch", self.lm_batch, 1),
            ("--lm-epochs", self.lm_epochs, 1),
        ):
            if number < least:
                raise OfframpError(f"{flag} {number}: expected at least {least}")
        for flag, real in (("--lr", self.lr), ("--lm-lr", self.lm_lr), ("--timeout", self.timeout_s)):
            if not real > 0:
                raise OfframpError(f"{flag} {real:g}: expected more than 0")
        for flag, real in (("--device-ms", self.device_ms), ("--lm-ms", self.lm_ms)):
            if not real >= 0:
                raise OfframpError(f"{flag} {real:g}: expected at least 0")
        if not 0 <= self.dropout < 1:
            raise OfframpError(f"--dropout {self.dropout:g}: expected at least 0 and below 1")
        if not 2 <= self.layers <= _MOST_LAYERS:
            raise OfframpError(f"--layers {self.layers}: expected 2 to {_MOST_LAYERS}")
        split_layers(self.layers, self.stages)
        if self.microbatches is not None and not 1 <= self.microbatches <= self.stages:
            raise OfframpError(
                f"--microbatches {self.microbatches}: expected 1 to {self.stages}, the number of stages (M <= P)"
            )
        if self.model in {"revgcn", "revgat"} and self.hidden % GROUPS:
            raise OfframpError(f"--hidden {self.hidden}: expected an even number for --model {self.model}")
        if self.lm_width % self.lm_heads:
            raise OfframpError(f"--lm-heads {self.lm_heads}: expected a divisor of --lm-width {self.lm_width}")

    @property
    def has_text(self) -> bool:
        """Whether a language model takes part."""
        return self.mode != ALONE

    def microbatches_of(self, vertices: int) -> int:
        """The number that is asked for, or what the auto scheduler takes.

        Raises:
            OfframpError: more than vertices.
        """
        count = self.microbatches or min(vertices, automatic_microbatches(vertices, self.stages))
        if count > vertices:
            raise OfframpError(f"--microbatches {count}: expected up to {vertices}, the number of vertices")
        return count

    def widths(self, features: int, classes: int) -> list[int]:
        """Input features, hidden widths, classes."""
        return [features, *[self.hidden] * (self.layers - 1 + (self.model in _DENSE_READOUT)), classes]

    def make_model(self, widths: Sequence[int]) -> Model:
        """The graph neural network, from the seed alone: equal on every stage."""
        arguments: dict[str, Any] = {"seed": self.seed, "dropout": self.dropout}
        return MODELS[self.model](widths, **arguments)
