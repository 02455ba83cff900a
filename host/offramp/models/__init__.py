# SPDX-License-Identifier: Apache-2.0
"""Models by name; each is layers over views of a graph (:mod:`offramp.models.view`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp.models.base import MODELS, Inputs, Model, ModelSettings, Prepared

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "MODELS", "Inputs", "Model", "ModelSettings", "Prepared", "make_model", "model_widths", "pipelined", "sampled",
]  # fmt: skip


def pipelined() -> list[str]:
    """Names of the models whose layers stages of a pipeline may share."""
    return [name for name in MODELS.names() if MODELS.get(name).pipelined]


def sampled() -> list[str]:
    """Names of the models whose layers take sampled neighbourhoods."""
    return [name for name in MODELS.names() if MODELS.get(name).sampled]


def model_widths(settings: ModelSettings, features: int, classes: int) -> list[int]:
    """Input features, hidden widths, classes.

    Models with a dense layer for class scores have a hidden width more.
    """
    return [features, *[settings.hidden] * (settings.layers - 1 + MODELS.get(settings.model).dense_readout), classes]


def make_model(settings: ModelSettings, widths: Sequence[int]) -> Model:
    """The model that ``settings`` name, from their seed alone: equal on every worker."""
    return MODELS.get(settings.model).of(settings, widths)
