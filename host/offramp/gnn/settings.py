# SPDX-License-Identifier: Apache-2.0
"""Everything that decides a training run, or a use of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from offramp.train.fields import CHECKPOINTS, CheckpointEvery, Device, Resume
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_base.settings.units import BYTES
from offramp_base.wire.objects import sendable

SCHEDULES: Final = {
    "constant": "",
    "cosine": "to 0 over all epochs",
    "step": "a tenth after each third",
    "plateau": "half after patience / 2 epochs that were no better",
}
NORMS: Final = ("none", "batch", "layer", "graph", "pair")
STALENESS: Final = ("sequential", "stale")
SWITCH_MEMORY: Final = 4_000_000
_MODEL, _TRAINING, _HALO = "Model", "Training", "Halo rows"


@sendable
@dataclass(frozen=True)
class GnnSettings:
    """A model on the parts of a store, one rank for each part."""

    store: Annotated[str, Field("The store that offramp graph partition wrote", position=True)]
    model: Annotated[
        str,
        Field(
            "gcn | sage | gat | gin (PyG's), or FILE.py:NAME, MODULE:NAME called with inputs and outputs", group=_MODEL
        ),
    ] = "sage"
    hidden: Annotated[int, Field("Width of the layers of PyG's models", least=1)] = 64
    layers: Annotated[int, Field("Layers of PyG's models", least=1)] = 2
    norm: Annotated[str, Field("Norm of PyG's models", choices=NORMS)] = "none"
    dropout: Annotated[float, Field("Dropout of PyG's models", least=0, below=1)] = 0.0
    edge_fields: Annotated[tuple[str, ...], Field("Fields of edges that the model takes after edge_index")] = ()
    epochs: Annotated[int, Field("Full-batch steps", least=1, group=_TRAINING)] = 100
    lr: Annotated[float, Field("Adam's learning rate", above=0)] = 0.01
    lr_schedule: Annotated[str, Field("Schedule of the learning rate", choices=SCHEDULES)] = "constant"
    weight_decay: Annotated[float, Field("Weight decay of AdamW", least=0)] = 0.0
    patience: Annotated[int, Field("Stop after this many epochs without a better validation; 0: never", least=0)] = 0
    metric: Annotated[str, Field("Metric by which weights are better", choices=("accuracy", "f1", "auc"))] = "accuracy"
    seed: Annotated[int, Field("Random seed", least=0)] = 0
    codec: Annotated[str, Field("fp32 | sylvie | q1 … q8", group=_HALO)] = "fp32"
    bits: Annotated[int | None, Field("Base width of sylvie")] = None
    staleness: Annotated[str, Field("Rows of this step, or of the one before", choices=STALENESS)] = "sequential"
    propagator: Annotated[
        str,
        Field("How rows travel", choices={"p2p": "from rank to rank", "switch": "through a P4 switch, each up once"}),
    ] = "p2p"
    memory: Annotated[int, Field("Aggregator memory of the switch: 4MB, 512KiB", least=1, unit=BYTES)] = SWITCH_MEMORY
    device: Device = "cpu"
    checkpoint: Annotated[
        str | None,
        Field(
            "Write the best weights here, a file or URL: .safetensors or .pt", written=True, url=True, group="Output"
        ),
    ] = None
    state: Annotated[
        str | None,
        Field(
            "Write what a run resumes from to this .npz file or, in PyTorch's format, to this URL: s3://BUCKET/RUN",
            written=True,
            url=True,
            group=CHECKPOINTS,
        ),
    ] = None
    state_every: CheckpointEvery = 10
    resume: Resume = None
    tensorboard: Annotated[
        str | None, Field("Folder of one run for TensorBoard's curves", written=True, metavar="FOLDER", group="Logs")
    ] = None
    wandb: Annotated[str | None, Field("Weights & Biases' project that the run is logged to", metavar="PROJECT")] = None
    timeout_s: Annotated[float, Field("Seconds that a rank may be stopped", above=0)] = 60.0

    def __post_init__(self) -> None:
        if self.propagator == "switch" and (self.codec != "fp32" or self.staleness != "sequential"):
            raise SettingsError("propagator", "goes with {codec} fp32 and {staleness} sequential only", "switch")
        for name in ("state", "resume"):  # rows of the step before are no part of what is written
            if getattr(self, name) is not None and self.staleness != "sequential":
                raise SettingsError(name, "goes with {staleness} sequential only", getattr(self, name))


@sendable
@dataclass(frozen=True)
class GnnJob:
    """One rank's part of a training run.

    Attributes:
        settings: settings of the run.
        address: address of the switch's P4Runtime server; empty: no switch takes part.
        ports: port of the switch and link of every rank, in rank order.
    """

    settings: GnnSettings
    address: str = ""
    ports: Sequence[tuple[int, str]] = ()


@sendable
@dataclass(frozen=True)
class UseSettings:
    """Weights on the parts of a store."""

    store: Annotated[str, Field("The store that offramp graph partition wrote", position=True)]
    weights: Annotated[str, Field("The weights that offramp gnn train wrote, a file or URL", position=True)]
    out: Annotated[str, Field("Write an array with one row for each vertex here (.npy)", written=True)]
    model: Annotated[str, Field("FILE.py:NAME or MODULE:NAME of the weights of your own model: code that is run")] = ""
    layer: Annotated[str, Field("embed: the module whose output it is; by default the last layer's input")] = ""
    timeout_s: Annotated[float, Field("Seconds that a rank may be stopped", above=0)] = 60.0
