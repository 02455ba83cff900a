# SPDX-License-Identifier: Apache-2.0
"""Links with a rate: a namespace for each rank, joined by veth pairs to a bridge where the switch is.

Frames of all-reduce cross them in UDP, gloo's in TCP; HTB limits both ends of each pair to the rate. Everything is in
the namespaces of this thread and of the processes that it starts, and ends with them.
"""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from typing import Final, Self

from offramp_base.errors import OfframpError

INTERFACE: Final = "rated0"
"""A rank's interface, in its namespace."""
_NETWORK: Final = "10.78.0"
_PORT: Final = 7000
_QUEUE_PACKETS: Final = 2000


class RatedLinks:
    """Rated links of all ranks; a context manager for a thread that is in a namespace of its own.

    Args:
        ranks: how many.
        rate_bps: rate of each link, each way.
        mtu: bytes.

    Attributes:
        switch_ends: what the switch opens.
        host_ends: what each rank opens in its namespace.
        spaces: processes that keep the ranks' namespaces.

    Raises:
        OfframpError: no right to make them, or no iproute2.
    """

    def __init__(self, ranks: int, rate_bps: int, mtu: int) -> None:
        self._rate_bps, self._mtu = rate_bps, mtu
        self._ranks = ranks
        self._stack = ExitStack()
        self.spaces: list[int] = []
        # Nobody but the ranks reaches the bridge, so the first sender at a port is its rank.
        self.switch_ends = [f"udp:{_NETWORK}.1:{_PORT + rank},insecure" for rank in range(ranks)]
        self.host_ends = [f"udp:{_NETWORK}.1:{_PORT + rank}" for rank in range(ranks)]

    def __enter__(self) -> Self:
        try:
            _run("ip link set lo up")
            _run("ip link add bridge type bridge")
            _run(f"ip address add {_NETWORK}.1/24 dev bridge")
            _run(f"ip link set bridge mtu {self._mtu} up")
            for rank in range(self._ranks):
                self._join(rank)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _join(self, rank: int) -> None:
        keeper = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo; read _"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._stack.callback(keeper.wait)
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        self._stack.callback(keeper.stdin.close)
        self._stack.callback(keeper.stdout.close)
        keeper.stdout.readline()
        inside = f"nsenter --net=/proc/{keeper.pid}/ns/net "
        near = f"rank{rank}"
        _run(f"ip link add {near} mtu {self._mtu} type veth peer name {INTERFACE} mtu {self._mtu} netns {keeper.pid}")
        _run(f"ip link set {near} master bridge up")
        _run(f"{inside}ip address add {_NETWORK}.{rank + 2}/24 dev {INTERFACE}")
        _run(f"{inside}ip link set {INTERFACE} up")
        _run(f"{inside}ip link set lo up")
        for prefix, name in (("", near), (inside, INTERFACE)):
            burst = max(self._rate_bps // 8 // 250, 16 * self._mtu)
            _run(f"{prefix}tc qdisc add dev {name} root handle 1: htb default 1")
            _run(
                f"{prefix}tc class add dev {name} parent 1: classid 1:1 htb rate {self._rate_bps}bit "
                f"burst {burst} cburst {burst} quantum {4 * self._mtu}"
            )
            _run(f"{prefix}tc qdisc add dev {name} parent 1:1 pfifo limit {_QUEUE_PACKETS}")
        self.spaces.append(keeper.pid)


def _run(command: str) -> None:
    try:
        done = subprocess.run(command.split(), check=False, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise OfframpError(f"rated links: no {error.filename} on PATH; it comes with iproute2 or util-linux") from None
    if done.returncode:
        raise OfframpError(f"rated links: {command}: {done.stderr.strip()}")
