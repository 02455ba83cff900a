# SPDX-License-Identifier: Apache-2.0
"""Runs tests over mutants, each in a fork of a process that has imported what is slow to import.

Started in a private copy of the tree, whose modules it never imports itself. A task per line of the standard input, an
answer per line of the standard output.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time
from pathlib import Path

KILLED, SURVIVED, SLOW = "killed", "survived", "timeout"
_PASSED = 0


def main() -> None:
    """Serve tasks until there are no more."""
    sys.dont_write_bytecode = True
    for name in sys.argv[1:]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        task = json.loads(line)
        path = Path(task["path"])
        original = path.read_bytes()
        if task["text"] is not None:
            path.write_text(task["text"], "utf-8")
        for stale in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            stale.unlink()
        start = time.monotonic()
        try:
            outcome = _outcome(["-m", task["marks"], *task["tests"]], task["timeout"])
        finally:
            path.write_bytes(original)
        print(json.dumps({"outcome": outcome, "seconds": time.monotonic() - start}), flush=True)  # noqa: T201


def _outcome(tests: list[str], timeout_s: float) -> str:
    child = os.fork()
    if not child:
        _run(tests)
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            return SURVIVED if status == _PASSED else KILLED
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return SLOW


def _run(tests: list[str]) -> None:
    status = 1
    try:
        os.setsid()
        log = os.open("mutant.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        null = os.open(os.devnull, os.O_RDONLY)
        for number, target in enumerate((null, log, log)):
            os.dup2(target, number)
        import pytest

        status = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]))
    finally:
        sys.stdout.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
