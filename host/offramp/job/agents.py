# SPDX-License-Identifier: Apache-2.0
"""SmartNIC agents that a job depends on."""

from __future__ import annotations

from dataclasses import dataclass

from offramp.cluster.model import Agent, Cluster, ClusterHost
from offramp_base.errors import OfframpError


def agent_at_link(cluster: Cluster, host: ClusterHost) -> Agent | None:
    """The agent whose port is the host's first interface, if there is one."""
    links = cluster.links_of[host.name]
    first = str(links[0].near(host.name).port) if links else None
    return next((each for each in host.agents if each.interface == first), None) if first else None


@dataclass
class AgentThere:
    """An agent that has to answer; nothing is put there.

    Attributes:
        agent: the agent.
        host: name of its host.
        place: ``FILE:LINE`` of the host.
    """

    agent: Agent
    host: str
    place: str

    @property
    def name(self) -> str:
        """Name of the step for people."""
        return f"agent {self.agent.name} of {self.host}"

    def apply(self) -> None:
        """Ask it.

        Raises:
            OfframpError: it is not there.
        """
        fault = self.holds()
        if fault:
            raise OfframpError(f"{self.place}: {fault}")

    def undo(self) -> None:
        """There is nothing to take away: ranks' queues end with them."""

    def holds(self) -> str:
        """The reason why the agent cannot be used; else empty."""
        from offramp.nic.connection import AgentConnection

        try:
            AgentConnection(self.agent.socket).close()
        except OfframpError as error:
            return f"{self.name} does not answer: {error}"
        return ""
