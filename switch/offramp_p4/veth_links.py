# SPDX-License-Identifier: Apache-2.0
"""Pairs of veth interfaces between this process and a switch in a network namespace of its own.

The namespace takes the pairs with it when the switch ends, however it ends.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import subprocess
import threading
from collections.abc import Sequence

from offramp_base.errors import OfframpError

_TOOLS = ("unshare", "ip", "sh")


class VethLinks:
    """A pair for each of the switch's ports: ``portN`` there, and a name that nothing else has here.

    Args:
        ports: their numbers.
        mtu: bytes.

    Attributes:
        switch_ends: interfaces in the switch's namespace, in the order of the ports.
        host_ends: their other ends, in the namespace of the thread that makes this.
        launcher: command that makes the pairs and starts the switch, which follows as arguments.

    Raises:
        OfframpError: the tools that make pairs are missing.
    """

    def __init__(self, ports: Sequence[int], mtu: int = 1500) -> None:
        missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
        if missing:
            raise OfframpError(
                f"veth pairs: no {' and '.join(missing)} on PATH; they come with util-linux and iproute2"
            )
        if os.geteuid() != 0:
            raise OfframpError("veth pairs to the embedded switch need root; transport unix or udp needs no rights")
        name = secrets.token_hex(3)
        self.switch_ends = [f"port{number}" for number in ports]
        self.host_ends = [f"of{name}-{number}" for number in ports]
        here = threading.get_native_id()
        script = "set -e; ip link set lo up; "
        for switch, host in zip(self.switch_ends, self.host_ends, strict=True):
            script += (
                f"ip link add {switch} mtu {mtu} type veth peer name {host} mtu {mtu} netns {here}; {_up(switch)}; "
            )
        self.launcher = ["unshare", "--net", "sh", "-c", script + 'exec "$@"', "switch"]

    def up(self) -> None:
        """Bring the ends here up, once the switch runs.

        Raises:
            OfframpError: they are gone.
        """
        for name in self.host_ends:
            done = subprocess.run(shlex.split(_up(name)), check=False, capture_output=True, text=True)
            if done.returncode:
                raise OfframpError(f"interface {name}: {done.stderr.strip()}")


def _up(name: str) -> str:
    return f"ip link set {name} addrgenmode none up"  # no IPv6 chatter
