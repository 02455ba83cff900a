"""Work in a child process, so that neither a crash of machine code nor an endless loop ends the fuzzer."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Ended(Generic[_T]):
    """How the work ended: with ``value``, or with ``death``, the signal or ``"no end in N s"``."""

    value: _T | None
    death: str = ""


def isolated(work: Callable[[], _T], limit_s: float) -> Ended[_T]:
    """Do ``work`` in a copy of this process; its value must be picklable."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(sender, work), daemon=True)
    child.start()
    sender.close()
    try:
        if not receiver.poll(limit_s):
            child.kill()
            return Ended(None, f"no end in {limit_s:g} s")
        value: _T = receiver.recv()
        return Ended(value)
    except EOFError:
        child.join()
        code = child.exitcode or 0
        return Ended(None, signal.Signals(-code).name if code < 0 else f"exit code {code}")
    finally:
        child.join()
        receiver.close()


def _run(sender: Any, work: Callable[[], Any]) -> None:
    sender.send(work())
    sender.close()
