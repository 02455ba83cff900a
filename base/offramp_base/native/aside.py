# SPDX-License-Identifier: Apache-2.0
"""Compiles LLVM assembly in another process, while this one goes on."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import weakref

from offramp_base.native.compiler import OPTIMISED


class AsideCompilation:
    """A module that another process optimises; the process ends with this object.

    LLVM has one lock in a process and is in no state to be left at its end, so a thread will not do.

    Args:
        text: the module in LLVM assembly.

    Attributes:
        done: set when the process has ended.
        object: the object file; None until then, of a module that LLVM refuses, and where no process can be started.
    """

    def __init__(self, text: str) -> None:
        self.done = threading.Event()
        self.object: bytes | None = None
        command = [sys.executable, "-m", "offramp_base.native.compiler", str(OPTIMISED), str(os.getpid())]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        try:
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere)
        except OSError:  # no such program, or no process more for this user
            self.done.set()
            return
        weakref.finalize(self, _end, self._process)
        threading.Thread(target=_receive, args=(weakref.ref(self), self._process, text), daemon=True).start()


def _receive(receiver: weakref.ref[AsideCompilation], process: subprocess.Popen[bytes], text: str) -> None:
    payload = b""
    with contextlib.suppress(OSError, ValueError):  # it was ended
        payload, _ = process.communicate(text.encode())
    compilation = receiver()
    if compilation is not None:
        compilation.object = payload if process.returncode == 0 and payload else None
        compilation.done.set()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process, if it has not ended, and wait for it."""
    if process.poll() is None:
        process.kill()
        process.wait()
