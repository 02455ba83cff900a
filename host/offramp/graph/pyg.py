# SPDX-License-Identifier: Apache-2.0
"""Data sets of PyTorch Geometric, where that package is installed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from offramp.graph.data import Graph, build_graph
from offramp.graph.split import Mask
from offramp_base.errors import OfframpError, first_line
from offramp_base.extras import needs
from offramp_base.private_folder import make_cache, user_cache

_MASKS = ("train_mask", "val_mask", "test_mask")


def read_pyg(spec: str, split: str | None, seed: int) -> Graph:
    """The first graph of ``pyg:CLASS`` or ``pyg:CLASS/NAME``, such as ``pyg:Planetoid/Cora``.

    It is downloaded by PyTorch Geometric into ``$XDG_CACHE_HOME/offramp/pyg`` unless it is there. The data
    set's own masks are the split unless ``split`` names a rule.

    Raises:
        OfframpError: torch_geometric or the data set is missing, or a vertex has several labels.
    """
    data = _asked(spec, lambda: open_pyg(spec)[0])
    labels = None if data.y is None else data.y.numpy()
    if labels is not None and labels.ndim != 1:
        raise OfframpError(f"{spec}: labels: expected one class per vertex, got shape {labels.shape}")
    u, v = data.edge_index.numpy()
    return build_graph(
        spec.removeprefix("pyg:").replace("/", "-"),
        int(data.num_nodes),
        (u, v),
        features=None if data.x is None else data.x.numpy(),
        labels=labels,
        split=split or _masks(data) or "planetoid",
        seed=seed,
    )


def open_pyg(spec: str) -> Any:
    """The data set ``pyg:CLASS`` or ``pyg:CLASS/NAME``; where :func:`read_pyg` has it.

    Raises:
        OfframpError: torch_geometric or the data set is missing.
    """
    try:
        from torch_geometric import datasets
    except ImportError:
        raise OfframpError(f"{spec}: {needs('torch_geometric')}") from None
    class_name, _, name = spec.removeprefix("pyg:").partition("/")
    dataset = getattr(datasets, class_name, None)
    if not inspect.isclass(dataset):
        raise OfframpError(f"{spec}: torch_geometric.datasets has no {class_name!r}; expected pyg:CLASS[/NAME]")
    parameters = inspect.signature(dataset.__init__).parameters
    arguments: dict[str, Any] = {}
    if "root" in parameters:
        folder = user_cache() / "offramp" / "pyg" / dataset.__name__
        make_cache(folder)  # PyTorch Geometric unpickles what lies there
        arguments["root"] = str(folder)
    if "name" in parameters:
        if not name:
            raise OfframpError(f"{spec}: expected the data set's name, as in {spec}/NAME")
        arguments["name"] = name
    return _asked(spec, lambda: dataset(**arguments))


def _asked(spec: str, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except OfframpError:
        raise
    except Exception as error:
        raise OfframpError(f"{spec}: torch_geometric cannot load it: {first_line(error)}") from error


def _masks(data: Any) -> tuple[Mask, Mask, Mask] | None:
    if not all(getattr(data, name, None) is not None and getattr(data, name).ndim == 1 for name in _MASKS):
        return None
    train, val, test = (getattr(data, name).numpy().astype(np.bool_) for name in _MASKS)
    return train, val, test
