# SPDX-License-Identifier: Apache-2.0
"""ASTRA-sim's networks: ``topology``, ``npus_count``, ``bandwidth``, ``latency``, an item for each dimension.

ASTRA-sim's bandwidth is that of a link, in GB/s of 2^30 bytes; its rings have two links, its fully connected dimensions
size - 1. Its latency is that of a link, of which there are two through a switch.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from offramp.cluster.formats import Defaults
from offramp.cluster.model import KINDS, Cluster, Dimension
from offramp_base.errors import OfframpError

_GB: Final = 2**30
_KEYS: Final = ("topology", "npus_count", "bandwidth", "latency")
_SPELLINGS: Final = {"fullyconnected": "fully-connected", "fc": "fully-connected", "sw": "switch"}
_MOST_BPS: Final = (1 << 63) - 1


def is_network(text: str) -> bool:
    """Whether a text has ASTRA-sim's first key."""
    return re.search(r"^\s*(topology|npus_count)\s*:", text, re.MULTILINE) is not None


def read(files: list[tuple[str, str]], defaults: Defaults) -> Cluster:  # noqa: ARG001 (the file says everything)
    """A cluster of dimensions alone.

    Raises:
        OfframpError: names the file, and line or dimension.
    """
    if len(files) != 1:
        raise OfframpError(f"{len(files)} files: expected one network")
    (path, text), *_ = files
    try:
        return network(text, Path(path).stem)
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None


def network(text: str, name: str) -> Cluster:
    """The same from the text: ``key: [ a, b ]`` lines with comments, which is all that these files use of YAML.

    Raises:
        OfframpError: names the line or dimension.
    """
    rows: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        match = re.fullmatch(r"(\w+)\s*:\s*\[(.*)\]", line)
        if match is None or match[1] not in _KEYS:
            raise OfframpError(f"line {number}: expected one of {', '.join(_KEYS)}, a colon and a list in [ ]")
        rows[match[1]] = [item.strip() for item in match[2].split(",")]
    for key in _KEYS:
        if len(rows.get(key, [])) != len(rows.get("topology", [])) or not rows.get(key):
            raise OfframpError(f"{key}: expected one item for each dimension")
    items = zip(*(rows[key] for key in _KEYS), strict=True)
    return Cluster(name=name, dimensions=tuple(_dimension(k, *item) for k, item in enumerate(items, 1)))


def _dimension(k: int, kind: str, size: str, gbytes: str, latency: str) -> Dimension:
    try:
        peers, rate, delay = int(size), float(gbytes), float(latency)
    except ValueError:
        raise OfframpError(f"dim{k}: {size}, {gbytes}, {latency}: expected an integer and two numbers") from None
    word = kind.strip("'\"").lower().replace("_", "-")
    word = _SPELLINGS.get(word, word)
    if word not in KINDS:
        raise OfframpError(f"dim{k}: dimension type '{kind}': expected one of {', '.join(KINDS)}")
    links = {"ring": 2 if peers > 2 else 1, "fully-connected": max(1, peers - 1)}.get(word, 1)
    bps = rate * _GB * 8 * links
    if peers < 1 or not 1 <= bps <= _MOST_BPS or not 0 <= delay <= 1e15:
        raise OfframpError(f"dim{k}: {size}, {gbytes}, {latency}: expected positive numbers")
    return Dimension(type=word, size=peers, rate_bps=round(bps), latency_ns=delay * (2 if word == "switch" else 1))
