# SPDX-License-Identifier: Apache-2.0
"""Namespaces and rated veth pairs of a laboratory: one namespace for each host, one for all switches.

A namespace has no name: it lives as long as a process that waits for the end of the laboratory's process, so nothing
stays behind, however that ends. All batches of ``ip`` and ``tc`` run in one process for each namespace.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from offramp.cluster import Cable, Cluster, ClusterHost
from offramp.cluster.model import ClusterSwitch
from offramp.fabric.forwarding import BASE_PROGRAMS, ports_of_hosts
from offramp_base.ending.owner import owner_of
from offramp_base.errors import OfframpError
from offramp_base.ethtool import send_as_on_a_line
from offramp_base.iproute import enter_namespace
from offramp_base.private_folder import remember_roots_folders

if TYPE_CHECKING:
    from offramp.fabric import Fabric

_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWNET: Final = 0x40000000
_BURST_S: Final = 0.004
_QUEUE_S: Final = 0.05
"""Longest queue of a link, in seconds at its rate."""
MTU: Final = 9000


def unshare(*, user: bool) -> None:
    """Put this process, which has one thread, into a new network namespace; with ``user``, without root's rights.

    Raises:
        OfframpError: the kernel refuses.
    """
    uid, gid = os.geteuid(), os.getegid()
    if user:
        remember_roots_folders()
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET | (_CLONE_NEWUSER if user else 0)):
        which = "network namespaces without root" if user else "network namespaces (need root)"
        raise OfframpError(f"{which}: {os.strerror(ctypes.get_errno())}; the mode sockets needs no rights")
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")


def in_namespace_of(pid: int, work: Callable[[], object]) -> None:
    """Run ``work`` in the network namespace of another process, in a thread that ends with it.

    Raises:
        OfframpError: the process is gone, or what ``work`` raises.
    """
    faults: list[BaseException] = []

    def enter() -> None:
        try:
            enter_namespace(f"/proc/{pid}/ns/net")
            work()
        except BaseException as error:
            faults.append(error)

    thread = threading.Thread(target=enter, name="namespace")
    thread.start()
    thread.join()
    if faults:
        raise faults[0]


def _send_as_on_lines(names: Sequence[str]) -> None:
    for name in names:
        send_as_on_a_line(name)


def switch_end(cluster: Cluster, name: str, port: int | str) -> str:
    """The interface of a switch's port, in the switches' namespace."""
    number = next(k for k, each in enumerate(cluster.switches) if each.name == name)
    return f"s{number}p{port}"


class Spaces:
    """Namespaces of a cluster's hosts, joined to this process' one; a context manager.

    Attributes:
        pids: PIDs of the process that keeps each host's namespace.
        notes: what the kernel lacks.

    Raises:
        OfframpError: no right to make them, or no iproute2.
    """

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._cluster = fabric.cluster
        self._stack = ExitStack()
        self.pids: dict[str, int] = {}
        self.notes: list[str] = []
        self._has_delays = True

    def __enter__(self) -> Self:
        try:
            self._make()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def owners(self) -> dict[str, str]:
        """The processes that keep the namespaces, in the form of owners' names."""
        return {host: owner_of(pid) for host, pid in self.pids.items()}

    def inside(self, host: str) -> list[str]:
        """Words that go before a command to run it in the namespace of a host."""
        return ["nsenter", f"--net=/proc/{self.pids[host]}/ns/net", "--"]

    def _make(self) -> None:
        cluster = self._cluster
        _run(["ip", "link", "set", "lo", "up"])
        for host in cluster.hosts:
            self.pids[host.name] = self._keeper()
        _batch(["ip"], [self._pair(link) for link in cluster.links])
        for host in cluster.hosts:
            _batch([*self.inside(host.name), "ip"], self._configuration(host))
            self.acquaint(host.name)
        _batch(["ip"], [f"link set {end} addrgenmode none up" for end in self._switch_ends()])
        for name in self._switch_ends():
            send_as_on_a_line(name)
        for host in cluster.hosts:
            names = [str(link.near(host.name).port) for link in cluster.links_of[host.name]]
            in_namespace_of(self.pids[host.name], partial(_send_as_on_lines, names))
        self._bridge()
        if any(link.delay_ns for link in cluster.links):
            self._try_delays()
        for host in cluster.hosts:
            self._limit(host.name, [(str(ln.near(host.name).port), ln) for ln in cluster.links_of[host.name]])
        self._limit(None, [(name, link) for name, link in self._switch_ends().items()])

    def _keeper(self) -> int:
        keeper = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo; read _"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._stack.callback(keeper.wait)
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        self._stack.callback(keeper.stdin.close)
        self._stack.callback(keeper.stdout.close)
        if not keeper.stdout.readline():
            raise OfframpError("network namespaces: the kernel refuses them")
        return keeper.pid

    def _end(self, link: Cable, which: str) -> str:
        """A veth's name, and the namespace that it goes to."""
        end = getattr(link, which)
        if isinstance(self._cluster.by_name[end.node], ClusterSwitch):
            return switch_end(self._cluster, end.node, end.port)
        return f"{end.port} netns {self.pids[end.node]}"

    def _pair(self, link: Cable) -> str:
        a, b = self._end(link, "a"), self._end(link, "b")
        return f"link add {a} mtu {MTU} type veth peer name {b} mtu {MTU}"

    def _switch_ends(self) -> dict[str, Cable]:
        return {
            switch_end(self._cluster, end.node, end.port): link
            for link in self._cluster.links
            for end in (link.a, link.b)
            if isinstance(self._cluster.by_name[end.node], ClusterSwitch)
        }

    def acquaint(self, host: str) -> None:
        """Tell a host the Ethernet addresses of all others, so that it need not resolve them.

        A driver that sets the host's own address makes the kernel forget them.

        Raises:
            OfframpError: its first interface is not up.
        """
        links = self._cluster.links_of[host]
        if links:
            name = links[0].near(host).port
            others = [each for each in self._cluster.hosts if each.name != host]
            commands = [f"neigh replace {o.address} lladdr {o.mac} dev {name} nud permanent" for o in others]
            _batch([*self.inside(host), "ip"], commands)

    def _configuration(self, host: ClusterHost) -> list[str]:
        """Commands that give a host its addresses; all hosts are on one link."""
        links = self._cluster.links_of[host.name]
        commands = ["link set lo up"]
        for k, link in enumerate(links):
            name = link.near(host.name).port
            commands += [f"link set {name} address {host.mac}"] if k == 0 else []
            commands.append(f"link set {name} addrgenmode none up")
        if links:
            name = links[0].near(host.name).port
            commands += [f"address add {host.address}/32 dev {name}", f"route add 0.0.0.0/0 dev {name} initcwnd 32"]
        return commands

    def _bridge(self) -> None:
        """Make the bridge for switches without programs; it knows where all hosts are, so it never floods."""
        for number, each in enumerate(self._cluster.switches):
            if each.target in BASE_PROGRAMS:
                continue
            ends = [f"s{number}p{link.near(each.name).port}" for link in self._cluster.links_of[each.name]]
            _batch(["ip"], [f"link add s{number} type bridge", f"link set s{number} mtu {MTU} up"])
            _batch(["ip"], [f"link set {end} master s{number}" for end in ends])
            _batch(["bridge"], [f"link set dev {end} learning off flood off" for end in ends])
            self.notes.append(f"{each.name} ({each.target}) is a bridge of the kernel: it forwards, and takes nothing")

        self.forward(ports_of_hosts(self._fabric))

    def forward(self, ports: Mapping[str, Mapping[int, int]]) -> None:
        """Let bridges forward by these ports, by switch and by the Ethernet address of a host."""
        for number, each in enumerate(self._cluster.switches):
            if each.target not in BASE_PROGRAMS:
                entries = [(mac.to_bytes(6, "big").hex(":"), port) for mac, port in ports[each.name].items()]
                _batch(["bridge"], [f"fdb replace {mac} dev s{number}p{port} master static" for mac, port in entries])

    def cut(self, fabric: Fabric) -> None:
        """Take down the interfaces of links between switches that carry nothing, and let those of others go up."""
        switches = {each.name for each in self._cluster.switches}
        ends = [
            f"link set {switch_end(self._cluster, end.node, end.port)} {'up' if fabric.works[2 * k] else 'down'}"
            for k, cable in enumerate(self._cluster.links)
            for end in (cable.a, cable.b)
            if switches >= {cable.a.node, cable.b.node}
        ]
        _batch(["ip"], ends)

    def _try_delays(self) -> None:
        try:
            _run(["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"])
            _run(["tc", "qdisc", "del", "dev", "lo", "root"])
        except OfframpError:
            self._has_delays = False
            self.notes.append("links have no delays: this kernel has no netem (sch_netem)")

    def _limit(self, host: str | None, ends: Sequence[tuple[str, Cable]]) -> None:
        """Set the rate (HTB) and, behind it, the delay of each end's egress."""
        commands: list[str] = []
        for name, link in ends:
            burst = max(link.rate_bps / 8 * _BURST_S, 4 * MTU)
            limit = max(8 * MTU, round(link.rate_bps / 8 * _QUEUE_S))
            rate = f"rate {link.rate_bps}bit burst {burst:.0f} cburst {burst:.0f} quantum {4 * MTU}"
            commands += [
                f"qdisc add dev {name} root handle 1: htb default 1",
                f"class add dev {name} parent 1: classid 1:1 htb {rate}",
            ]
            leaf = f"netem limit {limit // 1500 + 10_000} delay {link.delay_ns / 1e3:.3f}us"
            delayed = link.delay_ns and self._has_delays
            commands.append(f"qdisc add dev {name} parent 1:1 {leaf if delayed else f'bfifo limit {limit}'}")
        _batch([*(self.inside(host) if host else []), "tc"], commands)


def _batch(command: list[str], lines: list[str]) -> None:
    if lines:
        _run([*command, "-batch", "-"], "\n".join(lines) + "\n")


def _run(command: list[str], given: str | None = None) -> None:
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, input=given)
    except FileNotFoundError as error:
        raise OfframpError(f"no {error.filename} on PATH; it comes with iproute2 or util-linux") from None
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if not line.startswith("Warning:")]
        tool = next(word for word in command if word in ("ip", "tc", "bridge"))
        raise OfframpError(f"{tool}: {' '.join(errors[:2]) or 'failed'}")
