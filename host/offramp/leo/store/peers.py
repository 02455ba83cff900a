# SPDX-License-Identifier: Apache-2.0
"""Servers with which the store is compared: the machine's redis and memcached, each on a free loopback port."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from offramp.leo.store.process import StoreProcess
from offramp.leo.store.settings import StoreSettings
from offramp_base.ending.children import stop, until_parent_ends
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError

START_S: Final = 10.0
PACKAGES: Final = {"redis-server": "redis-server", "memcached": "memcached", "valkey-server": "valkey-server"}


class Contender(NamedTuple):
    """A server under load.

    Attributes:
        name: name in tables.
        address: its address, HOST:PORT.
        dialect: its protocol, ``resp`` or ``memcached``.
        pid: id of its process.
    """

    name: str
    address: str
    dialect: str
    pid: int


def free_port() -> int:
    """A free loopback port."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextmanager
def running_store(spin_us: int = 50) -> Iterator[list[Contender]]:
    """A store without persistence, once for each of its protocols."""
    settings = StoreSettings(listen="", resp="127.0.0.1:0", memcached="127.0.0.1:0", spin_us=spin_us)
    with StoreProcess(settings) as store:
        yield [
            Contender("LEO, redis' protocol", store.addresses["resp"], "resp", store.pid),
            Contender("LEO, memcached's protocol", store.addresses["memcached"], "memcached", store.pid),
        ]


@contextmanager
def running_peer(program: str) -> Iterator[Contender]:
    """The machine's ``redis-server``, ``valkey-server`` or ``memcached``, without persistence.

    Raises:
        OfframpError: it is not installed, or does not listen.
    """
    executable = shutil.which(program)
    if executable is None:
        raise OfframpError(f"{program} is not installed: apt-get install {PACKAGES[program]}")
    port = free_port()
    with temporary_folder() as folder:
        if program == "memcached":
            command = [executable, "-l", "127.0.0.1", "-p", str(port), "-m", "1024", "-u", "root"]
        else:
            command = [
                executable,
                "--bind",
                "127.0.0.1",
                "--port",
                str(port),
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                folder,
            ]
        process = subprocess.Popen(
            [*until_parent_ends(), *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            _await(port, program, process)
            dialect = "memcached" if program == "memcached" else "resp"
            yield Contender(program.removesuffix("-server"), f"127.0.0.1:{port}", dialect, process.pid)
        finally:
            stop(process)


def _await(port: int, program: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as sock:
            if sock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise OfframpError(f"{program} does not listen at port {port}; exit code {process.poll()}")
