# SPDX-License-Identifier: Apache-2.0
"""Slurm: the whole command as a batch job, whose first node deploys, starts the ranks by srun and removes everything.

https://slurm.schedmd.com/sbatch.html
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote
from typing import Any, ClassVar, Final

from offramp.cluster.names import join
from offramp.job.engine import ENGINES, BatchEngine, BatchSubmission, same_python
from offramp.job.kind import PlacedJob
from offramp.workers.slurm_commands import job_row, said
from offramp_base.arguments import label, visible
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError

SCRIPT: Final = "job.sbatch"
LOG: Final = "slurm.log"
_POLL_S: Final = 1.0
_TAIL: Final = 4000
_ENDED: Final = frozenset(
    {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"}
    | {"OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"}
)
_SACCT: Final = ("Elapsed", "TotalCPU", "MaxRSS")


def script(placed: PlacedJob, submission: BatchSubmission) -> str:
    """The script for sbatch, which works as well where somebody submits it by hand.

    Raises:
        OfframpError: a host whose name Slurm could not have.
    """
    job, hosts = placed.job, placed.hosts
    for host in hosts:
        try:
            label(host.name)
        except ValueError as error:
            raise OfframpError(f"{placed.cluster.place(host.name)}: {host.name}: {error}") from None
    out = submission.out.absolute()
    on, folder = quote(submission.on), quote(str(out))
    gpus = {host.gpus for host in hosts}
    options = [
        f"--job-name={re.sub('[^A-Za-z0-9._-]', '-', job.name)}",
        f"--nodes={len(hosts)}",
        f"--ntasks={placed.ranks}",
        f"--nodelist={join([host.name for host in hosts])}",
        *([f"--gpus-per-node={gpus.pop()}"] if len(gpus) == 1 and max(gpus) else []),
        "--requeue",
        "--open-mode=append",
        f"--output={quote(str(out / LOG))}",
        *job.slurm,
    ]
    run = f"offramp job run {quote(str(submission.job_file.absolute()))} --on srun:{on} \\\n"
    run += f"    --by {quote(submission.way)} --no-calibrate --out {folder}"
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {option}" for option in options),
        "#",
        "# The plan:",
        *(f"#   {visible(' '.join(row.split()))}" for row in submission.plan),
        "#",
        "# This runs on the first node. The command brings programs and entries to the switches, starts a rank for",
        "# each task by srun, and removes everything.",
        f"export PATH={quote(same_python())}:$PATH",
        f"cd {quote(str(Path.cwd()))} || exit",
        f"mkdir -p {folder}",
        "cancelled=",
        "trap 'cancelled=yes' TERM  # scancel and time limits: the command gets the signal, too, and ends by itself",
        f"trap 'offramp job undo --on {_inside(on)}' EXIT  # whatever a killed command has left on the switches",
        "",
        run,
        *(_requeueing(job.restarts) if job.restarts else []),
    ]
    return "\n".join(lines) + "\n"


def _requeueing(restarts: int) -> list[str]:
    return [
        "status=$?",
        "",
        "# After a failure the job starts again from its checkpoint; Slurm does the same when a node has died.",
        f'if [ "$status" -ne 0 ] && [ -z "$cancelled" ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {restarts} ]; then',
        '    scontrol requeue "$SLURM_JOB_ID"',
        "fi",
        'exit "$status"',
    ]


def _inside(quoted: str) -> str:
    """A quoted word inside of single quotes."""
    return quoted.replace("'", "'\\''")


@ENGINES.register("slurm")
class SlurmEngine(BatchEngine):
    """A batch job of Slurm's."""

    what = "a batch job of Slurm's, requeued after failures"
    needs: ClassVar = ("sbatch", "scontrol", "scancel")

    def __init__(self, poll_s: float = _POLL_S) -> None:
        self._poll_s = poll_s

    def script(self, placed: PlacedJob, submission: BatchSubmission) -> str:
        """The script for sbatch."""
        return script(placed, submission)

    def run(self, placed: PlacedJob, submission: BatchSubmission, note: Callable[[str, str], None]) -> dict[str, Any]:
        """Submit the job and wait for its end; a job that is still there when this ends otherwise is cancelled.

        Returns:
            the job's accounting.

        Raises:
            OfframpError: it was refused, has failed or was cancelled; with the last line of its log.
        """
        path = submission.out / SCRIPT
        write_text(path, self.script(placed, submission))
        (submission.out / LOG).unlink(missing_ok=True)
        number = said("sbatch", "--parsable", str(path.absolute())).split(";")[0].strip()
        if not number.isdecimal():
            raise OfframpError(f"sbatch: expected a job's number: {visible(number[:60])}")
        note("start", f"Slurm job {number}")
        ended = False
        try:
            account = self._wait(number, note)
            ended = True
        finally:
            if not ended:
                said("scancel", number)
        if account["state"] != "COMPLETED":
            raise OfframpError(
                f"job {placed.job.name}: Slurm job {number} is {account['state']}{_end_of_log(submission.out)}"
            )
        return account

    def _wait(self, number: str, note: Callable[[str, str], None]) -> dict[str, Any]:
        last = ("", "")
        while True:
            row = job_row(number)
            state, restarts = row.get("JobState", ""), row.get("Restarts", "0")
            if (state, restarts) != last:
                if restarts != last[1] and last[1]:
                    note("restart", f"Slurm job {number} was requeued")
                note("state", f"{state} {row.get('Reason', '')}".replace(" None", ""))
                last = (state, restarts)
            if state in _ENDED:
                return _account(number, row)
            time.sleep(self._poll_s)


def _account(number: str, row: Mapping[str, str]) -> dict[str, Any]:
    """A job's accounting: what the controller still knows, and what its data base adds where there is one."""
    account: dict[str, Any] = {
        "engine": "slurm",
        "job": int(number),
        "state": row.get("JobState", ""),
        "restarts": int(row.get("Restarts", "0")),
        "nodes": row.get("NodeList", ""),
        "run_time": row.get("RunTime", ""),
        "exit_code": row.get("ExitCode", ""),
    }
    try:
        rows = said("sacct", "--noheader", "--parsable2", f"--jobs={number}", f"--format={','.join(_SACCT)}")
    except OfframpError:  # accounting is off
        return account
    for line in rows.splitlines()[:1]:
        account |= {name: value for name, value in zip(_SACCT, line.split("|"), strict=False) if value}
    return account


def _end_of_log(out: Path) -> str:
    path = out / LOG
    said = path.read_bytes()[-_TAIL:].decode("utf-8", "replace").splitlines() if path.is_file() else []
    lines = [line.strip() for line in said if line.strip()]
    return f": {visible(lines[-1])}" if lines else ""
