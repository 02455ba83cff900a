# SPDX-License-Identifier: Apache-2.0
"""The ranks of a job on one host, which run as long as the process that started them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import wait
from typing import Final

from offramp_base.ending.children import stop

_RUN_RANK: Final = ("-m", "offramp.workers.run_rank", "--while-connected")
_FAILED_TO_START: Final = 127


def run_ranks(
    command: Sequence[str], environments: Sequence[Mapping[str, str]], working_folder: str, logs: str
) -> tuple[int, int] | None:
    """Run a program once for each environment, and wait until all have ended well or one has failed.

    A rank holds the reading end of a pipe whose other end this process has: it ends when this process does, however
    that ends.

    Args:
        command: program and arguments.
        environments: variables of each rank, beside those of this process.
        working_folder: folder in which the ranks run, if this host has it.
        logs: folder for ``rank-N.log``, which all hosts see.

    Returns:
        the first rank that failed, as a place in ``environments``, and its status as a shell has it; None where all
        have ended well. All have ended.
    """
    words = [sys.executable, *_RUN_RANK, "--in", working_folder, "--log", logs, "--", *command]
    processes: dict[int, tuple[int, subprocess.Popen[bytes]]] = {}
    try:
        for place, environment in enumerate(environments):
            try:
                process = subprocess.Popen(
                    words, env=os.environ | dict(environment), stdin=subprocess.PIPE, process_group=0
                )
            except OSError:
                return place, _FAILED_TO_START
            processes[os.pidfd_open(process.pid)] = place, process
        waiting = set(processes)
        while waiting:
            for ended in wait(list(waiting)):
                assert isinstance(ended, int)
                waiting.discard(ended)
                place, process = processes[ended]
                if code := process.wait():
                    return place, code if code > 0 else 128 - code
        return None
    finally:
        for descriptor, (_, process) in processes.items():
            os.close(descriptor)
            stop(process)
            assert process.stdin is not None
            process.stdin.close()
