# SPDX-License-Identifier: Apache-2.0
"""The settings of a run of mini-batch training, which determine it completely: it can be repeated from them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Final

from offramp.dgs.rules import SAMPLERS, Rule
from offramp.dgs.sampling import ALL
from offramp.dgs.signals import SIGNALS
from offramp.graph.settings import GraphSettings
from offramp.models import MODELS, expect_model
from offramp.train.fields import (
    MODEL,
    TRAINING,
    Checkpoint,
    CheckpointEvery,
    Device,
    Dropout,
    Heads,
    Hidden,
    LearningRate,
    Partition,
    Precision,
    Resume,
    Workers,
)
from offramp_base.numerals import whole_number
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_base.wire.objects import sendable

FREE: Final = -1
"""The lag of masks that take effect whenever they are ready."""
_SAMPLING, _MASKS = "Sampling", "Masks"
_OF_THE_RUN_ALONE: Final = frozenset({"epochs", "device", "checkpoint", "checkpoint_every", "resume"})


def parse_fanout(text: str) -> tuple[int, ...]:
    """``10,5`` for two hops; ``all`` takes every neighbour.

    Raises:
        ValueError: something else.
    """
    numbers = [ALL if part.strip() == "all" else whole_number(part.strip()) for part in text.split(",")]
    known = tuple(number for number in numbers if number is not None)
    if len(known) < len(numbers):
        raise ValueError("expected numbers of at least 1, or all")
    return known


def parse_columns(text: str) -> float:
    """A share of the features up to 1, or a number of them.

    Raises:
        ValueError: something else.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not number > 0:
        raise ValueError(_COLUMNS)
    return number


_COLUMNS: Final = "expected a share of more than 0 and at most 1, or a number of features"


def parse_lag(text: str) -> int:
    """A number of batches, or ``free``.

    Raises:
        ValueError: something else.
    """
    lag = FREE if text == "free" else whole_number(text)
    if lag is None:
        raise ValueError("expected a number of batches, or free")
    return lag


@sendable
@dataclass(frozen=True)
class DgsSettings(GraphSettings):
    """Settings of a run; defaults are the thesis's (section 3.4), except for the fan-out.

    ``fanout`` has one number for each hop from the batch's vertices, that is for each layer, or one number for all
    hops; :data:`~offramp.dgs.sampling.ALL` takes all neighbours.

    With ``sampler`` dgs, neighbours are sampled by masks as soon as there are any; without ``node_mask`` they stay
    random. ``epsilon`` moves this share of the fan-out from local to remote neighbours, or back if it is negative; -1
    takes local ones first. ``columns`` is the part of the features of remote vertices that travels: up to 1 a share of
    them, above 1 a number; 0 is the default, 0.85 under dgs and all under other samplers. Under dgs they are those with
    the greatest mask, else random ones, drawn anew every ``period`` batches (+RF).

    Every ``period`` batches an explanation trains masks for at most ``explain_epochs`` steps with learning rate
    ``explain_lr``, or until the divergence from the model's prediction is at most ``threshold``. Masks take effect
    ``lag`` batches later (by default at once if they are made inline, after a third of the period if beside), and
    training waits for them then; with :data:`FREE` they take effect when they are ready. ``explain`` says whether the
    trainer makes them inline, or a process beside it. ``explain_features`` says whether an explanation uses the
    features that were received, or fetches all that are missing. ``explain_scope`` pools all local vertices into one,
    or into one for each class. ``explain_loss`` has its regularisers, and with ``explain_stop`` loss it ends only where
    the whole loss is at most ``threshold``. ``signal`` replaces the explanation's mask by another one, made from it.

    With ``topology`` owned a worker has the edges of its own vertices and asks others for theirs; with replicated every
    worker has all edges. ``masks`` is a file of masks to begin with.
    """

    sampler: Annotated[str, Field("Sampler", choices=SAMPLERS.names, group=_SAMPLING)] = "dgs"
    workers: Workers = 4
    partition: Partition = "metis"
    topology: Annotated[
        str, Field("Edges", choices={"owned": "others' are asked for", "replicated": "all workers have all"})
    ] = "owned"
    model: Annotated[str, Field("Graph neural network", choices=MODELS.names, group=MODEL)] = "sage"
    layers: Annotated[int, Field("Layers of the model: hops that are sampled", least=1)] = 2
    hidden: Hidden = 16
    heads: Heads = 1
    epochs: Annotated[int, Field("Passes over the training vertices", least=1, group=TRAINING)] = 30
    batch: Annotated[int, Field("Training vertices of a worker in a step", least=1)] = 1024
    lr: LearningRate = 0.01
    dropout: Dropout = 0.0
    device: Device = "cpu"
    precision: Precision = "dtype"
    fanout: Annotated[
        tuple[int, ...],
        Field(
            "Neighbours of a vertex at each hop: 10,10; one number for all hops; all",
            parse=parse_fanout,
            group=_SAMPLING,
        ),
    ] = (10,)
    epsilon: Annotated[
        float, Field("dgs: share of the fan-out moved to remote neighbours; -1: local ones first", least=-1, most=1)
    ] = 0.1
    node_mask: Annotated[bool, Field("dgs: sample remote neighbours by the node mask")] = True
    columns: Annotated[
        float,
        Field(
            "Features of remote vertices that travel: a share up to 1, or a number; dgs: those of greatest mask, "
            "others: random ones",
            parse=parse_columns,
            shown_default="dgs: 0.85, others: all",
        ),
    ] = 0.0
    period: Annotated[int, Field("Batches between explanations", least=1, group=_MASKS)] = 30
    lag: Annotated[
        int | None,
        Field("Batches until masks take effect: 0 to period - 1, or free: when they are ready", parse=parse_lag),
    ] = None
    explain: Annotated[str, Field("Where masks are made", choices={"beside": "a process of its own", "inline": ""})] = (
        "beside"
    )
    explain_epochs: Annotated[int, Field("Steps of an explanation", least=1)] = 50
    explain_lr: Annotated[float, Field("Learning rate of the masks", above=0)] = 0.1
    threshold: Annotated[float, Field("Divergence at which an explanation may stop", least=0)] = 0.01
    explain_features: Annotated[
        str, Field("Remote features to explain with", choices={"cache": "received ones", "fetch": "all; counted"})
    ] = "cache"
    explain_scope: Annotated[
        str,
        Field(
            "Local vertices are pooled into one", choices={"classes": "for each class", "pooled": "for all; the thesis"}
        ),
    ] = "classes"
    explain_loss: Annotated[
        str,
        Field(
            "Regularisers of an explanation's loss",
            choices={"planted": "rank planted importance best", "gnnexplainer": "of its public code; the thesis"},
        ),
    ] = "planted"
    explain_stop: Annotated[
        str,
        Field(
            "An explanation stops early",
            choices={"settled": "at the threshold if the loss falls no more", "loss": "by the loss; the thesis"},
        ),
    ] = "settled"
    signal: Annotated[str, Field("dgs: measure of importance", choices=SIGNALS)] = "explained"
    masks: Annotated[str | None, Field("dgs: start from the masks in this file")] = None
    checkpoint: Checkpoint = None
    checkpoint_every: CheckpointEvery = 10
    resume: Resume = None

    def __post_init__(self) -> None:
        """Refuse what cannot be run.

        Raises:
            SettingsError: names the field and what it takes.
        """
        if self.columns == 0:
            object.__setattr__(self, "columns", 0.85 if self.sampler == "dgs" else 1.0)
        super().__post_init__()
        if len(self.fanout) == 1:
            object.__setattr__(self, "fanout", self.fanout * self.layers)
        expect_model(self, "sampled")
        self._check_sampling()

    def _check_sampling(self) -> None:
        shown = ["all" if each == ALL else each for each in self.fanout]
        if len(self.fanout) != self.layers:
            raise SettingsError("fanout", f"expected {self.layers} numbers, one per layer", shown)
        if any(each < 1 and each != ALL for each in self.fanout):
            raise SettingsError("fanout", "expected numbers of at least 1, or all", shown)
        if not self.columns > 0 or (self.columns > 1 and self.columns != int(self.columns)):
            raise SettingsError("columns", _COLUMNS, self.columns)
        if self.columns < 1 and self.rule.complete:
            raise SettingsError(
                "columns", f"not with {{sampler}} {self.sampler}, which fetches everything", self.columns
            )
        if self.lag is not None and self.lag != FREE and not 0 <= self.lag < self.period:
            raise SettingsError("lag", f"expected 0 to {self.period - 1}, below {{period}}, or free", self.lag)
        if self.lag == FREE and self.explain == "inline":
            raise SettingsError("lag", "goes with {explain} beside only", "free")
        if not self.rule.masked:
            unlike = {"masks": self.masks, "node_mask": not self.node_mask, "signal": self.signal != "explained"}
            for field, is_set in unlike.items():
                if is_set:
                    raise SettingsError(field, "goes with {sampler} dgs only", getattr(self, field))
        if self.rule.weighs and not MODELS.get(self.model).by_sums:
            raise SettingsError("sampler", f"weighs neighbours, so not with {{model}} {self.model}", self.sampler)

    def chosen_columns(self, features: int) -> int:
        """Number of ``features`` columns that travel: ``max(1, round(share * features))`` (specification section 7.2).

        Raises:
            SettingsError: more are wanted than exist.
        """
        count = max(1, round(self.columns * features)) if self.columns <= 1 else int(self.columns)
        if count > features:
            raise SettingsError("columns", f"the graph has {features} features", self.columns)
        return count

    @property
    def rule(self) -> type[Rule]:
        """The rule by which the sampler draws neighbours."""
        return SAMPLERS.get(self.sampler)

    @property
    def aggregator(self) -> str:
        """The aggregator of gcn: symmetric normalisation."""
        return "gcn"

    @property
    def batches_until_masks(self) -> int:
        """Batches from the start of an explanation until its masks take effect; :data:`FREE`: when they are ready."""
        if self.lag is not None:
            return self.lag
        return 0 if self.explain == "inline" else self.period // 3

    @property
    def explains(self) -> bool:
        """Whether masks are made."""
        return self.rule.masked and (self.node_mask or self.columns != 1)

    @property
    def facts(self) -> dict[str, object]:
        """Settings that a checkpoint shares with the run that resumes from it."""
        return {name: value for name, value in self.as_dict().items() if name not in _OF_THE_RUN_ALONE} | {
            "dtype": "float32"
        }

    def as_dict(self) -> dict[str, object]:
        """Field names and values."""
        return asdict(self) | {"fanout": list(self.fanout)}
