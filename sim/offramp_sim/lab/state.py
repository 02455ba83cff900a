# SPDX-License-Identifier: Apache-2.0
"""Running laboratories: each has a folder with its state and a cluster file with its addresses."""

from __future__ import annotations

import json
import os
import signal
import stat
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from offramp.cluster import Cluster, read_cluster
from offramp_base.documents import parse_json, read_text
from offramp_base.ending.files import write_text
from offramp_base.ending.left import sweep_folders
from offramp_base.ending.owner import PREFIX, is_process
from offramp_base.errors import OfframpError

STATE: Final = "lab.json"
CLUSTER: Final = "cluster.yaml"
LOG: Final = "lab.log"
_SHORT: Final = "/tmp"  # noqa: S108 - folders of this user alone, as offramp_base.ending.left makes them
DOWN_S: Final = 20.0
_POLL_S: Final = 0.05


@dataclass(frozen=True)
class Lab:
    """One laboratory.

    Attributes:
        name: name of its cluster.
        folder: folder of everything it holds; removed with it.
        source: the cluster file that it was made from.
        mode: ``root``, ``user`` (a user namespace) or ``sockets``.
        holder: process that holds it, ``PID.START.WHERE``.
        processes: its other processes, by purpose.
        notes: differences from the cluster file, a sentence each.
        restarts: number of restarts, by what has died.
    """

    name: str
    folder: str
    source: str
    mode: str
    holder: str
    processes: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    restarts: dict[str, int] = field(default_factory=dict)

    @property
    def cluster_file(self) -> Path:
        """The cluster with the addresses of this laboratory."""
        return Path(self.folder) / CLUSTER

    def cluster(self) -> Cluster:
        """The cluster of the laboratory, read from its file."""
        return read_cluster(self.cluster_file)

    def ended(self) -> list[str]:
        """Names of processes that should run and do not."""
        return [name for name, owner in self.processes.items() if not is_process(owner)]

    def save(self) -> None:
        """Write the state into the laboratory's folder."""
        write_text(Path(self.folder) / STATE, json.dumps(asdict(self), indent=2) + "\n")


def running() -> list[Lab]:
    """The running laboratories of this user; folders of ended ones are removed."""
    sweep_folders()
    labs = []
    for parent in sorted({tempfile.gettempdir(), _SHORT}):
        for folder in sorted(Path(parent).glob(f"{PREFIX}*")):
            if _is_own(folder) and (folder / STATE).is_file():
                labs += read_state(folder / STATE)
    return labs


def _is_own(folder: Path) -> bool:
    """Whether it is a folder of this user; other processes may remove theirs meanwhile."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def read_state(path: Path) -> list[Lab]:
    """The laboratory of a state file, if it runs."""
    try:
        data: Any = parse_json(read_text(path))
        lab = Lab(**{**data, "notes": tuple(data["notes"])})
    except (OfframpError, TypeError, KeyError):  # another version's, or half gone
        return []
    return [lab] if is_process(lab.holder) else []


def find(name: str | None) -> Lab:
    """The laboratory of a name, or the only one.

    Raises:
        OfframpError: there is none, or there are several.
    """
    labs = running()
    chosen = [lab for lab in labs if name in (None, lab.name)]
    names = ", ".join(lab.name for lab in labs) or "none"
    if not chosen:
        raise OfframpError(f"lab {name or ''}: no such laboratory runs; running: {names}".replace("lab :", "lab:"))
    if len(chosen) > 1:
        raise OfframpError(f"several laboratories run, of which one must be named: {names}")
    return chosen[0]


def end(lab: Lab) -> None:
    """End a laboratory, and wait until it is gone.

    Raises:
        OfframpError: it does not end.
    """
    pid = int(lab.holder.split(".")[0])
    for number in (signal.SIGTERM, signal.SIGKILL):
        if is_process(lab.holder):
            os.kill(pid, number)
        deadline = time.monotonic() + DOWN_S
        while time.monotonic() < deadline:
            if not is_process(lab.holder):
                sweep_folders()
                return
            time.sleep(_POLL_S)
    raise OfframpError(f"lab {lab.name}: its process {pid} does not end")
