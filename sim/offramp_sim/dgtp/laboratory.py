# SPDX-License-Identifier: Apache-2.0
"""Places for a run's processes: a laboratory whose hosts are the machines, or this machine's loopback interface.

In the laboratory, each machine is a network namespace behind a link at its card's rate to one switch, which never
blocks: the star of section III-B. On loopback only the rates that the scheduler gives limit flows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

from offramp.cluster.reach import NAMESPACE
from offramp.dgtp.runtime.run import HostPlace
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_sim.lab.start import held, possible_mode

if TYPE_CHECKING:
    from offramp.dgtp.problem import Problem

NETWORKS: Final = {
    "auto": "the laboratory, where this user may have one",
    "lab": "network namespaces with rated links; needs root",
    "loopback": "this machine's; the scheduler alone keeps rates",
}


@contextmanager
def places(problem: Problem, network: str = "auto") -> Iterator[tuple[list[HostPlace], str]]:
    """Places for the processes of each machine while the block runs, and why they are not a laboratory; or empty.

    Raises:
        OfframpError: no network namespaces here, though the network is to be ``lab``.
    """
    mode, reason = possible_mode() if network != "loopback" else ("loopback", "")
    if mode == "user":
        reason = "only root may enter the namespaces of a laboratory"
    if mode != "root":
        if network == "lab":
            raise OfframpError(f"the laboratory needs network namespaces: {reason}")
        yield [HostPlace()] * len(problem.cluster), reason
        return
    with temporary_folder() as folder:
        path = Path(folder) / "cluster.yaml"
        path.write_text(yaml.safe_dump(_cluster(problem)))
        with held(path, mode=mode) as (lab, _):
            hosts = lab.cluster().hosts
            yield [HostPlace(host.where, _namespace(host.reach)) for host in hosts], ""


def _cluster(problem: Problem) -> dict[str, object]:
    """A cluster file's content: hosts by number, since names of machines may be anything."""
    names = [f"m{number}" for number in range(len(problem.cluster))]
    rates = [max(each.ingress_bps, each.egress_bps) for each in problem.cluster.machines]
    return {
        "name": f"dgtp-{os.getpid()}",
        "hosts": [{"name": name} for name in names],
        "switches": [{"name": "star", "target": "plain"}],
        "links": [{"ends": [name, "star"], "rate": round(rate)} for name, rate in zip(names, rates, strict=True)],
    }


def _namespace(reach: str) -> str:
    """The namespace's file, of a host that a laboratory has."""
    pid = reach.removeprefix(NAMESPACE).split(".")[0]
    return f"/proc/{pid}/ns/net"
