# SPDX-License-Identifier: Apache-2.0
"""Users of a switch, those who wait, and what it held before the first: a folder for each switch, under a lock.

The first job that brings a program keeps what was there; the last one that leaves puts it back. A job whose process was
killed is found by the next: its process is in the ledger (:mod:`offramp.job.claimant`).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from offramp.cluster.model import ClusterSwitch
from offramp.job.claimant import has_ended
from offramp.job.snapshot import SwitchSnapshot
from offramp_base.documents import parse_json, read_text
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError
from offramp_base.private_folder import make_private, user_folder

_BEFORE: Final = "before"
_JOBS: Final = "jobs.json"
_PROGRAM: Final = "program"
_HOLDERS: Final = "holders.json"
_LINE: Final = "line.json"


def folder_of(switch: ClusterSwitch) -> Path:
    """The folder of a switch's ledger: beside its Unix socket, else in this user's state folder."""
    control = switch.control or ""
    if control.startswith("unix:"):
        return Path(control.removeprefix("unix:")).parent / "ledger"
    base = user_folder("XDG_STATE_HOME", ".local/state")
    return base / "offramp/switches" / f"{re.sub('[^A-Za-z0-9.-]', '-', control)}-{switch.device}"


@dataclass
class SwitchLedger:
    """The open ledger of a switch; what is changed is kept at once."""

    folder: Path

    @property
    def jobs(self) -> dict[int, str]:
        """Process of each job that uses the switch, by the job's number."""
        path = self.folder / _JOBS
        if not path.is_file():
            return {}
        return {int(number): str(owner) for number, owner in parse_json(read_text(path)).items()}

    @jobs.setter
    def jobs(self, jobs: dict[int, str]) -> None:
        write_text(self.folder / _JOBS, json.dumps(jobs) + "\n")

    @property
    def program(self) -> str:
        """The program that the jobs on the switch have brought; empty if they brought none."""
        path = self.folder / _PROGRAM
        return read_text(path).strip() if path.is_file() else ""

    @program.setter
    def program(self, name: str) -> None:
        write_text(self.folder / _PROGRAM, f"{name}\n")

    @property
    def holders(self) -> dict[str, int]:
        """Jobs that have a system of the running program for themselves, by the system's name."""
        path = self.folder / _HOLDERS
        if not path.is_file():
            return {}
        return {str(system): int(number) for system, number in parse_json(read_text(path)).items()}

    @holders.setter
    def holders(self, holders: dict[str, int]) -> None:
        write_text(self.folder / _HOLDERS, json.dumps(holders) + "\n")

    @property
    def running(self) -> list[int]:
        """Jobs whose processes have not ended."""
        return [number for number, owner in self.jobs.items() if not has_ended(owner)]

    @property
    def ended(self) -> list[int]:
        """Jobs whose processes have ended without leaving."""
        return [number for number, owner in self.jobs.items() if has_ended(owner)]

    @property
    def line(self) -> dict[str, int]:
        """Processes that wait for room on the switch, each with its place in line: the lower comes first."""
        path = self.folder / _LINE
        if not path.is_file():
            return {}
        return {str(owner): int(place) for owner, place in parse_json(read_text(path)).items()}

    @line.setter
    def line(self, line: dict[str, int]) -> None:
        write_text(self.folder / _LINE, json.dumps(line) + "\n")

    def ahead_of(self, owner: str) -> int:
        """Number of processes that have waited for longer than this one, which have not ended."""
        line = self.line
        place = line.get(owner)
        return sum(
            (place is None or other < place) and not has_ended(name) for name, other in line.items() if name != owner
        )

    @property
    def before(self) -> SwitchSnapshot | None:
        """The state of the switch before the first job; None where no job brought a program."""
        path = self.folder / _BEFORE
        return SwitchSnapshot.load(path) if path.is_file() else None

    @before.setter
    def before(self, snapshot: SwitchSnapshot | None) -> None:
        if snapshot is None:
            (self.folder / _BEFORE).unlink(missing_ok=True)
        else:
            snapshot.save(self.folder / _BEFORE)


@contextmanager
def opened(switch: ClusterSwitch) -> Iterator[SwitchLedger]:
    """A switch's ledger, which no other job of this user changes meanwhile.

    Raises:
        OfframpError: the folder cannot be made, or another user could write in it.
    """
    folder = folder_of(switch)
    try:
        make_private(folder)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield SwitchLedger(folder)
        finally:
            os.close(lock)
    except OSError as error:
        raise OfframpError(f"switch {switch.name}: ledger {folder}: {error.strerror}") from None
