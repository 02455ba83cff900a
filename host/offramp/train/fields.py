# SPDX-License-Identifier: Apache-2.0
"""Settings fields that several training systems share."""

from __future__ import annotations

from typing import Annotated, Final

from offramp.graph.partition import methods
from offramp_base.settings.field import Field
from offramp_base.settings.units import BITS_PER_SECOND

MODEL: Final = "Model"
TRAINING: Final = "Training"
WORKERS: Final = "Workers"
DTYPES: Final = ("float32", "float64")

Workers = Annotated[int, Field("Worker processes; torchrun starts its own", least=1, group=WORKERS)]
Hidden = Annotated[int, Field("Width of the hidden layers", least=1)]
Heads = Annotated[int, Field("Attention heads (gat)", least=1)]
LearningRate = Annotated[float, Field("Learning rate of Adam", above=0)]
Dropout = Annotated[float, Field("Dropout between layers", least=0, below=1)]
Device = Annotated[
    str, Field("Device on which models compute", choices={"cpu": "", "cuda": "GPUs, which ranks take in turn"})
]
Precision = Annotated[
    str, Field("Matrix products", choices={"dtype": "", "bfloat16": "in mixed precision: weights are unchanged"})
]
Compile = Annotated[bool, Field("Compile dense layers with torch.compile")]
Dtype = Annotated[str, Field("Type of the numbers", choices=DTYPES)]
Link = Annotated[
    float | None, Field("Emulate network cards of this rate: 100M, 10G", key="link", unit=BITS_PER_SECOND, above=0)
]
CHECKPOINTS: Final = "Checkpoints"
Checkpoint = Annotated[
    str | None,
    Field(
        "Write weights to this .npz file or, each rank its part, to this URL: s3://BUCKET/RUN",
        written=True,
        url=True,
        group=CHECKPOINTS,
    ),
]
CheckpointEvery = Annotated[int, Field("Epochs between checkpoints", least=1)]
Resume = Annotated[str | None, Field("Resume from the checkpoint in this file or at this URL")]
Partition = Annotated[str, Field("Assignment of vertices to workers", choices=methods)]
