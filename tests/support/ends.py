# SPDX-License-Identifier: Apache-2.0
"""A process, a signal, and what is left of it: found by a mark in the environment that every descendant inherits."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

LIMIT_S: Final = 2.0
"""Time to end that the specification allows."""
_IDLE_START_S: Final = 0.05
"""Time in which an idle machine starts Python and imports a little."""
GONE_S: Final = 10.0


def slowness() -> float:
    """The factor by which things take longer on this machine now than on an idle one; at least 1."""
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", "import json, subprocess"], check=True)
    return max(1.0, (time.monotonic() - begun) / _IDLE_START_S)


@dataclass
class Ended:
    """The outcome of a process after a signal.

    Attributes:
        code: exit code as :mod:`subprocess` has it.
        took_s: from the signal to the end.
        limit_s: that it may take, on this machine at this moment.
        lines: lines of its standard error that are not empty.
        left: processes, temporary folders, namespaces and shared memory that outlived it.
    """

    code: int
    took_s: float
    limit_s: float
    lines: list[str]
    left: list[str] = field(default_factory=list)


class Marked:
    """A command in a session of its own, with a folder of its own for temporary things; a context manager."""

    def __init__(self, command: Sequence[str], folder: Path, **environment: str) -> None:
        self.mark = f"ENDS_TEST={secrets.token_hex(8)}"
        self.tmp = folder / "tmp"
        self.tmp.mkdir(exist_ok=True)
        name, _, value = self.mark.partition("=")
        self.errors = folder / "errors"
        with self.errors.open("w") as errors, (folder / "output").open("w") as output:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env={**os.environ, name: value, "TMPDIR": str(self.tmp), **environment},
                cwd=folder,
                start_new_session=True,
            )
        self._seen: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self.processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def processes(self) -> list[int]:
        """All that carry the mark and run."""
        pids = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                with contextlib.suppress(OSError):
                    if self.mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                        pids.append(int(entry.name))
        self._seen.update(pids)
        return pids

    def end(self, *signals: signal.Signals) -> Ended:
        """Send the signals to the process that was started, and see what becomes of it."""
        shared = self._shared()
        slow = slowness()
        begun = time.monotonic()
        for number in signals:
            self.process.send_signal(number)
        code = self.process.wait(60)
        took = time.monotonic() - begun
        ended = Ended(
            code, took, LIMIT_S * slow, [line for line in self.errors.read_text().splitlines() if line.strip()]
        )
        deadline = time.monotonic() + GONE_S
        while (left := self._left(shared)) and time.monotonic() < deadline:
            time.sleep(0.02)
        ended.left = left
        return ended

    def _shared(self) -> set[str]:
        """Names of shared memory that the processes use."""
        names: set[str] = set()
        for pid in self.processes():
            with contextlib.suppress(OSError):
                maps = Path(f"/proc/{pid}/maps").read_text()
                names.update(re.findall(r"(/dev/shm/\S+)$", maps, re.MULTILINE))
        return names

    def _left(self, shared: set[str]) -> list[str]:
        namespaces = Path("/run/netns")
        named = [path.name for path in namespaces.iterdir()] if namespaces.is_dir() else []
        owned = tuple(f"offramp-{pid}." for pid in self._seen)
        return [
            *filter(None, map(_words, self.processes())),
            *(path.name for path in self.tmp.iterdir()),
            *(path.name for path in Path("/tmp").iterdir() if path.name.startswith(owned)),
            *(name for name in named if name.startswith(owned)),
            *(name for name in shared if Path(name).exists()),
        ]


def _words(pid: int) -> str:
    """The command line of a process; nothing if it has just ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
