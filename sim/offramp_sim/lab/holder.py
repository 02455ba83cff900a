# SPDX-License-Identifier: Apache-2.0
"""The process that holds a laboratory: it builds it, reports, and releases everything when it is told or killed.

``python -m offramp_sim.lab.holder`` reads a request as one line of JSON from its standard input and answers with one:
``{"folder": …}`` or ``{"error": …}``. Until it is told ``go``, it ends with its parent; one that does not last ends
with its standard input at any time.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from offramp.cluster import Cluster, ClusterHost, ClusterSwitch, read_cluster
from offramp.cluster.reach import NAMESPACE
from offramp.cluster.routes import check_connected
from offramp.cluster.write import cluster_text
from offramp_base.ending.files import write_text
from offramp_base.ending.lasting import outlast
from offramp_base.ending.left import temporary_folder
from offramp_base.ending.owner import owner, owner_of
from offramp_base.errors import OfframpError
from offramp_sim.lab.namespaces import Spaces, switch_end, unshare
from offramp_sim.lab.state import CLUSTER, Lab

if TYPE_CHECKING:
    from offramp.nic.process import AgentProcess
    from offramp_p4.embedded import EmbeddedSwitch
    from offramp_sim.lab.keeper import Keeper

MOST_HOSTS: Final = 64
_WATCH_S: Final = 0.2
_FIRST: Final = (10, 90)


def addressed(cluster: Cluster) -> Cluster:
    """The cluster with an IPv4 and an Ethernet address for each host that has none.

    Raises:
        OfframpError: more hosts than one machine should simulate, or names in place of addresses.
    """
    if len(cluster.hosts) > MOST_HOSTS:
        raise OfframpError(
            f"{cluster.origin}: {len(cluster.hosts)} hosts: expected at most {MOST_HOSTS} in a laboratory"
        )
    hosts = []
    for k, host in enumerate(cluster.hosts):
        address = host.address or ".".join(map(str, (*_FIRST, k // 250, k % 250 + 1)))
        hosts.append(replace(host, address=address, mac=host.mac or f"02:0f:f0:4c:{k >> 8:02x}:{k & 255:02x}"))
    return replace(cluster, hosts=tuple(hosts))


def build(cluster: Cluster, folder: Path, mode: str, stack: ExitStack) -> Keeper:
    """Build everything; ``stack`` ends it, and the keeper that is returned looks after it.

    Raises:
        OfframpError: something cannot be made, in one line.
    """
    # Here: what starts threads may not be imported before unshare(2).
    from offramp.fabric import Fabric
    from offramp.fabric.failures import joined_states
    from offramp.fabric.forwarding import ports_of_hosts
    from offramp_sim.lab.devices import start_agents, start_switches
    from offramp_sim.lab.failures import LinkSchedule, present
    from offramp_sim.lab.keeper import Keeper

    fabric = Fabric(cluster)
    for _, state in joined_states(fabric):
        ports_of_hosts(state)
    spaces = None if mode == "sockets" else stack.enter_context(Spaces(fabric.at(0.0)))
    switches = start_switches(fabric.at(0.0), folder, spaces, stack)
    agents = start_agents(cluster, spaces, stack)
    notes = [f"{host.name}: card {card.name} is opened by jobs" for host in cluster.hosts for card in host.cards]
    if spaces is None:
        notes.append("hosts are processes of this machine, links are sockets without rates or delays")
    inside = spaces.owners if spaces else {}
    if cluster.routing != "destination":
        notes.append(f"routing: switches forward by destination, not by {cluster.routing}")
    there = _resolved(cluster, inside, switches, agents)
    links = LinkSchedule(Fabric(there), switches, spaces, folder / CLUSTER)
    write_text(folder / CLUSTER, cluster_text(present(links.now)))
    processes = {
        **{f"host {name}": each for name, each in inside.items()},
        **{f"switch {name}": owner_of(each.pid) for name, each in switches.items()},
        **{f"agent {host}.{name}": owner_of(each.pid) for (host, name), each in agents.items()},
    }
    notes = [*(spaces.notes if spaces else []), *notes]
    lab = Lab(cluster.name, str(folder), cluster.origin, mode, owner(), processes, tuple(notes))
    lab.save()
    return Keeper(lab, there, switches, agents, spaces, links)


def _resolved(
    cluster: Cluster,
    inside: dict[str, str],
    switches: dict[str, EmbeddedSwitch],
    agents: dict[tuple[str, str], AgentProcess],
) -> Cluster:
    """The cluster as jobs find it, with the present addresses of hosts, switches and agents."""
    from offramp_sim.lab.devices import CARRIER

    def host_of(host: ClusterHost) -> ClusterHost:
        reach = NAMESPACE + inside[host.name] if host.name in inside else "local"
        sockets = {each.name: str(agents[host.name, each.name].path) for each in host.agents if not each.start}
        return replace(
            host, reach=reach, agents=tuple(replace(a, socket=sockets.get(a.name, a.socket)) for a in host.agents)
        )

    def switch_of(switch: ClusterSwitch) -> ClusterSwitch:
        if inside:  # the ports are interfaces of this process' namespace
            switch = replace(switch, reach=NAMESPACE + owner(), interface=switch_end(cluster, switch.name, "{port}"))
        if switch.name not in switches:
            return replace(switch, control=None)
        address = switches[switch.name].address
        return replace(switch, control=address, transport=CARRIER, ca=None, cert=None, key=None)

    return replace(cluster, hosts=tuple(map(host_of, cluster.hosts)), switches=tuple(map(switch_of, cluster.switches)))


def main() -> None:
    """Answer one request, and hold what it made."""
    request: dict[str, Any] = json.loads(sys.stdin.readline())
    if request["lasting"]:
        outlast()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _end)
    try:
        _hold(request)
    except OfframpError as error:
        _say({"error": str(error)})


def _hold(request: dict[str, Any]) -> None:
    cluster = addressed(read_cluster(request["cluster"]))
    cluster = replace(cluster, name=request.get("name") or cluster.name)
    check_connected(cluster)
    mode = request["mode"]
    if mode != "sockets":
        unshare(user=mode == "user")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(temporary_folder()))
        keeper = build(cluster, folder, mode, stack)
        _say({"folder": keeper.lab.folder})
        if sys.stdin.readline().strip() != "go":
            return
        _detach(folder)
        held = [] if request["lasting"] else [sys.stdin]
        while not select.select(held, [], [], _WATCH_S)[0]:
            keeper.look()


def _detach(folder: Path) -> None:
    """Detach from the terminal of the starting process; only the end of standard input matters from now on."""
    log = os.open(folder / "lab.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(log, number)


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _end(number: int, _: object) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
