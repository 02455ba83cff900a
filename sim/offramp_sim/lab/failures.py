# SPDX-License-Identifier: Apache-2.0
"""Links of a laboratory that fail and are mended at their times: switches forward round them, interfaces go down."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from offramp.cluster.model import LinkFailure
from offramp.cluster.write import cluster_text
from offramp.fabric import Fabric
from offramp.fabric.forwarding import ports_of_hosts
from offramp.job.ledger import opened
from offramp_base.ending.files import write_text
from offramp_sim.lab.devices import steer

if TYPE_CHECKING:
    from offramp.cluster import Cluster
    from offramp_p4.embedded import EmbeddedSwitch
    from offramp_sim.lab.namespaces import Spaces


@dataclass
class LinkSchedule:
    """The network of a laboratory over time.

    Attributes:
        fabric: the network with the failures of its file, whose times count from ``begun_s``.
        switches: embedded switches by name.
        spaces: namespaces with the links' interfaces, if there are any.
        file: the laboratory's cluster file, whose failures are those of the present.
        now: the network as switches forward now.
        begun_s: when the laboratory began, by the monotonic clock.
    """

    fabric: Fabric
    switches: Mapping[str, EmbeddedSwitch]
    spaces: Spaces | None
    file: Path
    now: Fabric = field(init=False)
    begun_s: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.now = self.fabric.at(0.0)
        if self.spaces is not None:
            self.spaces.cut(self.now)

    def look(self) -> None:
        """Bring links and switches to their present state; a job that ends may have put older entries back.

        Raises:
            OfframpError: a switch that does not answer; the next call tries again.
        """
        if not self.fabric.cluster.failures:
            return
        due = self.fabric.at((time.monotonic() - self.begun_s) * 1e9)
        if self.spaces is not None and due.without < self.now.without:
            self.spaces.cut(due)
        ports = ports_of_hosts(due)
        for switch in self.fabric.cluster.switches:
            if switch.name in self.switches:
                with opened(switch):
                    steer(self.switches[switch.name], ports[switch.name])
        if due.without != self.now.without:
            if self.spaces is not None:
                self.spaces.forward(ports)
                self.spaces.cut(due)
            self.now = due
            write_text(self.file, cluster_text(present(due)))


def present(fabric: Fabric) -> Cluster:
    """The cluster, with the links that carry nothing now as its only failures."""
    pairs = dict.fromkeys((c.a.node, c.b.node) for k, c in enumerate(fabric.cluster.links) if k in fabric.without)
    return replace(fabric.cluster, failures=tuple(LinkFailure(pair) for pair in pairs))
