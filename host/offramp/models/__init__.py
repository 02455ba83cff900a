# SPDX-License-Identifier: Apache-2.0
"""Models by name; each is layers over views of a graph (:mod:`offramp.models.view`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from offramp.models.base import Inputs, Model, Prepared
from offramp.models.dagnn import Dagnn
from offramp.models.gat import Gat
from offramp.models.gcn import Gcn
from offramp.models.gcnii import Gcnii
from offramp.models.jknet import JkNet
from offramp.models.sage import Sage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["MODEL_CLASSES", "Inputs", "Model", "ModelSettings", "Prepared", "make_model", "model_widths"]


class ModelSettings(Protocol):
    """What of a run's settings decides its model."""

    @property
    def model(self) -> str:
        """Name in :data:`MODEL_CLASSES`."""

    @property
    def aggregator(self) -> str:
        """Of gcn."""

    @property
    def heads(self) -> int:
        """Of gat."""

    @property
    def layers(self) -> int:
        """L."""

    @property
    def hidden(self) -> int:
        """Width of the hidden layers."""

    @property
    def dropout(self) -> float:
        """Between layers."""

    @property
    def seed(self) -> int:
        """Of weights and dropout."""


MODEL_CLASSES: Final[dict[str, type[Model]]] = {
    "gcn": Gcn,
    "sage": Sage,
    "gat": Gat,
    "gcnii": Gcnii,
    "jknet": JkNet,
    "dagnn": Dagnn,
}


def model_widths(settings: ModelSettings, features: int, classes: int) -> list[int]:
    """Input features, hidden widths, classes.

    The first three models make class scores in their last layer; the others have a dense layer of their own for it.
    """
    dense_readout = settings.model in {"gcnii", "jknet", "dagnn"}
    return [features, *[settings.hidden] * (settings.layers - 1 + dense_readout), classes]


def make_model(settings: ModelSettings, widths: Sequence[int]) -> Model:
    """The model that ``settings`` name, from their seed alone: equal on every worker."""
    kind: Callable[..., Model] = MODEL_CLASSES[settings.model]
    common = {"seed": settings.seed, "dropout": settings.dropout}
    match settings.model:
        case "gcn":
            return kind(widths, aggregator=settings.aggregator, **common)
        case "gat":
            return kind(widths, heads=settings.heads, **common)
        case _:
            return kind(widths, **common)
