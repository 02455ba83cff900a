# SPDX-License-Identifier: Apache-2.0
"""Ends of processes that have used plain gloo: how often one aborts or hangs.

    PYTHONPATH=base:switch:host:sim:tests/support python tests/support/torch_ends.py --runs 500

Ranks are forks of this process. Each sums one tensor and ends at once, in one of several ways, with an interpreter that
hands over its lock to other threads only when a thread lets go of it: a thread of gloo that needs it to let go of the
tensor gets it too late, unless the end waits for it. ``--plain`` does without ``offramp.torch``, for comparison.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import signal
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

RANKS = 2
HANG_S = 30.0
IDLE_S = 10.0
"""Time without any work after which a rank hangs; a machine that is busy lets none of them rest that long."""
EXPECTED = {"leave": 0, "destroy": 0, "raise": 1, "_exit": 3, "signal": -signal.SIGTERM, "interrupt": 1, "fork": 0}
"""Exit status of each way to end."""


def be_rank(end: str, rank: int, store: str) -> None:
    """Sum once, and begin to end."""
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=RANKS, timeout=timedelta(seconds=HANG_S))
    sys.setswitchinterval(100)
    dist.all_reduce(torch.ones(3))
    if end == "destroy":
        dist.destroy_process_group()
    elif end == "raise":
        raise RuntimeError("before destroy_process_group")
    elif end == "_exit":
        os._exit(EXPECTED[end])
    elif end == "signal":
        os.kill(os.getpid(), signal.SIGTERM)
    elif end == "interrupt":
        raise KeyboardInterrupt
    elif end == "fork" and os.fork():
        sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))


def start(end: str, rank: int, folder: Path, ranks: list[int]) -> None:
    """Fork a rank, which ends as a program does: through the interpreter's end."""
    pid = os.fork()
    if pid:
        ranks.append(pid)
        return
    errors = os.open(folder / f"errors{rank}", os.O_CREAT | os.O_WRONLY)
    os.dup2(errors, 2)
    _work_and_end(end, rank, (folder / "store").as_uri())


def _work_and_end(end: str, rank: int, store: str) -> NoReturn:
    try:
        be_rank(end, rank, store)
    except (RuntimeError, KeyboardInterrupt):
        sys.exit(1)
    sys.exit(0)


def outcome(pid: int, deadline: float) -> int | str:
    """Exit status of a rank; one that does nothing for some time after the deadline hangs, and is killed."""
    spent = -1
    while not (status := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            if spent == (spent := _ticks(pid)):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return "hangs"
            deadline = time.monotonic() + IDLE_S
        time.sleep(0.005)
    return os.waitstatus_to_exitcode(status[1])


def _ticks(pid: int) -> int:
    """Processor time that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--ends", nargs="+", choices=EXPECTED, default=list(EXPECTED))
    parser.add_argument("--plain", action="store_true")
    asked = parser.parse_args()
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    import torch
    import torch._dynamo  # else each rank imports it with its first group

    torch.set_num_threads(1)
    if not asked.plain:
        import offramp.torch  # noqa: F401
    counts: dict[str, Any] = {end: collections.Counter() for end in asked.ends}
    for run in range(asked.runs):
        end = asked.ends[run % len(asked.ends)]
        with tempfile.TemporaryDirectory(prefix="ends-") as folder:
            ranks: list[int] = []
            for rank in range(RANKS):
                start(end, rank, Path(folder), ranks)
            deadline = time.monotonic() + HANG_S
            for pid in ranks:
                status = outcome(pid, deadline)
                counts[end]["as expected" if status == EXPECTED[end] else str(status)] += 1
    sys.stdout.write(json.dumps(counts) + "\n")
    return int(any(set(count) - {"as expected"} for count in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
