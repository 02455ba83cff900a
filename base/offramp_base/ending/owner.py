# SPDX-License-Identifier: Apache-2.0
"""The owner of a temporary file, folder or namespace: a process, which is part of its name.

Process ids are reused. An id together with the process's start time, in ticks since boot, identifies one process of
one boot. A third part identifies the boot and the PID namespace (a container has its own): nothing can be known of
processes in another one, so what belongs to them is left alone.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from pathlib import Path
from typing import Final

PREFIX: Final = "offramp-"
PATTERN: Final = r"(\d{1,10})\.([0-9a-f]{1,16})\.([0-9a-f]{8})"
_OWNED: Final = re.compile(rf"{PREFIX}{PATTERN}-")
_DEAD: Final = frozenset("ZX")
_EXITING: Final = 0x4  # PF_EXITING among a process's flags: its memory may take the kernel seconds to free
_KILLED: Final = 1 << 8  # SIGKILL among its pending signals: it runs no instruction any more


def owned_name() -> str:
    """The prefix of names of what this process owns: ``offramp-PID.START.WHERE-``."""
    return f"{PREFIX}{owner()}-"


def owner() -> str:
    """This process as ``PID.START.WHERE``."""
    pid = os.getpid()
    return f"{pid}.{_started(pid) or 0:x}.{_where()}"


def is_left(name: str, pattern: re.Pattern[str] = _OWNED) -> bool:
    """Whether a name says that it belongs to a process, and that process has certainly ended.

    Args:
        name: name of a folder, a namespace or a file.
        pattern: pattern with the three groups of :data:`PATTERN`, matched at the beginning of the name.
    """
    parts = pattern.match(name)
    if parts is None or parts[3] != _where():
        return False
    return _started(int(parts[1])) != int(parts[2], 16)


def is_process(name: str) -> bool:
    """Whether ``PID.START.WHERE`` is a process of this boot that has not ended."""
    parts = _OWNED.match(f"{PREFIX}{name}-")
    return parts is not None and parts[3] == _where() and not is_left(parts[0])


def owner_of(pid: int) -> str:
    """Another process, in the form of :func:`owner`."""
    return f"{pid}.{_started(pid) or 0:x}.{_where()}"


def _started(pid: int) -> int | None:
    """Start time of a process in ticks since boot (proc(5), field 22); None if it has ended or is about to."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        ended = fields[0] in _DEAD or int(fields[6]) & _EXITING or int(fields[28]) & _KILLED
        return None if ended else int(fields[19])
    except (OSError, IndexError, ValueError):
        return None


@cache
def _where() -> str:
    """A digest of the boot and the PID namespace, in 8 hexadecimal digits."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        boot, namespace = "unknown", str(os.getpid())
    return hashlib.sha256((boot + namespace).encode()).hexdigest()[:8]
