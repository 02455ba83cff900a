# SPDX-License-Identifier: Apache-2.0
"""Network namespaces for tests: veth pairs that nothing else on the machine sees."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from typing import Self, TypeVar

import pytest

from offramp_base.iproute import enter_namespace

T = TypeVar("T")


def require() -> None:
    """Skip the test where namespaces cannot be made."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    name = f"probe-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        pytest.skip("the kernel does not let us make network namespaces")
    subprocess.run(["ip", "netns", "del", name], check=True)


class Namespace:
    """A namespace with its own interfaces, removed at the end; a context manager."""

    _count = 0

    def __init__(self) -> None:
        Namespace._count += 1
        self.name = f"offramp-{os.getpid()}-{Namespace._count}"

    def __enter__(self) -> Self:
        _ip("netns", "add", self.name)
        self.run("ip", "link", "set", "lo", "up")
        return self

    def __exit__(self, *_: object) -> None:
        _ip("netns", "del", self.name)

    @property
    def command(self) -> list[str]:
        """Words to put before a command to run it here."""
        return ["ip", "netns", "exec", self.name]

    def run(self, *command: str) -> None:
        """Run a command here."""
        subprocess.run([*self.command, *command], check=True, capture_output=True)

    def veth(self, left: str, right: str) -> None:
        """A pair of interfaces, up and without IPv6's own chatter."""
        self.run("ip", "link", "add", left, "type", "veth", "peer", "name", right)
        for name in (left, right):
            self.run("sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1")
            self.run("ip", "link", "set", name, "up")

    def cable(self, left: str, right: str, netem: str) -> None:
        """Two interfaces, up, and between them a bridge whose ports let frames through as ``netem`` says, both ways.

        Packet sockets hear and send frames outside of their own interface's queueing discipline, so that netem there
        would do nothing to them.
        """
        bridge = f"{left}-br"
        self.run("ip", "link", "add", bridge, "type", "bridge")
        self.run("sysctl", "-qw", f"net.ipv6.conf.{bridge}.disable_ipv6=1")
        self.run("ip", "link", "set", bridge, "up")
        for end in (left, right):
            inner = f"{end}-in"
            self.veth(end, inner)
            self.run("ip", "link", "set", inner, "master", bridge)
            self.run("bridge", "link", "set", "dev", inner, "learning", "off")
            self.run("tc", "qdisc", "add", "dev", inner, "root", "netem", *netem.split())

    def call(self, function: Callable[[], T]) -> T:
        """Call a function here; sockets that it opens stay here."""
        results: list[T] = []
        errors: list[BaseException] = []

        def work() -> None:
            try:
                enter_namespace(self.name)
                results.append(function())
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if errors:
            raise errors[0]
        return results[0]


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
