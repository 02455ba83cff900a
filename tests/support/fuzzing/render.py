# SPDX-License-Identifier: Apache-2.0
"""Trees of dictionaries and lists as the text of a YAML, TOML or JSON file."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import yaml

from fuzzing import mutate

_FAST = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def to_yaml(tree: Any) -> str:
    """The tree as YAML; equal parts become anchors and aliases."""
    try:
        return yaml.dump(tree, Dumper=_FAST, sort_keys=False, allow_unicode=True)
    except UnicodeEncodeError:  # libyaml writes UTF-8, which has no half of a surrogate pair
        return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)


def to_json(tree: Any) -> str:
    """The tree as JSON, with NaN and infinities as Python writes them."""
    return json.dumps(tree)


def to_toml(tree: Any) -> str:
    """The tree as TOML: tables at the top level, inline tables inside; what TOML cannot say becomes text."""
    if not isinstance(tree, dict):
        return _toml_value(tree)
    plain, tables = [], []
    for key, value in tree.items():
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            for row in value:
                tables.append(f"[[{json.dumps(key)}]]")
                tables += [f"{json.dumps(str(name))} = {_toml_value(item)}" for name, item in row.items()]
        else:
            plain.append(f"{json.dumps(key)} = {_toml_value(value)}")
    return "\n".join([*plain, *tables, ""])


def document(rng: random.Random, tree: Any, form: str) -> bytes:
    """A mutated document: mostly of a mutated tree, otherwise of mutated text or bytes."""
    render = {"yaml": to_yaml, "toml": to_toml, "json": to_json}[form]
    kind = rng.randrange(10)
    text = render(mutate.tree(rng, tree) if kind < 7 else tree)
    if kind == 7:
        text = mutate.text(rng, text)
    whole = text.encode("utf-8", "surrogatepass")
    return mutate.raw(rng, whole) if kind > 7 else whole


def write(path: Path, content: bytes) -> Path:
    """Write a file in the working folder, which is the worker's own."""
    path.write_bytes(content)
    return path


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(k))} = {_toml_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return json.dumps("none" if value is None else value)
