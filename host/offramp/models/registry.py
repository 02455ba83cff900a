# SPDX-License-Identifier: Apache-2.0
"""Models by name; each consists of layers over views of a graph (:mod:`offramp.models.view`).

Names are known without importing PyTorch: models, Offramp's own included, are entry points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from offramp_base.registry import Registry
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.models.base import Model

MODELS: Final[Registry[type[Model]]] = Registry("model", "offramp.models")


class ModelSettings(Protocol):
    """The settings of a run that determine its model."""

    @property
    def model(self) -> str:
        """The model's name in :data:`MODELS`."""

    @property
    def aggregator(self) -> str:
        """The way in which gcn sums neighbours: one of :data:`~offramp.models.aggregation.AGGREGATORS`."""

    @property
    def heads(self) -> int:
        """Number of attention heads of gat."""

    @property
    def layers(self) -> int:
        """Number of layers, L."""

    @property
    def hidden(self) -> int:
        """Width of the hidden layers."""

    @property
    def dropout(self) -> float:
        """Probability that a hidden value is dropped between layers."""

    @property
    def seed(self) -> int:
        """Seed of weights and dropout."""


def model_widths(settings: ModelSettings, features: int, classes: int) -> list[int]:
    """Input features, hidden widths, classes.

    Models with a dense layer for class scores have one more hidden width.
    """
    return [features, *[settings.hidden] * (settings.layers - 1 + MODELS.get(settings.model).dense_readout), classes]


def make_model(settings: ModelSettings, widths: Sequence[int]) -> Model:
    """The model that ``settings`` name, initialised from their seed alone, so that it is equal on every worker."""
    return MODELS.get(settings.model).of(settings, widths)


def expect_model(settings: ModelSettings, trait: str) -> type[Model]:
    """The class of the model that ``settings`` name; checks the settings and that the model has a trait.

    Args:
        settings: settings of the run.
        trait: attribute of :class:`~offramp.models.base.Model` that must be set, ``sampled`` or ``pipelined``.

    Raises:
        SettingsError: names the field and what it takes.
    """
    model = MODELS.get(settings.model)
    if not getattr(model, trait):
        able = [name for name in MODELS.names() if getattr(MODELS.get(name), trait)]
        raise SettingsError("model", f"expected one of {', '.join(able)}", settings.model)
    model.check(settings)
    return model
