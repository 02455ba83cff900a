# SPDX-License-Identifier: Apache-2.0
"""Clusters from other programs' files, and into some of them; one module for each program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

from offramp.cluster.model import Cluster
from offramp_base.documents import read_text
from offramp_base.errors import OfframpError


@dataclass(frozen=True, slots=True)
class Defaults:
    """Values that stand in for those that a file does not give.

    Attributes:
        rate_bps, delay_ns: rate and delay of links.
    """

    rate_bps: int = 10**10
    delay_ns: float = 0.0


IMPORTS: Final = {
    "slurm": "scontrol show nodes, perhaps with topology.conf beside it",
    "kubernetes": "kubectl get nodes -o json or yaml",
    "astra-sim": "a network of its analytical back end",
    "simai": "a topology of SimAI",
    "containerlab": "NAME.clab.yml",
    "p4-utils": "p4app.json of p4-utils",
}
EXPORTS: Final = {"containerlab": IMPORTS["containerlab"], "p4-utils": IMPORTS["p4-utils"]}
_FUNCTIONS: Final = {name: name.replace("-", "_") for name in IMPORTS}
_MOST_BYTES: Final = 16 << 20


def import_cluster(kind: str, paths: list[Path], defaults: Defaults) -> Cluster:
    """A cluster from the files of another program.

    Raises:
        OfframpError: a file that cannot be read or says what cannot be.
    """
    texts = []
    for path in paths:
        try:
            texts.append(read_text(path, _MOST_BYTES))
        except OfframpError as error:
            raise OfframpError(f"{path}: {error}") from None
    module = import_module(f"{__name__}.{_FUNCTIONS[kind]}")
    read: Callable[[list[tuple[str, str]], Defaults], Cluster] = module.read
    return read([(str(path), text) for path, text in zip(paths, texts, strict=True)], defaults)


def export_cluster(kind: str, cluster: Cluster) -> str:
    """The text of another program's file.

    Raises:
        OfframpError: the program has no word for something of the cluster.
    """
    module = import_module(f"{__name__}.{_FUNCTIONS[kind]}")
    text: str = module.write(cluster)
    return text
