# SPDX-License-Identifier: Apache-2.0
"""A real Ray cluster: a node in each host's network namespace, gone with the test."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

import pytest

from slurm_cluster import in_network_of

LIMIT_S = 120.0
PORT = 6379
OBJECT_STORE = 80 << 20


def require() -> None:
    """Skip a test where the package is missing: one clear line."""
    pytest.importorskip("ray", reason="no ray: pip install -e '.[ray]'")


class RayCluster:
    """A node at each host's address, the first of which has the cluster's state; a context manager.

    Attributes:
        environment: variables with which Ray's programs find it.
    """

    def __init__(self, hosts: dict[str, int]) -> None:
        """``hosts`` are the processes of the namespaces, by address."""
        self.hosts = hosts
        self.head = next(iter(hosts))
        self._token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}
        self.environment = {"RAY_ADDRESS": f"{self.head}:{PORT}", "RAY_USAGE_STATS_ENABLED": "0", **self._token}
        self._folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # sockets' paths have to be short
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            for address in self.hosts:
                self.start_node(address)
                self._until(address)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for address in reversed(list(self._nodes)):
            self.kill_node(address)
        shutil.rmtree(self._folder, ignore_errors=True)

    def start_node(self, address: str) -> None:
        """Start the node of a host."""
        ray = [str(Path(sys.executable).parent / "ray"), "start", "--block", f"--node-ip-address={address}"]
        ray += ["--num-cpus=1", f"--object-store-memory={OBJECT_STORE}", "--disable-usage-stats"]
        if address == self.head:
            ray += ["--head", f"--port={PORT}", "--include-dashboard=false", f"--temp-dir={self._folder}/s"]
        else:
            ray += [f"--address={self.head}:{PORT}"]
        enter = ["nsenter", f"--net=/proc/{self.hosts[address]}/ns/net", "--"]
        with (self._folder / f"{address}.log").open("ab") as log:
            self._nodes[address] = subprocess.Popen(
                [*enter, *ray], stdout=log, stderr=log, stdin=subprocess.DEVNULL, process_group=0,
                env=os.environ | self._token,
            )  # fmt: skip

    def kill_node(self, address: str) -> None:
        """A node dies: its daemons and workers, at once; ranks have to notice."""
        process = self._nodes.pop(address)
        while daemons := [pid for pid in in_network_of(self.hosts[address]) if is_ray(_command(pid))]:
            for pid in daemons:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):  # so that it is no zombie
                process.wait(0.1)
        process.wait()

    def _until(self, address: str) -> None:
        """Wait until a node says that it runs."""
        log = self._folder / f"{address}.log"
        deadline = time.monotonic() + LIMIT_S
        while "Ray runtime started" not in log.read_text("utf-8", "replace"):
            assert self._nodes[address].poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def is_ray(command: str) -> bool:
    """Whether a process is one of Ray's own, which stay between jobs."""
    return any(each in command for each in ("ray::", "/site-packages/ray/", "-m ray.", f"{os.sep}ray start"))
