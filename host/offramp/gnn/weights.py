# SPDX-License-Identifier: Apache-2.0
"""Weights in files that others load: a ``state_dict`` by ``torch.save``, or safetensors.

Beside the weights a document of the same name and ``.json`` says what model they are of and how they were trained.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
from pathlib import Path
from typing import Any, Final

import torch
from torch import nn

from offramp.train.locations import read_place, write_place
from offramp_base.documents import parse_json
from offramp_base.errors import OfframpError, first_line
from offramp_base.extras import needs
from offramp_base.settings.error import SettingsError

SAFETENSORS: Final = ".safetensors"
_MOST: Final = 1 << 31
_MOST_DOCUMENT: Final = 16 << 20
BUILT_IN: Final = {"gcn": "GCN", "sage": "GraphSAGE", "gat": "GAT", "gin": "GIN"}
"""Models of ``torch_geometric.nn`` by the names that settings know."""


def make_model(spec: dict[str, Any]) -> nn.Module:
    """The model of a specification: ``model``, ``inputs``, ``outputs``, ``hidden``, ``layers``, ``dropout``, ``norm``.

    Names of :data:`BUILT_IN` are PyG's; ``MODULE:NAME`` or ``FILE.py:NAME`` is called with inputs and outputs.

    Raises:
        OfframpError: no such model, or a package is missing.
    """
    name = str(spec["model"])
    if name in BUILT_IN:
        try:
            from torch_geometric import nn as pyg
        except ImportError:
            raise SettingsError("model", needs("torch_geometric"), name) from None
        kind = getattr(pyg, BUILT_IN[name])
        options = {"dropout": spec["dropout"], "norm": spec["norm"]}
        model: nn.Module = kind(spec["inputs"], spec["hidden"], spec["layers"], spec["outputs"], **options)
        return model
    where, colon, attribute = name.rpartition(":")
    if not colon:
        raise SettingsError("model", f"expected {', '.join(BUILT_IN)}, MODULE:NAME or FILE.py:NAME", name)
    try:
        module = getattr(_module(where), attribute)(spec["inputs"], spec["outputs"])
    except (ImportError, AttributeError, OSError) as error:
        raise SettingsError("model", f"cannot be imported: {error}", name) from None
    if not isinstance(module, nn.Module):
        raise SettingsError("model", "expected a function of inputs and outputs that makes a torch.nn.Module", name)
    return module


def _module(where: str) -> Any:
    if not where.endswith(".py"):
        return importlib.import_module(where)
    spec = importlib.util.spec_from_file_location(Path(where).stem, where)
    if spec is None or spec.loader is None:
        raise ImportError(f"no module in {where}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def save_weights(where: str | Path, state: dict[str, torch.Tensor], about: dict[str, Any]) -> None:
    """Write a ``state_dict`` and what it is of, each in one step, to files or URLs.

    Raises:
        OfframpError: safetensors is missing, or a file cannot be written.
    """
    tensors = {name: value.detach().cpu().contiguous() for name, value in state.items()}
    if str(where).endswith(SAFETENSORS):
        content = bytes(_safetensors(where).save(tensors))
    else:
        buffer = io.BytesIO()
        torch.save(tensors, buffer)
        content = buffer.getvalue()
    write_place("checkpoint", where, content)
    write_place("checkpoint", f"{where}.json", (json.dumps(about, indent=1) + "\n").encode())


def load_weights(where: str | Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """A ``state_dict`` and the document with it, both untrusted; nothing in the files is executed.

    Raises:
        OfframpError: files that :func:`save_weights` did not write.
    """
    content = read_place("weights", where)
    try:
        if str(where).endswith(SAFETENSORS):
            state = _safetensors(where).load(content)
        else:
            state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except OfframpError:
        raise
    except Exception as error:
        reason = first_line(error)[:80]
        raise SettingsError("weights", f"expected weights: {reason}", where) from None
    if not isinstance(state, dict) or not all(isinstance(v, torch.Tensor) for v in state.values()):
        raise SettingsError("weights", "expected a state_dict", where)
    document = f"{where}.json"
    about = parse_json(read_place("weights", document, _MOST_DOCUMENT).decode("utf-8", "replace"))
    if not isinstance(about, dict) or not isinstance(about.get("model"), dict):
        raise OfframpError(f"{document}: expected what offramp gnn train wrote")
    return state, about


def specified(about: dict[str, Any], state: dict[str, torch.Tensor], chosen: str) -> dict[str, Any]:
    """The specification that a document of weights has, for :func:`make_model`.

    A document names no code: a model that is not PyG's is the one that the user has ``chosen``. Nor does it make one of
    PyG's larger than its weights.

    Raises:
        OfframpError: a model of one's own that was not chosen, or what is not a specification of these weights.
    """
    spec = dict(about["model"])
    limits = {"inputs": _MOST, "outputs": _MOST}
    if chosen:
        spec["model"] = chosen
    elif spec.get("model") not in BUILT_IN:
        given = f"({str(spec.get('model'))[:80]} by their file)"
        raise SettingsError("model", "expected the model of these weights, whose code is run", given)
    else:
        widest = max((size for tensor in state.values() for size in tensor.shape), default=0)
        limits = dict.fromkeys(("inputs", "outputs", "hidden"), widest) | {"layers": len(state)}
    for name, limit in limits.items():
        size = spec.get(name)
        if not isinstance(size, int) or not 1 <= size <= limit:
            raise SettingsError("weights", f"their document is of others: {name} {str(size)[:20]}")
    return spec


def _safetensors(where: str | Path) -> Any:
    try:
        return importlib.import_module("safetensors.torch")
    except ImportError:
        raise SettingsError("checkpoint", f"expected a .pt, for this {needs('safetensors')}", where) from None
