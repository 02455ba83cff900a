# SPDX-License-Identifier: Apache-2.0
"""A process that outlasts the command that starts it, and announces that it does.

The supervisor of a command ends what the command has started. A process that calls :func:`outlast` is left alone: it
answers for what it holds by itself, and must give it back however it ends.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

NAME: Final = "offramp-lasting"
"""Name of the process, as ``ps`` shows it (at most 15 characters)."""
_SET_NAME: Final = 15
_BEGIN: Final = (
    "import sys; from offramp_base.ending.lasting import outlast; outlast(); print(flush=True); "
    "import importlib; importlib.import_module(sys.argv.pop(1)).main()"
)


def outlast() -> None:
    """Let this process go on when the command that has started it ends."""
    ctypes.CDLL(None).prctl(_SET_NAME, NAME.encode(), 0, 0, 0)


def lasts(pid: int) -> bool:
    """Whether a process has called :func:`outlast`."""
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip() == NAME
    except OSError:
        return False


def start_lasting(module: str, arguments: Sequence[str], text: str) -> None:
    """Start ``main()`` of a module in a process that lasts, with ``text`` on its standard input.

    Returns once it lasts, before it imports the module: a process that is being ended has little time.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", _BEGIN, module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin as stdin, process.stdout as stdout:
        stdin.write(text)
        stdin.flush()
        stdout.readline()
    process.returncode = 0  # it is not ours to wait for
