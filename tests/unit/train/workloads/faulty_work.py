# SPDX-License-Identifier: Apache-2.0
"""Work of the tests' worker processes, which import it too."""

from __future__ import annotations

import gc
import os
import signal
import time
from pathlib import Path

import torch

from offramp.workers.budget import open_budget
from offramp_base.errors import OfframpError


def add(group, item, report):
    """The sum of all items; every worker reports its own."""
    report((group.rank, os.getpid()))
    return float(group.sum(torch.tensor([float(item)])))


def collect(group, item, report):
    """Kilobytes that this process has to itself after a search for garbage and had not before."""
    before = _own()
    gc.collect()
    report(_own() - before)


def _own() -> int:
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))


def refuse(group, item, report):
    """One worker finds its input bad while the others wait for it."""
    if group.rank == item:
        raise OfframpError(f"worker {item}: no such link")
    group.sum(torch.zeros(1))


def die(group, item, report):
    """One worker is killed while the others wait for it."""
    if group.rank == item:
        os.kill(os.getpid(), signal.SIGKILL)
    group.sum(torch.zeros(1))


def leave(group, item, report):
    """One worker ends without a word."""
    if group.rank == item:
        os._exit(7)
    group.sum(torch.zeros(1))


def stumble(group, item, report):
    """A fault of the program itself."""
    if group.rank == item:
        raise ZeroDivisionError("one\nover zero")
    group.sum(torch.zeros(1))


def sleep(group, item, report):
    """Works until someone ends it."""
    report(os.getpid())
    time.sleep(600)


def stop(group, item, report):
    """One worker is stopped while the others wait for it."""
    if group.rank == item:
        os.kill(os.getpid(), signal.SIGSTOP)
    group.sum(torch.zeros(1))


def read(group, item, report):
    """Reads a pipe whose other end somebody holds; fails when nobody does."""
    with Path(item).open("rb") as pipe:
        report("reading")
        pipe.read()
    raise OfframpError(f"{item}: Broken pipe")


def need_more(group, item, report):
    """One worker needs more memory than its budget while the others wait for it."""
    if group.rank == item:
        with open_budget(16 << 20) as budget:
            report(budget.by)
            bytearray(b"x") * (64 << 20)
    group.sum(torch.zeros(1))
