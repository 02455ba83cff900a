# SPDX-License-Identifier: Apache-2.0
"""Links for measurements: both ends as ports of the agent, and a process that is the other end."""

from __future__ import annotations

import secrets
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from offramp.nic.build import agent_program
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.iproute import ip

LINKS: Final = ("veth", "memif", "loop")
"""Packet sockets on a veth pair; shared memory of two processes; rings inside one process."""
_MEMIF: Final = "socket-abstract=no,rsize=11"
_END_S: Final = 5.0


@contextmanager
def ends(link: str) -> Iterator[tuple[str, str]]:
    """Both ends of a link as ports of the agent; of ``loop`` the agent has both.

    Interfaces are made in the calling thread's network namespace, which should be its own, such as that of
    :func:`offramp_p4.bench.namespace.in_namespace`: they vanish with it, even after a kill.

    Raises:
        OfframpError: no right to make interfaces.
    """
    if link == "loop":
        yield "loop", ""
    elif link == "memif":
        with temporary_folder() as folder:
            base = f"socket={folder}/memif.sock,{_MEMIF}"
            yield f"net_memif0,role=client,{base}", f"net_memif0,role=server,{base}"
    else:
        name = secrets.token_hex(3)
        near, far = f"n{name}", f"f{name}"
        ip("link", "set", "lo", "up")
        ip("link", "add", near, "type", "veth", "peer", "name", far)
        try:
            for end in (near, far):
                ip("link", "set", end, "addrgenmode", "none", "up")
            yield near, far
        finally:
            ip("link", "del", near)


@contextmanager
def reflector(port: str) -> Iterator[None]:
    """A process at the other end that answers each upload with the result of a vertex that is its own only neighbour.

    It ends with this process, however that ends, so nothing keeps the link's namespace.

    Raises:
        OfframpError: it does not start.
    """
    command = [str(agent_program()), "--reflect", "--until-eof", "--compression", "none", "--port", port]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if not process.stdout.readline().startswith("ready"):
            raise OfframpError("the other end of the link did not start")
        yield
    finally:
        end(process, signal.SIGTERM)
        process.stdin.close()
        process.stdout.close()


def end(process: subprocess.Popen[str], by: signal.Signals) -> None:
    """End a child by a signal, or by force if it does not react."""
    process.send_signal(by)
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
