# SPDX-License-Identifier: Apache-2.0
"""All settings that determine a TorchGT run; a run can be repeated from these alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from offramp.graph.settings import GROUP, SOURCES, GraphSettings
from offramp.torchgt.reformation import PLACEMENTS
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
    Precision,
    Resume,
)
from offramp_base.numerals import whole_number
from offramp_base.registry import Registry
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_base.wire.objects import sendable

ELEMENT: Final = {"float32": 4, "float64": 8}
"""Bytes of a number."""
AUTO: Final = "auto"
_BATCH: Final = 16
_FASTEST: Final = 1e30
_ATTENTION, _SEQUENCES = "Attention", "Sequences"
_SIZE: Final = f"expected a number of at least 1, or {AUTO}"
_SETS: Final = "molecules:count=200, families:count=100,nodes=400, pyg:CLASS/NAME, or OGB's folder"


TUNED: Final = 0
"""Number of clusters, or side length of a block, that the cache and a profile decide (:mod:`offramp.torchgt.cache`)."""


def parse_size(text: str) -> int:
    """A number of at least 1, or ``auto``.

    Raises:
        ValueError: something else.
    """
    size = TUNED if text == AUTO else whole_number(text)
    if size is None or (size < 1 and text != AUTO):
        raise ValueError(_SIZE)
    return size


class Transformer(NamedTuple):
    """A graph transformer: its size, and its encoding of positions.

    Attributes:
        biased: whether attention has a bias by distance and layers normalise first, as in Graphormer; otherwise
            positions are Laplacian eigenvectors, as in GT.
    """

    layers: int
    hidden: int
    heads: int
    biased: bool = True


TRANSFORMERS: Final[Registry[Transformer]] = Registry("graph transformer", "offramp.graph_transformers")
"""Graph transformers by name; an external package adds one as an entry point of this group."""
PAPER: Final = {
    "graphormer": Transformer(4, 64, 8),
    "graphormer-large": Transformer(12, 768, 32),
    "gt": Transformer(4, 128, 8, biased=False),
}
"""GPH_Slim, GPH_Large and GT with the sizes from table 4.4."""
for _name, _size in PAPER.items():
    TRANSFORMERS.register(_name)(_size)


@sendable
@dataclass(frozen=True)
class TorchGtSettings(GraphSettings):
    """Settings of a run.

    Workers share the tokens of a sequence, and the heads in attention. ``graph`` may be a set of graphs
    (:mod:`offramp.torchgt.graph_sets`, :mod:`offramp.torchgt.graph_files`). With ``interleave`` auto, full attention
    comes periodically in short sequences and is avoided by constructed edges in long ones. Weights are written to
    ``checkpoint`` at regular intervals and after the last epoch; a run resumes from ``resume``, step for step as if it
    had not ended.
    """

    graph: Annotated[
        str,
        Field(f"{SOURCES}, or a set of graphs: {_SETS}", group=GROUP),
    ] = "digits"
    workers: Annotated[int, Field("Ranks; they share tokens, and heads in attention", least=1, group=WORKERS)] = 2
    model: Annotated[str, Field("Graph transformer", choices=TRANSFORMERS.names, group=MODEL)] = "graphormer"
    layers: Annotated[int | None, Field("Layers; by default the model's, like the two below (table 4.4)", least=1)] = (
        None
    )
    hidden: Annotated[int | None, Field("Width of the layers", least=1)] = None
    heads: Annotated[int | None, Field("Attention heads; a multiple of workers", least=1)] = None
    attention: Annotated[
        str,
        Field(
            "Attention",
            choices={
                "topology": "",
                "interleaved": "with occasional full attention",
                "full": "",
                "reformed": "interleaved, sparse clusters as dense blocks",
            },
            group=_ATTENTION,
        ),
    ] = "reformed"
    interleave: Annotated[
        str,
        Field(
            "Full attention",
            choices={
                AUTO: "periodic up to 4096 vertices, else constructed",
                "periodic": "",
                "conditions": "if C1 to C3 fail",
                "constructed": "never; an added path satisfies C2",
                "never": "",
            },
        ),
    ] = AUTO
    period: Annotated[int, Field("Steps from one full step to the next, with periodic", least=1)] = 8
    evaluate: Annotated[
        str,
        Field(
            "Scores are measured with the attention of",
            choices={"pattern": "the steps between full ones", "full": "full attention"},
        ),
    ] = "pattern"
    beta: Annotated[str, Field("Clusters below this density become blocks: auto, or 0 to 1")] = AUTO
    clusters: Annotated[
        int, Field("Clusters of a sequence (k); auto: by the size of the L2 cache", parse=parse_size)
    ] = 8
    block: Annotated[int, Field("Side length of a dense block (d_b); auto: the fastest here", parse=parse_size)] = 16
    placement: Annotated[str, Field("Blocks within a cluster", choices=PLACEMENTS)] = "densest"
    sequence: Annotated[int | None, Field("Vertices in a sequence; all by default", least=1, group=_SEQUENCES)] = None
    graphs: Annotated[int | None, Field("Graphs of a set in a sequence; 16, or 1 if reformed, by default", least=1)] = (
        None
    )
    global_token: Annotated[bool, Field("A token to which all attend; always added for sets of graphs")] = True
    distance: Annotated[int, Field("Largest distance that Graphormer's bias distinguishes", least=1, group=MODEL)] = 1
    positions: Annotated[int, Field("Laplacian eigenvectors of GT", least=1)] = 8
    epochs: Annotated[int, Field("Passes over all sequences", least=1, group=TRAINING)] = 30
    lr: Annotated[float, Field("Peak learning rate of AdamW; it falls to 0", above=0, below=_FASTEST)] = 2e-3
    weight_decay: Annotated[float, Field("Weight decay of AdamW", least=0)] = 0.01
    dropout: Dropout = 0.0
    dtype: Dtype = "float32"
    device: Device = "cpu"
    precision: Precision = "dtype"
    compile: Compile = False
    wire: Annotated[
        str, Field("Numbers in all-to-alls", choices={"dtype": "", "bfloat16": "half of float32"}, group=WORKERS)
    ] = "dtype"
    checkpoint: Checkpoint = None
    checkpoint_every: CheckpointEvery = 10
    resume: Resume = None

    def __post_init__(self) -> None:
        """Refuse settings that cannot be run.

        Raises:
            SettingsError: names the field and what it takes.
        """
        super().__post_init__()
        if self.size.hidden % self.size.heads:
            raise SettingsError("hidden", f"expected a multiple of {{heads}} {self.size.heads}", self.size.hidden)
        if self.size.heads % self.workers:
            raise SettingsError("heads", f"expected a multiple of {{workers}} {self.workers}", self.size.heads)
        if self.sequence is not None and self.sequence < self.workers:
            raise SettingsError("sequence", f"expected at least {{workers}} {self.workers}", self.sequence)
        if self.attention == "reformed" and self.batch > 1:
            raise SettingsError("graphs", "with {attention} reformed blocks would join graphs, expected 1", self.graphs)
        for field in ("clusters", "block"):
            if getattr(self, field) < TUNED:
                raise SettingsError(field, _SIZE, getattr(self, field))
        _ = self.fixed_beta

    @property
    def size(self) -> Transformer:
        """The model, with the requested layers, hidden width and heads."""
        usual = TRANSFORMERS.get(self.model)
        return usual._replace(
            layers=self.layers or usual.layers, hidden=self.hidden or usual.hidden, heads=self.heads or usual.heads
        )

    @property
    def batch(self) -> int:
        """Number of graphs in a sequence."""
        return self.graphs or (1 if self.attention == "reformed" else _BATCH)

    @property
    def element(self) -> int:
        """Bytes of a number when it is sent."""
        return ELEMENT[self.dtype] if self.wire == "dtype" else 2

    @property
    def biased(self) -> bool:
        """Whether attention has a bias by distance, as in Graphormer."""
        return self.size.biased

    @property
    def interleaves(self) -> bool:
        """Whether full attention may be interleaved."""
        return self.attention in ("interleaved", "reformed")

    @property
    def fixed_beta(self) -> float | None:
        """The threshold; None if the tuner moves it.

        Raises:
            SettingsError: the value is neither ``auto`` nor a number from 0 to 1.
        """
        if self.beta == AUTO:
            return None
        try:
            value = float(self.beta)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise SettingsError("beta", f"expected {AUTO} or a density from 0 to 1", self.beta)
        return value

    def as_dict(self) -> dict[str, object]:
        """Field names and values, with the model's size."""
        size = self.size
        return {**super().as_dict(), "layers": size.layers, "hidden": size.hidden, "heads": size.heads}
