# SPDX-License-Identifier: Apache-2.0
"""Slurm's srun as the launcher of all ranks, inside of a Slurm job: one step on the hosts of the job's file.

https://slurm.schedmd.com/srun.html
"""

from __future__ import annotations

import os
import re
import signal
from dataclasses import replace
from typing import ClassVar, Final

from offramp.cluster.model import Cluster
from offramp.cluster.reach import is_here
from offramp.job.engine import ENGINES, RankCommand, RankEngine, RankStart
from offramp_base.arguments import label
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number

_FAILED: Final = re.compile(
    r"tasks? (\d+)[\d,-]*: (?:Exited with|Killed|Terminated|Segmentation|Aborted|Out Of Memory)"
)
_HOSTS: Final = "hosts"


@ENGINES.register("srun")
class SrunEngine(RankEngine):
    """One step of the Slurm job that this command runs in."""

    what = "a step of this Slurm job"
    needs: ClassVar = ("srun",)
    ending: ClassVar = (signal.SIGTERM, signal.SIGQUIT, signal.SIGKILL)  # SIGQUIT has srun kill its tasks
    together = True

    def check(self) -> None:
        """It works inside of a job alone."""
        super().check()
        if "SLURM_JOB_ID" not in os.environ:
            raise OfframpError("engine srun: not inside of a Slurm job: slurm:CLUSTER-FILE submits one")

    def reached(self, cluster: Cluster) -> Cluster:
        """Hosts by steps of the job, but laboratories' hosts, whose counters are nearer."""
        hosts = [
            host if is_here(host) and host.reach != "local" else replace(host, reach="srun") for host in cluster.hosts
        ]
        return replace(cluster, hosts=tuple(hosts))

    def commands(self, start: RankStart) -> list[RankCommand]:
        """One command; a file lists the host of each rank, because Slurm has an order of its own."""
        names = []
        for host in start.host_of:
            try:
                names.append(label(host.name))
            except ValueError as error:
                raise OfframpError(f"{host.name}: {error}") from None
        path = start.folder.absolute() / _HOSTS
        write_text(path, "".join(f"{name}\n" for name in names))
        words = ["srun", f"--nodes={len(start.hosts)}", f"--ntasks={len(names)}", "--distribution=arbitrary"]
        words += [f"--nodelist={path}", "--kill-on-bad-exit=1", "--overlap", "--", *start.launched()]
        return [RankCommand(words, range(len(names)), "srun.log")]

    def failed_rank(self, said: str) -> int | None:
        """The rank of srun's first message about a task that failed."""
        match = _FAILED.search(said)
        return int(match[1]) if match else None

    @property
    def earlier(self) -> int:
        """How often Slurm has requeued the job."""
        return whole_number(os.environ.get("SLURM_RESTART_COUNT", "0")) or 0
