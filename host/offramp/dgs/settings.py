# SPDX-License-Identifier: Apache-2.0
"""Everything that decides a run of mini-batch training; a run can be repeated from these alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from offramp.dgs.picks import ALL
from offramp.graph.partition import METHODS
from offramp_base.errors import OfframpError
from offramp_base.wire.objects import sendable

SAMPLERS: Final = ("dgs", "random", "fastgcn", "ladies", "clustergcn", "full")
MODELS: Final = ("sage", "gcn", "gat")
TOPOLOGIES: Final = ("owned", "replicated")
EXPLAIN: Final = ("inline", "beside")
SOURCES: Final = ("cache", "fetch")
SCOPES: Final = ("pooled", "classes")
FREE: Final = -1
"""The lag of masks that take effect whenever they are ready."""


@sendable
@dataclass(frozen=True)
class DgsSettings:
    """Settings of a run; defaults are the thesis's (section 3.4), the fan-out aside.

    ``graph``, ``split`` and ``partition`` are as for full-graph training. ``fanout`` has a number for each hop from the
    batch's vertices, so as many as there are layers; :data:`~offramp.dgs.picks.ALL` takes all neighbours.

    ``sampler`` dgs samples by masks, once they are there; without ``node_mask`` its nodes stay random. ``epsilon``
    moves this share of the fan-out from local to remote neighbours, back where negative; -1 takes local ones first.
    ``columns`` is how many features of remote vertices travel: up to 1 a share of them, above 1 a number; 0 is the
    default, 0.85 under dgs and all under the others. Under dgs they are those of greatest mask, else random ones, drawn
    anew every ``period`` batches (+RF).

    Every ``period`` batches masks are explained in ``explain_epochs`` steps at most, with learning rate ``explain_lr``,
    or until the divergence from the model's prediction is at most ``threshold``. They take effect ``lag`` batches
    later (by default at once inline, after a third of the period beside), and training waits for them then; with
    :data:`FREE` whenever they are ready. ``explain`` says whether a process beside the trainer makes them.
    ``explain_features`` are those that were received, or all that are missing are fetched. ``explain_scope`` pools all
    local vertices into one, or those of each class.

    With ``topology`` owned a worker has the edges of its own vertices and asks others for theirs; replicated, all have
    all. ``masks`` is a file of masks to begin with.
    """

    graph: str
    sampler: str = "dgs"
    workers: int = 4
    model: str = "sage"
    hidden: int = 16
    layers: int = 2
    heads: int = 1
    epochs: int = 30
    batch: int = 1024
    lr: float = 0.01
    dropout: float = 0.0
    fanout: tuple[int, ...] = (10, 10)
    epsilon: float = 0.1
    node_mask: bool = True
    columns: float = 0.0
    period: int = 30
    lag: int | None = None
    explain: str = "beside"
    explain_epochs: int = 50
    explain_lr: float = 0.1
    threshold: float = 0.01
    explain_features: str = "cache"
    explain_scope: str = "classes"
    topology: str = "owned"
    partition: str = "metis"
    split: str | None = None
    seed: int = 0
    masks: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be run.

        Raises:
            OfframpError: names the flag and what it takes.
        """
        if self.columns == 0:
            object.__setattr__(self, "columns", 0.85 if self.sampler == "dgs" else 1.0)
        for name, choices in (
            ("sampler", SAMPLERS),
            ("model", MODELS),
            ("topology", TOPOLOGIES),
            ("explain", EXPLAIN),
            ("explain_features", SOURCES),
            ("explain_scope", SCOPES),
            ("partition", METHODS),
        ):
            value = getattr(self, name)
            if value not in choices:
                raise OfframpError(f"{_flag(name)} {value}: expected one of {', '.join(choices)}")
        for name in ("workers", "hidden", "layers", "heads", "epochs", "batch", "period", "explain_epochs"):
            if getattr(self, name) < 1:
                raise OfframpError(f"{_flag(name)} {getattr(self, name)}: expected at least 1")
        for name in ("lr", "explain_lr"):
            if not getattr(self, name) > 0:
                raise OfframpError(f"{_flag(name)} {getattr(self, name):g}: expected a positive learning rate")
        if not 0 <= self.dropout < 1:
            raise OfframpError(f"--dropout {self.dropout:g}: expected at least 0 and below 1")
        if not self.threshold >= 0:
            raise OfframpError(f"--threshold {self.threshold:g}: expected at least 0")
        if self.model == "gat" and self.hidden % self.heads:
            raise OfframpError(f"--hidden {self.hidden}: expected a multiple of --heads {self.heads}")
        self._check_sampling()

    def _check_sampling(self) -> None:
        shown = ",".join(map(str, self.fanout))
        if len(self.fanout) != self.layers:
            raise OfframpError(f"--fanout {shown}: expected {self.layers} numbers, one a layer")
        if any(each < 1 and each != ALL for each in self.fanout):
            raise OfframpError(f"--fanout {shown}: expected numbers of at least 1, or all")
        if not -1 <= self.epsilon <= 1:
            raise OfframpError(f"--epsilon {self.epsilon:g}: expected -1 to 1, a share of the fan-out")
        if not self.columns > 0 or (self.columns > 1 and self.columns != int(self.columns)):
            raise OfframpError(
                f"--columns {self.columns:g}: expected a share of more than 0 and at most 1, or a number of features"
            )
        if self.columns < 1 and self.sampler == "full":
            raise OfframpError(f"--columns {self.columns:g}: not with --sampler full, which fetches everything")
        if self.lag is not None and self.lag != FREE and not 0 <= self.lag < self.period:
            raise OfframpError(f"--lag {self.lag}: expected 0 to {self.period - 1}, below --period, or free")
        if self.lag == FREE and self.explain == "inline":
            raise OfframpError("--lag free: goes with --explain beside only")
        for flag, other in (("--masks", self.masks is not None), ("--no-node-mask", not self.node_mask)):
            if other and self.sampler != "dgs":
                raise OfframpError(f"{flag}: goes with --sampler dgs only")
        if self.model == "gat" and self.sampler == "ladies":
            raise OfframpError("--sampler ladies: weighs neighbours, so not with --model gat")

    def chosen_columns(self, features: int) -> int:
        """How many of so many features travel: ``max(1, round(share * features))`` (specification section 7.2).

        Raises:
            OfframpError: more than there are.
        """
        count = max(1, round(self.columns * features)) if self.columns <= 1 else int(self.columns)
        if count > features:
            raise OfframpError(f"--columns {self.columns:g}: the graph has {features} features")
        return count

    @property
    def aggregator(self) -> str:
        """Of gcn: symmetric normalisation."""
        return "gcn"

    @property
    def batches_until_masks(self) -> int:
        """From the start of an explanation until its masks take effect; :data:`FREE` for whenever they are ready."""
        if self.lag is not None:
            return self.lag
        return 0 if self.explain == "inline" else self.period // 3

    @property
    def explains(self) -> bool:
        """Whether masks are made."""
        return self.sampler == "dgs" and (self.node_mask or self.columns != 1)

    def as_dict(self) -> dict[str, object]:
        """Field names and values."""
        return asdict(self) | {"fanout": list(self.fanout)}


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
