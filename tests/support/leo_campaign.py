# SPDX-License-Identifier: Apache-2.0
"""Signals at random times, to a responder that a job runs on or to a requester; by seed, so that runs are repeatable.

python tests/support/leo_campaign.py --victim responder --signal SIGKILL --runs 500 --seed 0
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from leo_faults import trial
from leo_lab import batch, program
from offramp.leo.native.dataflow import Trip
from offramp.leo.native.functions import ADD
from offramp.leo.runtime.process import ResponderPlan, ResponderProcess
from offramp.leo.runtime.requester import Requester, RequesterSettings
from offramp.leo.selection import Policy
from offramp_base.errors import OfframpError

SIGNALS = (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT)
VICTIMS = ("responder", "requester")
GROUP = 25
"""Runs with one responder."""
CELLS = 512
_HANG_S = 20.0
_REQUESTS = 400
_FLOWS = [
    [(Trip("echo"),), (Trip("echo", remote="acc"),), (Trip("echo"), Trip("echo", previous=True, length=0))],
    [(Trip(ADD, once=True),), None, None],
]
_PLAN = ResponderPlan(
    "offramp.leo.runtime.service:prepare",
    {"longest": 64},
    {"acc": "model:service_us=20"},
    memory_bytes=8 * CELLS,
    rows=256,
    restarts=1 << 30,
)


@contextmanager
def running(transport: str, seed: int) -> Iterator[tuple[ResponderProcess, Requester]]:
    """Both sides; what they leave behind when they end is an error."""
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        try:
            with _both_sides(transport, seed) as sides:
                yield sides
            assert not any(Path(folder).iterdir())
        finally:
            tempfile.tempdir = None


@contextmanager
def _both_sides(transport: str, seed: int) -> Iterator[tuple[ResponderProcess, Requester]]:
    process = ResponderProcess(_PLAN)
    pid = process.pid
    try:
        settings = RequesterSettings(
            rows=256, stride=64, transport=transport, policy=Policy.UNIFORM, seed=seed, timeout_s=2.0
        )
        requester = Requester(program(_FLOWS, "ADDR"), [process], settings=settings)
        try:
            yield process, requester
        finally:
            pid = process.pid
            requester.close()
    finally:
        process.close()
    assert not Path(f"/proc/{pid}").exists()


def hit_responder(process: ResponderProcess, requester: Requester, number: signal.Signals, seed: int) -> None:
    """A job during which the responder gets a signal; all of it ends, once, in order (:func:`leo_faults.trial`)."""
    rng = random.Random(seed)

    def strike() -> None:
        process.signal(number)
        if number == signal.SIGSTOP:
            time.sleep(rng.uniform(0.0, 0.3))
            process.signal(signal.SIGCONT)

    timer = threading.Timer(rng.uniform(0.0, 0.12), strike)
    timer.start()
    try:
        trial(process, requester, seed, kills=0, count=_REQUESTS)
    finally:
        timer.join()


def hit_requester(process: ResponderProcess, number: signal.Signals, seed: int) -> None:
    """A requester in a process of its own adds one to each cell once; after the signal no cell has more than one.

    Cells of one key are added to in order, so those that were form its beginning.
    """
    rng = random.Random(seed)
    process.host.memory[:CELLS] = 0
    child = os.fork()
    if not child:
        try:
            _add(process, seed)
        finally:
            os._exit(1)  # a signal that comes early must not unwind what belongs to the parent
    time.sleep(rng.uniform(0.0, 0.1))
    os.kill(child, number)
    if number == signal.SIGSTOP:
        time.sleep(rng.uniform(0.0, 0.3))
        os.kill(child, signal.SIGCONT)
    deadline = time.monotonic() + _HANG_S
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        assert time.monotonic() < deadline, f"seed {seed}: the requester hangs"
        time.sleep(0.001)
    time.sleep(0.02)
    cells = np.array(process.host.memory[:CELLS])
    assert set(cells.tolist()) <= {0, 1}, f"seed {seed}: {cells.max()} additions to a cell"
    if number == signal.SIGSTOP:
        assert cells.all(), f"seed {seed}: {CELLS - cells.sum()} requests were not executed"
    for key in range(8):
        own = cells[key::8]
        assert not np.diff(own).max(initial=0) > 0, f"seed {seed}: key {key} was not served in order"


def _add(process: ResponderProcess, seed: int) -> None:
    """The requester's process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    settings = RequesterSettings(rows=256, stride=64, token=process.token, seed=seed)
    requester = _connected(process, settings)
    messages = [np.array([8 * i, 1]).tobytes() for i in range(CELLS)]
    requests = batch(messages, [i % 8 for i in range(CELLS)], [1] * CELLS)
    sent = ended = 0
    while ended < CELLS:
        sent += requester.admit(requests.part(sent, sent + 8), np.arange(sent, min(sent + 8, CELLS)))
        requester.step()
        ended += requester.collect().count
    os._exit(0)


def _connected(process: ResponderProcess, settings: RequesterSettings) -> Requester:
    """A requester; on a machine that is too busy for the responder to answer in its time, not at the first attempt."""
    deadline = time.monotonic() + _HANG_S / 2
    while True:
        try:
            return Requester(program(_FLOWS, "ADDR"), [process.address], settings=settings)
        except OfframpError:
            if time.monotonic() > deadline:
                raise


def campaign(victim: str, number: signal.Signals, runs: int, seed: int) -> float:
    """So many runs from a seed on; returns runs per second.

    Raises:
        AssertionError: names the seed of a run that went wrong.
    """
    begun = time.monotonic()
    for first in range(seed, seed + runs, GROUP):
        with running(("shm", "tcp")[first // GROUP % 2], first) as (process, requester):
            for each in range(first, min(first + GROUP, seed + runs)):
                try:
                    if victim == "responder":
                        hit_responder(process, requester, number, each)
                    else:
                        hit_requester(process, number, each)
                        hit_responder(process, requester, signal.SIGCONT, each)  # it still serves
                except Exception as error:
                    raise AssertionError(f"seed {each}: {error}") from error
    return runs / (time.monotonic() - begun)


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--victim", choices=VICTIMS, default="responder")
    parser.add_argument("--signal", choices=[s.name for s in SIGNALS], default="SIGKILL")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rate = campaign(args.victim, signal.Signals[args.signal], args.runs, args.seed)
    sys.stdout.write(f"{args.signal} to the {args.victim}: {args.runs} runs, 0 wrong, {60 * rate:.0f} per minute\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
