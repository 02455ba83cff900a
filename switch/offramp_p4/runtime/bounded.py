# SPDX-License-Identifier: Apache-2.0
"""Pushed programs are compiled by another process first, which may be ended: within so much time and memory.

What that process has managed, this one repeats up to the machine code, which it is given. A program that has once
been compiled within its budget is known by its digest in the cache of machine code, and is not tried again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from offramp_base.errors import OfframpError
from offramp_base.native.cache import ObjectCache
from offramp_p4.runtime.compile_child import OUT_OF_MEMORY

if TYPE_CHECKING:
    from offramp_p4.maker import SwitchMaker

COMPILE_S: Final = 30.0
COMPILE_BYTES: Final = 4 << 30
_START_S: Final = 60.0
_CLOCK: Final = 4
"""Seconds by the clock for each of the processor, which other work on the machine takes its share of."""
_LINE: Final = 1 << 16
_MOST_CODE: Final = 256 << 20
_MB: Final = 1 << 20


@dataclass(frozen=True)
class CompileBudget:
    """Limits of compiling one pushed program: seconds of processor time, and bytes of address space."""

    seconds: float = COMPILE_S
    memory: int = COMPILE_BYTES

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= 86_400:
            raise OfframpError(f"compile time {self.seconds:g} s: expected more than 0 and at most a day")
        if self.memory < 512 * _MB:
            raise OfframpError(f"compile memory {self.memory // _MB} MB: expected 512 MB or more")


class BoundedCompiler:
    """Compiles the programs that controllers push to one device, one at a time.

    Args:
        make: the device's recipe for switches.
    """

    def __init__(self, make: SwitchMaker, budget: CompileBudget | None = None) -> None:
        self._make, self._budget = make, budget or CompileBudget()
        self._one = threading.Lock()
        self._spare: subprocess.Popen[bytes] | None = None

    def warm(self) -> None:
        """Start a process now, so that the next program need not wait for one."""
        if self._spare is None:
            self._spare = _start()

    def close(self) -> None:
        """End the process that waits."""
        spare, self._spare = self._spare, None
        if spare is not None:
            _end(spare)

    @contextmanager
    def trying(self, text: str, name: str, p4info: bytes = b"") -> Iterator[ObjectCache]:
        """Have ``text``, with its ``p4info`` if it is bmv2's JSON, compiled elsewhere.

        Within the context the program is to be built with the cache given.

        Raises:
            OfframpError: the program is refused, or takes more than its budget.
        """
        cache, mark = ObjectCache(), self._mark(text, name, p4info)
        if cache.get(mark) is not None:
            yield cache
            return
        if not self._one.acquire(timeout=_CLOCK * self._budget.seconds):
            raise OfframpError("the programs pushed before are still being compiled; try again")
        spare, self._spare = self._spare, None
        process = spare or _start()
        job = _CompileJob(process, self._budget)
        try:
            job.send({"text": text, "name": name, "p4info": p4info.hex(), "maker": self._make.to_plain()})
            job.until("built")
            yield _CodeReceiver(job, cache)
            job.until("done")
            cache.put(mark, b"within its budget")
        finally:
            job.close()
            self._one.release()

    def _mark(self, text: str, name: str, p4info: bytes) -> str:
        what = json.dumps(
            [text, name, p4info.hex(), self._make.to_plain(), self._budget.memory, self._budget.seconds, _version()]
        )
        return f"within its budget: {hashlib.sha256(what.encode()).hexdigest()}"


class _CompileJob:
    """The parent's side of what the process says."""

    def __init__(self, process: subprocess.Popen[bytes], budget: CompileBudget) -> None:
        self._process, self._budget = process, budget
        self._codes: list[bytes] = []
        self._said: set[str] = set()
        self._late = False
        self._timer = self._limit(_START_S)

    def send(self, job: dict[str, Any]) -> None:
        """Hand the job over; from now on its time runs."""
        self.until("ready")
        self._timer.cancel()
        self._timer = self._limit(_CLOCK * self._budget.seconds)
        assert self._process.stdin is not None
        whole = {**job, "seconds": self._budget.seconds, "memory": self._budget.memory}
        with contextlib.suppress(BrokenPipeError):  # which shows when it is asked for an answer
            self._process.stdin.write(json.dumps(whole).encode() + b"\n")
            self._process.stdin.flush()

    def until(self, what: str) -> None:
        """Wait until the process has said a word, or that all is done."""
        while not self._said & {what, "done"}:
            self._next()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._timer.cancel()
        _end(self._process)

    def _limit(self, seconds: float) -> threading.Timer:
        timer = threading.Timer(seconds, self._end_late)
        timer.daemon = True
        timer.start()
        return timer

    def _end_late(self) -> None:
        self._late = True
        _kill(self._process)

    def code(self) -> bytes | None:
        """The next piece of machine code; None: there is none, as it has been compiled before."""
        while not (self._codes or "done" in self._said):
            self._next()
        return self._codes.pop(0) if self._codes else None

    def _next(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline(_LINE)
        if not line.endswith(b"\n"):
            raise OfframpError(self._exit_reason())
        answer = json.loads(line)
        self._said.add(answer["what"])
        match answer["what"]:
            case "code":
                size = min(int(answer["bytes"]), _MOST_CODE)
                payload = self._process.stdout.read(size)
                if len(payload) != size:
                    raise OfframpError(self._exit_reason())
                self._codes.append(payload)
            case "error":
                raise OfframpError(answer["text"])

    def _exit_reason(self) -> str:
        """The reason that the process has ended without a word."""
        status = self._process.wait()
        if "ready" not in self._said:
            return f"the program cannot be compiled: the compiler does not start (status {status})"
        if self._late or status == -signal.SIGXCPU:
            return f"the program takes more than {self._budget.seconds:g} s to compile"
        if status in (OUT_OF_MEMORY, -signal.SIGABRT, -signal.SIGSEGV, 1):
            return f"the program takes more than {self._budget.memory // _MB} MB of memory to compile"
        return f"the program cannot be compiled: the compiler has ended with status {status}"


class _CodeReceiver(ObjectCache):
    """Machine code from the job, which is kept in the cache."""

    def __init__(self, job: _CompileJob, cache: ObjectCache) -> None:
        super().__init__()
        self._job, self._cache = job, cache

    def get(self, key: str) -> bytes | None:
        """The bytes for ``key``: those that have been kept, or what the process makes."""
        code = self._cache.get(key)
        if code is not None:
            return code
        outcome = self._job.code()
        if outcome is not None:
            self._cache.put(key, outcome)
        return outcome


def _version() -> str:
    from offramp_base import __version__

    return str(__version__)


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "offramp_p4.runtime.compile_child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # A group of its own: LLVM may be run by another process below it, which is to end with it.
        start_new_session=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"},
    )


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is not None:
        return  # its number may be another's
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process, whatever it does, and wait for it."""
    if process.poll() is None:
        _kill(process)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.wait()
