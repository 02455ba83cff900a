# SPDX-License-Identifier: Apache-2.0
"""Notes which functions of the product run in a process.

Under this name every process of Python imports it that a test starts while calls are noted (:mod:`mutation.calls`).
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

ENVIRONMENT: Final = "OFFRAMP_TESTS_CALLS"
"""Where processes of tests note calls: the file that names the test which runs now."""
_ROOT: Final = Path(__file__).parents[4]
_ROOMS: Final = tuple(f"{_ROOT / room}/" for room in ("base", "switch", "host", "sim", "cli"))


class Follower:
    """Notes the first call of each function of the product, in all threads of this process."""

    def __init__(self) -> None:
        self.names: set[tuple[str, str]] = set()
        self._out: int | None = None
        self._seen: dict[int, CodeType] = {}

    def follow(self) -> None:
        """Begin."""
        sys.settrace(self._call)
        threading.settrace(self._call)

    def again(self) -> set[tuple[str, str]]:
        """What was called since the last time: path and qualified name of each function; all count anew."""
        names, self.names, self._seen = self.names, set(), {}
        return names

    def write_at_once(self, now: Path) -> None:
        """Note what this process calls from here on in a file of its own beside ``now``, which names the test."""
        self.again()
        try:
            test = now.read_text("utf-8")
            self._out = os.open(f"{now}.{os.getpid()}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(self._out, f"={test}\n".encode())
        except OSError:  # another user's process, or the tests have ended
            self._out = None

    def _call(self, frame: FrameType, event: str, argument: Any) -> None:
        del event, argument
        code = frame.f_code
        if id(code) not in self._seen:
            self._seen[id(code)] = code  # kept, so that no other code gets its identity
            if code.co_filename.startswith(_ROOMS):
                name = code.co_filename, code.co_qualname.partition(".<locals>")[0]
                self.names.add(name)
                if self._out is not None:
                    os.write(self._out, ("\t".join(name) + "\n").encode())


def follow_this_process() -> None:
    """Note the calls of a process that a test has started, and of its forks, at once: it may be killed."""
    now = Path(os.environ[ENVIRONMENT])
    follower = Follower()
    follower.write_at_once(now)
    os.register_at_fork(after_in_child=lambda: follower.write_at_once(now))
    follower.follow()


if __name__ == "sitecustomize" and ENVIRONMENT in os.environ:
    follow_this_process()
