# SPDX-License-Identifier: Apache-2.0
"""Engines that start each rank by a command of its own: as ``reach`` says, all by ssh, or all on this machine."""

from __future__ import annotations

from typing import ClassVar

from offramp.cluster.model import Cluster, ClusterHost
from offramp.cluster.reach import command_on
from offramp.job.engine import ENGINES, RankCommand, RankEngine, RankStart, ending_with_us, every_host


@ENGINES.register("hosts")
class OneByOneEngine(RankEngine):
    """Each rank where its host is, as the host's ``reach`` says."""

    what = "each host as its file says (reach)"

    def commands(self, start: RankStart) -> list[RankCommand]:
        """One command for each rank."""
        return [self._command(start, rank, host) for rank, host in enumerate(start.host_of)]

    def _command(self, start: RankStart, rank: int, host: ClusterHost) -> RankCommand:
        environment = {**start.common, **start.own[rank]}
        remote = host.reach == "ssh"
        words = command_on(host, [*ending_with_us(host), *start.command], environment)
        return RankCommand(words, range(rank, rank + 1), f"rank-{rank}.log", held=remote)


@ENGINES.register("ssh")
class SshEngine(OneByOneEngine):
    """All ranks by ssh, without a terminal; a rank ends with its connection."""

    what = "a connection for each rank"
    needs: ClassVar = ("ssh",)

    def reached(self, cluster: Cluster) -> Cluster:
        """All hosts by ssh."""
        return every_host(cluster, "ssh")


@ENGINES.register("local")
class LocalEngine(OneByOneEngine):
    """All ranks on this machine, whatever the cluster's file says of its hosts."""

    what = "processes of this machine"

    def reached(self, cluster: Cluster) -> Cluster:
        """All hosts are this machine."""
        return every_host(cluster, "local")
