# SPDX-License-Identifier: Apache-2.0
"""PyTorch's launcher: one torchrun on each host, which ``reach`` leads to.

https://pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

import sys

from offramp.cluster.reach import command_on
from offramp.job.engine import ENGINES, RankCommand, RankEngine, RankStart, ending_with_us


@ENGINES.register("torchrun")
class TorchRunEngine(RankEngine):
    """One torchrun on each host."""

    what = "PyTorch's torchrun on each host"

    def commands(self, start: RankStart) -> list[RankCommand]:
        """One command for each host, which starts the host's ranks."""
        commands, first = list[RankCommand](), 0
        for node, host in enumerate(start.hosts):
            words = [sys.executable, "-m", "torch.distributed.run"]
            words += [f"--nnodes={len(start.hosts)}", f"--node-rank={node}", f"--nproc-per-node={host.processes}"]
            words += [f"--master-addr={start.own[0]['MASTER_ADDR']}", f"--master-port={start.common['MASTER_PORT']}"]
            words += ["--no-python", "--", *start.launched()]  # else it takes ranks' options for its own, shortened
            remote = host.reach == "ssh"
            reached = command_on(host, [*ending_with_us(host), *words], start.common)
            ranks = range(first, first + host.processes)
            commands.append(RankCommand(reached, ranks, f"torchrun-{node}.log", held=remote))
            first = ranks.stop
        return commands
