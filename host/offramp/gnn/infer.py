# SPDX-License-Identifier: Apache-2.0
"""Scores and embeddings of all vertices, by weights in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from offramp.gnn.metrics import to_first
from offramp.gnn.module import distribute
from offramp.gnn.stored import open_store
from offramp.gnn.weights import load_weights, make_model, specified
from offramp_base.ending.files import written
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from offramp.gnn.settings import UseSettings
    from offramp.workers.group import Group


def predict_rank(group: Group, settings: UseSettings, report: Callable[[Any], None]) -> list[int]:
    """One rank's scores; rank 0 writes those of all and returns their shape."""
    return _use(group, settings, report, embed=False)


def embed_rank(group: Group, settings: UseSettings, report: Callable[[Any], None]) -> list[int]:
    """One rank's embeddings; rank 0 writes those of all and returns their shape."""
    return _use(group, settings, report, embed=True)


def _use(group: Group, settings: UseSettings, report: Callable[[Any], None], *, embed: bool) -> list[int]:  # noqa: ARG001
    part = open_store(settings.store)
    state, about = load_weights(settings.weights)
    spec = specified(about, state, settings.model)
    module = make_model(spec)
    try:
        module.load_state_dict(state)
    except RuntimeError as error:
        problem = " ".join(str(error).split())[:200]
        raise SettingsError("weights", f"are of another model: {problem}", settings.weights) from None
    model = distribute(module, part)
    model.eval()
    edges = [getattr(part, name) for name in spec.get("edge_fields", ())]
    with torch.no_grad(), _watched(module, settings.layer) as seen:
        rows = model(part.x, part.edge_index, *edges)
    if embed:
        rows = seen.get("rows", rows)
    ids, values = to_first(part.n_id, part.comm), to_first(rows.contiguous(), part.comm)
    if group.rank:
        return []
    out = np.empty((len(part.vertices[""].owner), *values.shape[1:]), values.numpy().dtype)
    out[ids.numpy()] = values.numpy()
    try:
        with written(Path(settings.out)) as file:
            np.save(file, out)
    except OSError as error:
        raise SettingsError("out", f"cannot be written: {error.strerror}", settings.out) from None
    return list(out.shape)


@contextmanager
def _watched(module: nn.Module, layer: str) -> Iterator[dict[str, torch.Tensor]]:
    """Captures, as ``rows``, the output of a layer, or by default the input of the last layer with parameters.

    Raises:
        OfframpError: the model has no such layer.
    """
    seen: dict[str, torch.Tensor] = {}
    layers = dict(module.named_modules())
    if layer and layer not in layers:
        names = ", ".join(name for name in layers if name)
        raise SettingsError("layer", f"expected one of {names[:300]}", layer)

    def after(_: nn.Module, __: Any, out: Any) -> None:
        if isinstance(out, torch.Tensor):
            seen["rows"] = out

    def before(_: nn.Module, args: Any) -> None:
        first = args[0] if args else None
        first = first[0] if isinstance(first, tuple) else first
        if isinstance(first, torch.Tensor):
            seen["rows"] = first

    if layer:
        handles = [layers[layer].register_forward_hook(after)]
    else:
        handles = [each.register_forward_pre_hook(before) for each in _outer(module)]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def _outer(module: nn.Module) -> list[nn.Module]:
    """Layers with parameters that no other layer is made of; those that pass messages are whole."""
    layers = []
    for child in module.children():
        if hasattr(child, "propagate") or (not list(child.children()) and list(child.parameters())):
            layers.append(child)
        else:
            layers += _outer(child)
    return layers
