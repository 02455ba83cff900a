# SPDX-License-Identifier: Apache-2.0
"""Clusters from other programs' files, and into some of them; one module for each program.

What an importer returns is a network that ``offramp cluster check`` accepts: every host reaches every other. Files that
do not say how are refused with the name of what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

from offramp.cluster.model import Cluster
from offramp_base.documents import read_text
from offramp_base.errors import OfframpError


def _quiet(_line: str) -> None:
    """Drop a note."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """Values that stand in for those that a file does not give.

    Attributes:
        rate_bps, delay_ns: rate and delay of links.
        flat: whether one switch joins what the files leave apart.
        oversubscription: what is below a switch, as a multiple of what its links up carry.
        note: called with each line about something that an importer left out or decided.
    """

    rate_bps: int = 10**10
    delay_ns: float = 0.0
    flat: bool = False
    oversubscription: float = 1.0
    note: Callable[[str], None] = _quiet


IMPORTS: Final = {
    "slurm": "scontrol show nodes or slurm.conf, with topology.conf or topology.yaml beside it",
    "kubernetes": "kubectl get nodes -o json or yaml",
    "astra-sim": "a network of its analytical back end",
    "simai": "a topology of SimAI",
    "containerlab": "NAME.clab.yml",
    "p4-utils": "p4app.json of p4-utils",
    "htsim": "a fat tree of htsim, NAME.topo",
    "ibnetdiscover": "its output",
    "nccl": "NCCL_TOPO_DUMP_FILE of each host, perhaps with ibnetdiscover's output beside them",
    "lldp": "lldpcli show neighbors -f json of each host or switch, in files of their names",
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
