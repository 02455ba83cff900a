# SPDX-License-Identifier: Apache-2.0
"""Cases of a sweep as tasks of an array job of Slurm's: ``python -m offramp.workers.slurm_array FOLDER``.

The command that sweeps writes the function and the cases into a folder that only this user reads, submits the array and
collects the results; each task runs every n-th case and writes its result there. All nodes see the folder.
https://slurm.schedmd.com/job_array.html
"""

from __future__ import annotations

import os
import pickle
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from offramp.workers.slurm_commands import said
from offramp_base.arguments import visible
from offramp_base.ending.files import written
from offramp_base.errors import OfframpError
from offramp_base.private_folder import make_private

MOST_TASKS: Final = 1000
"""Tasks of an array; Slurm takes 1,001 unless it is configured otherwise."""
_WORK: Final = "work.pickle"
_LOG: Final = "task-{task}.log"
_POLL_S: Final = 1.0
_LATE_S: Final = 30.0
"""Seconds after the end of a task in which a file system may still show its results."""


def each_in_array(
    function: Callable[[Any], Any], cases: Sequence[Any], options: str = "", poll_s: float = _POLL_S
) -> Iterator[tuple[int, Any]]:
    """Apply ``function`` to each case in an array job; yields number and result of each as they arrive.

    Args:
        function: what can be pickled.
        cases: its arguments.
        options: further options of sbatch, as a shell would split them.
        poll_s: seconds between looks.

    Raises:
        OfframpError: Slurm refuses the job, a task ended without a result, or others may write in the working folder; a
            case's own error is raised as it is. The job is cancelled then.
    """
    folder = Path(tempfile.mkdtemp(prefix=".offramp-sweep-", dir=Path.cwd()))
    number = ""
    try:
        make_private(folder)  # refuses a working folder in which others could replace it
        with written(folder / _WORK) as file:
            pickle.dump(sys.path, file)  # by which a task finds what the rest is of
            pickle.dump((function, list(cases)), file)
        tasks = min(len(cases), MOST_TASKS)
        script = folder / "task.sh"
        command = [sys.executable, "-m", "offramp.workers.slurm_array", str(folder)]
        script.write_text(f"#!/bin/sh\nexec {shlex.join(command)}\n")
        words = ["--parsable", f"--array=0-{tasks - 1}", "--job-name=offramp-sweep"]
        words += [f"--output={folder / _LOG.format(task='%a')}", *shlex.split(options), str(script)]
        number = said("sbatch", *words).split(";")[0].strip()
        if not number.isdecimal():
            raise OfframpError(f"sbatch: expected a job's number: {visible(number[:60])}")
        yield from _collected(folder, len(cases), number, poll_s)
        number = ""
    finally:
        if number.isdecimal():
            said("scancel", number)
        shutil.rmtree(folder, ignore_errors=True)


def _collected(folder: Path, count: int, number: str, poll_s: float) -> Iterator[tuple[int, Any]]:
    missing = set(range(count))
    ended_at = None
    while True:
        arrived = [case for case in sorted(missing) if _result(folder, case).exists()]
        for case in arrived:
            missing.discard(case)
            error, value = pickle.loads(_result(folder, case).read_bytes())  # noqa: S301 - this user's own, mode 0700
            if error is not None:
                raise error
            yield case, value
        if not missing:
            return
        if not arrived:
            if ended_at is not None and time.monotonic() - ended_at > _LATE_S:
                raise OfframpError(
                    f"Slurm job {number}: case {min(missing)} ended without a result{_end(folder, missing)}"
                )
            if number not in said("squeue", "--noheader", "--format=%F").split():
                ended_at = ended_at or time.monotonic()
            time.sleep(poll_s)


def run_task(folder: Path, task: int, tasks: int) -> None:
    """Run the cases of one task, and write their results.

    Raises:
        OfframpError: another user could have written the folder.
    """
    make_private(folder)
    with (folder / _WORK).open("rb") as file:
        sys.path[:] = pickle.load(file)  # noqa: S301 - this user's own, mode 0700
        function, cases = pickle.load(file)  # noqa: S301
    for number in range(task, len(cases), tasks):
        try:
            outcome: tuple[Exception | None, Any] = (None, function(cases[number]))
        except Exception as error:
            outcome = (error, None)
        with written(_result(folder, number)) as file:
            pickle.dump(outcome, file)


def _result(folder: Path, number: int) -> Path:
    return folder / f"result-{number}.pickle"


def _end(folder: Path, missing: set[int]) -> str:
    """The last line of the log of the first task without a result."""
    log = folder / _LOG.format(task=min(missing) % MOST_TASKS)
    lines = log.read_text("utf-8", "replace").split("\n") if log.is_file() else []
    lines = [line.strip() for line in lines if line.strip()]
    return f": {visible(lines[-1])}" if lines else ""


if __name__ == "__main__":
    run_task(Path(sys.argv[1]), int(os.environ["SLURM_ARRAY_TASK_ID"]), int(os.environ["SLURM_ARRAY_TASK_COUNT"]))
