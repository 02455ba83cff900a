# SPDX-License-Identifier: Apache-2.0
"""A network namespace for each local rank, with an interface for each dimension at its bandwidth.

Token buckets make a process wait; here the kernel does, packet by packet: every interface is a veth pair into the
bridge of its dimension, behind a hierarchical token bucket (HTB) of ``tc``. Needs root.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from offramp.themis.network import Network
from offramp_base.ending.left import namespaces as made_namespaces
from offramp_base.errors import OfframpError
from offramp_base.iproute import ip, tc

CONTROL = "control"
"""Name of the unlimited interface over which ranks agree."""

_BURST_S = 0.02
"""Duration of a burst: on a busy machine HTB wakes up late, and time that a burst does not make up for is lost."""
_LEAST_BURST = 3200
"""Least burst in bytes, two packets: HTB sends nothing if a packet does not fit in the burst."""

_TCP = ("net.ipv4.tcp_slow_start_after_idle=0", "net.ipv4.tcp_congestion_control=reno")
"""Settings with which a short transfer starts at full rate after a pause, without searching for the rate as BBR
does."""


def interface(dim: int) -> str:
    """Name of the interface of a dimension, counted from 0."""
    return f"dim{dim + 1}"


@contextmanager
def namespaces(network: Network) -> Iterator[list[str]]:
    """Make a namespace for each rank and yield their names; they are removed when the context ends.

    Raises:
        OfframpError: namespaces are not permitted, or there are more ranks than addresses.
    """
    if network.npus > 250:
        raise OfframpError(f"{network.name}: {network.npus} namespaces: expected at most 250")
    with made_namespaces(["hub", *map(str, range(network.npus))]) as (hub, *ranks):
        rates = {CONTROL: None} | {interface(k): d.used_bps for k, d in enumerate(network.dimensions)}
        for subnet, (name, rate_bps) in enumerate(rates.items()):
            ip("-n", hub, "link", "add", name, "type", "bridge")
            ip("-n", hub, "link", "set", name, "up")
            for rank, where in enumerate(ranks):
                _join(hub, where, name, f"10.{subnet}.0.{rank + 1}/24", f"p{subnet}-{rank}")
                if rate_bps is not None:
                    _limit(where, name, rate_bps)
        yield ranks


def _join(hub: str, where: str, name: str, address: str, port: str) -> None:
    ip("-n", hub, "link", "add", port, "type", "veth", "peer", "name", name, "netns", where)
    ip("-n", hub, "link", "set", port, "master", name, "up")
    ip("-n", where, "address", "add", address, "dev", name)
    # Whole packets, not the 64 KiB that the kernel passes on at once: a limit of bytes per second should be smooth.
    ip("-n", where, "link", "set", name, "gso_max_segs", "1", "up")
    # Nor should it wait for acknowledgements that TCP holds back.
    subnet = f"{address.rsplit('.', 1)[0]}.0/24"
    ip("-n", where, "route", "change", subnet, "dev", name, "quickack", "1", "initcwnd", "64")
    ip("netns", "exec", where, "sysctl", "-qw", *_TCP)


def _limit(where: str, name: str, rate_bps: float) -> None:
    burst = max(_LEAST_BURST, round(rate_bps / 8 * _BURST_S))
    tc("-n", where, "qdisc", "add", "dev", name, "root", "handle", "1:", "htb", "default", "1")
    rate = ("rate", f"{round(rate_bps)}bit", "burst", str(burst), "cburst", str(burst))
    tc("-n", where, "class", "add", "dev", name, "parent", "1:", "classid", "1:1", "htb", *rate)
