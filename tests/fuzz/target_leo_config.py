# SPDX-License-Identifier: Apache-2.0
"""LEO's hosts and applications, from the files that ship with the package."""

from __future__ import annotations

import random
from typing import Any

import yaml

from fuzzing import render
from offramp.leo.config.files import APPLICATIONS, HARDWARE, builtin, parse_config

NAME = "LEO's hosts and applications"
_TREES: list[Any] = []


def prepare() -> None:
    """All pairs of an application and a host model as one tree each."""
    for application in APPLICATIONS:
        for hardware in HARDWARE:
            texts = (builtin(name).read_text("utf-8") for name in (hardware, application))
            tree: dict[str, Any] = {}
            for text in texts:
                tree |= yaml.safe_load(text)
            _TREES.append(tree)


def run(rng: random.Random) -> None:
    """One configuration."""
    text = render.document(rng, rng.choice(_TREES), "yaml").decode("utf-8", "replace")
    parse_config(text)
