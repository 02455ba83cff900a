# SPDX-License-Identifier: Apache-2.0
"""Restarts switches and agents of a laboratory that have died, as the operator of a rack would.

A switch comes back as an Ethernet switch that knows all hosts; jobs restore their own state on it
(:mod:`offramp.job.run`). Until then no job touches it, because its ledger is locked.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from offramp.job.ledger import opened
from offramp_base.ending.owner import owner_of
from offramp_base.errors import OfframpError
from offramp_sim.lab.devices import bring_base
from offramp_sim.lab.failures import LinkSchedule
from offramp_sim.lab.state import Lab

if TYPE_CHECKING:
    from offramp.cluster import Cluster
    from offramp.nic.process import AgentProcess
    from offramp_p4.embedded import EmbeddedSwitch
    from offramp_sim.lab.namespaces import Spaces


@dataclass
class Keeper:
    """Looks after the processes of a laboratory.

    Attributes:
        lab: the laboratory; its state file counts the restarts.
        cluster: cluster with the addresses of this laboratory.
        switches: switches by name.
        agents: agents by host and name.
        spaces: the hosts' namespaces, if they have any.
        links: the network over time.
    """

    lab: Lab
    cluster: Cluster
    switches: Mapping[str, EmbeddedSwitch]
    agents: Mapping[tuple[str, str], AgentProcess]
    spaces: Spaces | None
    links: LinkSchedule

    def look(self) -> list[str]:
        """Restart what has died; returns its names. What does not succeed is tried again by the next call."""
        done = []
        try:
            self.links.look()
        except OfframpError as error:
            sys.stderr.write(f"links: {error}\n")
        for name in self.lab.ended():
            what, _, which = name.partition(" ")
            try:
                if what == "switch":
                    pid = self._switch(which)
                elif what == "agent":
                    pid = self._agent(which)
                else:
                    continue  # a host's namespace goes with its process, and all links at it
            except OfframpError as error:
                sys.stderr.write(f"{name}: {error}\n")
                continue
            self._note(name, pid)
            done.append(name)
        return done

    def _switch(self, name: str) -> int:
        process = self.switches[name]
        switch = next(each for each in self.cluster.switches if each.name == name)
        with opened(switch):
            process.__exit__()
            process.__enter__()
            bring_base(process, self.links.now, switch)
        return process.pid

    def _agent(self, which: str) -> int:
        host, _, name = which.partition(".")
        process = self.agents[host, name]
        process.stop()
        process.start()
        if self.spaces is not None:
            self.spaces.acquaint(host)
        return process.pid

    def _note(self, name: str, pid: int) -> None:
        processes = {**self.lab.processes, name: owner_of(pid)}
        restarts = {**self.lab.restarts, name: self.lab.restarts.get(name, 0) + 1}
        self.lab = replace(self.lab, processes=processes, restarts=restarts)
        self.lab.save()
