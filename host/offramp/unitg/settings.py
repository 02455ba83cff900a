# SPDX-License-Identifier: Apache-2.0
"""All settings that determine a UniTG run; a run can be repeated from these alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from offramp.graph.settings import GraphSettings
from offramp.models import MODELS, expect_model, make_model, model_widths
from offramp.train.fields import (
    MODEL,
    TRAINING,
    WORKERS,
    Checkpoint,
    CheckpointEvery,
    Compile,
    Device,
    Dropout,
    Dtype,
    Hidden,
    LearningRate,
    Link,
    Precision,
    Resume,
)
from offramp.unitg.schedule import automatic_microbatches, split_layers
from offramp.unitg.text import FEATURES
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.models.base import Model

INTERLEAVED, COLOCATED, SEQUENTIAL, GLEM, ALONE = "interleaved", "colocated", "sequential", "glem", "alone"
MODES: Final = (INTERLEAVED, COLOCATED, SEQUENTIAL, GLEM, ALONE)
"""The language model runs in bubbles; beside the pipeline at any time; before the pipeline; in turn with it, each with
the other's pseudo-labels; not at all."""
PSEUDO: Final = 0.5
"""Weight of pseudo-labels unless settings say otherwise."""
STORED, RECOMPUTED = "stored", "recomputed"
EXIT_RULES: Final = {
    "centrality": "quartiles of their vertices' degrees",
    "value": "equal bins of the degrees' values",
    "random": "",
    "none": "all at the end",
}
_LM = "Language model"
_MOST_LAYERS = 1024


@sendable
@dataclass(frozen=True)
class UnitgSettings(GraphSettings):
    """Settings of a run.

    ``text`` is an argument of :func:`offramp.unitg.text.vertex_texts`. If ``microbatches`` is None, the auto scheduler
    chooses. In modes in which the models train in turn, ``rounds`` says how often each does, for ``epochs`` and
    ``lm_epochs``. ``checkpoint`` gets both models at regular intervals and after the last epoch of the graph neural
    network. ``device_ms`` emulates an accelerator on which a stage's forward pass of a microbatch takes that long
    and a backward pass twice as long, ``lm_ms`` the same for a module of the language model.
    """

    text: Annotated[
        str,
        Field(
            "features (their names as words), topics (words drawn by class), or a file, one line per vertex", group=_LM
        ),
    ] = FEATURES
    stages: Annotated[
        int, Field("Stages of the pipeline, one process each; torchrun starts its own", least=1, group=WORKERS)
    ] = 2
    microbatches: Annotated[
        int | None, Field("Pieces of the graph, at most one per stage; by default the auto scheduler's choice", least=1)
    ] = None
    cut: Annotated[str, Field("How microbatches are made", choices=("affinity", "random"))] = "affinity"
    link_bps: Link = None
    device_ms: Annotated[
        float, Field("Emulate devices on which a stage's forward pass of a microbatch takes this long", least=0)
    ] = 0.0
    timeout_s: Annotated[float, Field("Seconds without messages until a process gives up", key="timeout", above=0)] = (
        120.0
    )
    model: Annotated[str, Field("Graph neural network", choices=MODELS.names, group=MODEL)] = "revgcn"
    layers: Annotated[int, Field("Layers of the graph neural network", least=2, most=_MOST_LAYERS)] = 8
    hidden: Hidden = 64
    activations: Annotated[
        str,
        Field(
            "Activations of reversible layers until their gradients",
            choices={STORED: "", RECOMPUTED: "from the state after a stage's last layer"},
        ),
    ] = STORED
    epochs: Annotated[int, Field("Full-batch steps", least=1, group=TRAINING)] = 60
    lr: LearningRate = 0.01
    dropout: Dropout = 0.0
    dtype: Dtype = "float32"
    device: Device = "cpu"
    precision: Precision = "dtype"
    compile: Compile = False
    mode: Annotated[
        str,
        Field(
            "The language model",
            choices={
                INTERLEAVED: "in bubbles",
                COLOCATED: "at any time",
                SEQUENTIAL: "first",
                GLEM: "first, then each model learns the other's pseudo-labels",
                ALONE: "none",
            },
            group=_LM,
        ),
    ] = INTERLEAVED
    rounds: Annotated[
        int, Field("Times that each model trains, in turn (modes sequential and glem), for its epochs", least=1)
    ] = 1
    lm_pseudo: Annotated[
        float, Field("Weight of GLEM's pseudo-labels in the language model's loss, alpha", least=0, most=1)
    ] = PSEUDO
    gnn_pseudo: Annotated[float, Field("The same in that of the graph neural network, beta", least=0, most=1)] = PSEUDO
    encoder: Annotated[
        str | None,
        Field(
            "Folder of a Hugging Face encoder and its tokenizer, in place of a model of lm_layers, lm_width, lm_heads"
        ),
    ] = None
    embeddings: Annotated[
        str | None, Field("Write the texts' embeddings here at the end, one row per vertex (.npy)", written=True)
    ] = None
    save_encoder: Annotated[str | None, Field("Write the fine-tuned encoder to this folder", filled=True)] = None
    exits: Annotated[
        str,
        Field("Exits at which texts leave the language model", choices=EXIT_RULES),
    ] = "centrality"
    lm_layers: Annotated[int, Field("Layers of the language model", least=1)] = 4
    lm_width: Annotated[int, Field("Width of its layers", least=1)] = 64
    lm_heads: Annotated[int, Field("Heads of its attention", least=1)] = 4
    lm_length: Annotated[int, Field("Maximum tokens of a text", least=2)] = 24
    lm_batch: Annotated[int, Field("Texts of each exit in a step, on each rank", least=1)] = 16
    lm_epochs: Annotated[int, Field("Passes over all texts", least=1)] = 3
    lm_lr: Annotated[float, Field("Learning rate of the language model", above=0)] = 1e-3
    lm_ms: Annotated[float, Field("The same of a module of the language model", least=0)] = 0.0
    checkpoint: Checkpoint = None
    checkpoint_every: CheckpointEvery = 10
    resume: Resume = None

    def __post_init__(self) -> None:
        """Refuse settings that cannot be run.

        Raises:
            SettingsError: names the field and what it takes.
        """
        super().__post_init__()
        split_layers(self.layers, self.stages)
        if self.microbatches is not None and self.microbatches > self.stages:
            problem = f"expected 1 to {self.stages}, the number of stages (M <= P)"
            raise SettingsError("microbatches", problem, self.microbatches)
        expect_model(self, "pipelined")
        if self.activations == RECOMPUTED and not MODELS.get(self.model).reversible:
            raise SettingsError("activations", "goes with {model} revgcn or revgat only", self.activations)
        if self.mode == ALONE:
            for field in ("encoder", "embeddings", "save_encoder"):
                if getattr(self, field) is not None:
                    raise SettingsError(field, "goes with a language model: another {mode}", getattr(self, field))
        if self.rounds > 1 and not self.in_turn:
            raise SettingsError("rounds", "goes with {mode} sequential or glem only", self.rounds)
        for field in ("lm_pseudo", "gnn_pseudo"):
            if getattr(self, field) != PSEUDO and self.mode != GLEM:
                raise SettingsError(field, "goes with {mode} glem only", getattr(self, field))
        if self.save_encoder is not None and self.encoder is None:
            raise SettingsError("save_encoder", "goes with {encoder} only", self.save_encoder)
        if self.lm_width % self.lm_heads:
            raise SettingsError("lm_heads", f"expected a divisor of {{lm_width}} {self.lm_width}", self.lm_heads)

    @property
    def aggregator(self) -> str:
        """The aggregator of gcn, that of its paper."""
        return "gcn"

    @property
    def heads(self) -> int:
        """Number of attention heads of gat."""
        return 1

    @property
    def in_turn(self) -> bool:
        """Whether one model waits while the other trains."""
        return self.mode in {SEQUENTIAL, GLEM}

    @property
    def all_epochs(self) -> int:
        """Epochs of the graph neural network in all rounds."""
        return self.epochs * self.rounds

    @property
    def has_text(self) -> bool:
        """Whether a language model takes part."""
        return self.mode != ALONE

    def microbatches_of(self, vertices: int) -> int:
        """The requested number, or the auto scheduler's choice.

        Raises:
            SettingsError: there are fewer vertices.
        """
        count = self.microbatches or min(vertices, automatic_microbatches(vertices, self.stages))
        if count > vertices:
            raise SettingsError("microbatches", f"expected up to {vertices}, the number of vertices", count)
        return count

    def widths(self, features: int, classes: int) -> list[int]:
        """Input features, hidden widths, classes."""
        return model_widths(self, features, classes)

    def make_model(self, widths: Sequence[int]) -> Model:
        """The graph neural network, initialised from the seed alone, so that it is equal on every stage."""
        return make_model(self, widths)
