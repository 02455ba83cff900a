# SPDX-License-Identifier: Apache-2.0
"""The loaders that all YAML, TOML and JSON files share: what is accepted is small, and reads the same again."""

from __future__ import annotations

import json
import random

from fuzzing import mutate, render
from offramp_base.documents import parse_json, parse_toml, parse_yaml

NAME = "YAML, TOML and JSON"
_TREE = {"name": "x", "size": 16, "rates": [1.5, 2, {"of": "a", "on": True}], "layer": [{"a": 1}, {"b": [[]]}]}


def _yaml_bomb(rng: random.Random) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, rng.randrange(2, 30)):
        held = ", ".join([f"*a{level - 1}"] * rng.randrange(1, 10))
        wanted = rng.random() < 0.5
        lines.append(f"a{level}: &a{level} " + (f"[{held}]" if wanted else f"{{<<: [{held}], k: 1}}"))
    return "\n".join(lines)


def _nested(rng: random.Random, form: str) -> str:
    depth = rng.choice((10, 60, 1000, 100_000))
    opening = rng.choice(("[", "{a: ", "{'a': ", '{"a":', "- ", "? ", "[[", "a.", "[a.", "(", "!!map {", "&a [*a,"))
    closing = rng.choice(("", "]" * depth, "}" * depth, "x", "x = 1", "] = 1"))
    prefix = rng.choice(("", "a = ", "a: ", "["))
    return f"{prefix}{opening * depth}{closing}"


def run(rng: random.Random) -> None:
    """One text through one of the three parsers."""
    form = rng.choice(("yaml", "toml", "json"))
    parse = {"yaml": parse_yaml, "toml": parse_toml, "json": parse_json}[form]
    kind = rng.randrange(6)
    if kind == 0:
        text = _nested(rng, form)
    elif kind == 1 and form == "yaml":
        text = _yaml_bomb(rng)
    elif kind == 2:
        text = mutate.noise(rng).decode("latin-1")
    else:
        text = render.document(rng, _TREE, form).decode("utf-8", "replace")
    document = parse(text)
    if form == "json":
        assert parse_json(json.dumps(document)) == document
