# SPDX-License-Identifier: Apache-2.0
"""State of a run of both models, to resume from: each stage writes its layers, all together the language model.

Layers have their names in the whole model, so that any number of stages resumes where it computes the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import torch

from offramp.train.parameter_arrays import Parameters, parameter_arrays
from offramp.train.stored_state import ArrayForm, RankArrays, foreign, form_of, read_state
from offramp.unitg.stage import StageModel
from offramp_base.settings.error import SettingsError
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.graph.data import Graph
    from offramp.unitg.job import UnitgJob
    from offramp.unitg.settings import UnitgSettings

LM: Final = "lm."
"""Before the names of the language model's arrays."""

_OF_A_RUN: Final = (
    "model", "layers", "hidden", "cut", "lr", "dropout", "dtype", "precision", "activations", "seed", "mode", "rounds",
)  # fmt: skip
_OF_TEXTS: Final = (
    "text", "encoder", "exits", "lm_layers", "lm_width", "lm_heads", "lm_length", "lm_batch", "lm_epochs", "lm_lr",
    "lm_pseudo", "gnn_pseudo", "epochs",
)  # fmt: skip
"""Settings that runs with a language model share; its embeddings arrive at shares of all epochs."""


@sendable
@dataclass(frozen=True)
class ResumedStage:
    """State from which one stage resumes.

    Attributes:
        epoch: the last completed epoch of the graph neural network.
        history: ``(epoch, 2)`` loss and seconds of each epoch.
        state: the stage's arrays, and those of the language model.
    """

    epoch: int
    history: npt.NDArray[np.float64]
    state: RankArrays


def facts_of(graph: Graph, settings: UnitgSettings, microbatches: int) -> dict[str, Any]:
    """Facts that must be equal for a run to resume from a checkpoint.

    Stages are the language model's data-parallel ranks: their number decides which texts a step learns from.
    """
    size = {"graph": graph.name, "vertices": graph.vertices, "edges": graph.edges, "features": graph.width}
    names = (*_OF_A_RUN, *(_OF_TEXTS if settings.has_text else ()))
    known = {**size, "microbatches": microbatches, **{name: getattr(settings, name) for name in names}}
    return known | {"stages": settings.stages} if settings.has_text else known


def progress_prefix(rank: int) -> str:
    """Before the names of one rank's progress in the language model."""
    return f"{LM}rank{rank}."


def resumed_stages(where: str, known: Mapping[str, Any], jobs: list[UnitgJob]) -> list[ResumedStage]:
    """The state of each stage of a checkpoint.

    Raises:
        OfframpError: it is none, or one of another run, or has as many epochs as this one.
    """
    settings = jobs[0].settings
    own = [_stage_forms(job) for job in jobs]
    alike = _text_forms(jobs[0])
    stored = read_state(where, known, {name: form for forms in (*own, alike) for name, form in forms.items()})
    if stored.epoch >= settings.all_epochs:
        raise SettingsError("resume", f"has {stored.epoch} epochs, expected {{epochs}} above that", where)
    _check_progress(where, jobs, stored.arrays)
    return [
        ResumedStage(
            stored.epoch, stored.history, RankArrays.of({name: stored.arrays[name] for name in (*forms, *alike)})
        )
        for forms in own
    ]


def _check_progress(where: str, jobs: list[UnitgJob], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Refuse numbers of steps, or of losses in one, that no language model has, or not all ranks alike."""
    corpus, most = jobs[0].corpus, jobs[0].steps * jobs[0].settings.rounds
    if corpus is None:
        return
    steps = set()
    for job in jobs:
        prefix = progress_prefix(job.place.stage)
        exits = arrays[f"{prefix}exits"]
        steps.add(int(arrays[f"{prefix}steps"][0]))
        if exits.min(initial=0) < 0 or exits.max(initial=0) > len(corpus.batches.groups):
            raise foreign(where, f": losses of {exits.min(initial=0)} to {exits.max(initial=0)} exits")
    if len(steps) > 1 or not 0 <= min(steps) <= most:
        raise foreign(where, f": {sorted(steps)} steps of the language model of {most}")


def _forms(prefix: str, parameters: Parameters) -> dict[str, ArrayForm]:
    return {name: form_of(array) for name, array in parameter_arrays(prefix, parameters, None).items()}


def _stage_forms(job: UnitgJob) -> dict[str, ArrayForm]:
    settings = job.settings
    model = settings.make_model(job.widths).to(getattr(torch, settings.dtype))
    forms = _forms("", StageModel(model, job.layers, spare=False).named)
    if job.corpus is None:
        return forms
    most, prefix = job.steps * settings.rounds, progress_prefix(job.place.stage)
    forms |= {
        f"{prefix}steps": ("int64", (1,)),
        f"{prefix}losses": ("float64", (most, 1 + len(job.corpus.batches.groups))),
        f"{prefix}exits": ("int64", (most,)),
    }
    if job.place.first:
        vertices, width = len(job.whole.ids), job.widths[0]
        forms |= {
            "embeddings": ("float32", (vertices, width)),
            "encoded": ("bool", (vertices,)),
            "inputs": (settings.dtype, (vertices, width)),
            "embedded": ("int64", (1,)),
        }
    return forms


def _text_forms(job: UnitgJob) -> dict[str, ArrayForm]:
    if job.corpus is None:
        return {}
    model = job.corpus.model(job.settings, job.widths[0], job.widths[-1])
    return _forms(LM, dict(model.named_parameters()))
