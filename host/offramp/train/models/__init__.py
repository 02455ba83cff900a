"""Models by name; each is layers over views of a graph (:mod:`offramp.train.view`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp.train.models.base import Inputs, Model, Prepared
from offramp.train.models.dagnn import Dagnn
from offramp.train.models.gat import Gat
from offramp.train.models.gcn import Gcn
from offramp.train.models.gcnii import Gcnii
from offramp.train.models.jknet import JkNet
from offramp.train.models.sage import Sage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from offramp.train.settings import TrainSettings

__all__ = ["MODEL_CLASSES", "Inputs", "Model", "Prepared", "make_model", "model_widths"]

MODEL_CLASSES: Final[dict[str, type[Model]]] = {
    "gcn": Gcn,
    "sage": Sage,
    "gat": Gat,
    "gcnii": Gcnii,
    "jknet": JkNet,
    "dagnn": Dagnn,
}


def model_widths(settings: TrainSettings, features: int, classes: int) -> list[int]:
    """Input features, hidden widths, classes.

    The first three models make class scores in their last layer; the others have a dense layer of their own for it.
    """
    dense_readout = settings.model in {"gcnii", "jknet", "dagnn"}
    return [features, *[settings.hidden] * (settings.layers - 1 + dense_readout), classes]


def make_model(settings: TrainSettings, widths: Sequence[int]) -> Model:
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
