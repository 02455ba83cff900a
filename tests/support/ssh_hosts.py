# SPDX-License-Identifier: Apache-2.0
"""OpenSSH servers in hosts' network namespaces, with keys of the test's own, and an agent that has the client's key."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from pathlib import Path
from typing import Self

from slurm_cluster import kill_beside

LIMIT_S = 60.0
CONF = """\
Port 22
ListenAddress {address}
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/user.pub
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
"""


class SshHosts:
    """A server at each host's address, in its namespace; a context manager.

    Attributes:
        known_hosts: file with the servers' keys.
        environment: variables with which ssh finds its key.
    """

    def __init__(self, folder: Path, hosts: dict[str, int]) -> None:
        """``hosts`` are the processes of the namespaces, by address."""
        self.folder, self.hosts = folder, hosts
        self.known_hosts = folder / "known_hosts"
        self.environment = {"SSH_AUTH_SOCK": str(folder / "agent.sock")}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            for name in ("host", "user"):
                words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)]
                subprocess.run(words, check=True)
            key = " ".join((self.folder / "host.pub").read_text().split()[:2])
            self.known_hosts.write_text("".join(f"{address} {key}\n" for address in self.hosts))
            self._start(stack, "agent", ["ssh-agent", "-D", "-a", self.environment["SSH_AUTH_SOCK"]])
            self._until(Path(self.environment["SSH_AUTH_SOCK"]).exists, "agent")
            environment = os.environ | self.environment
            subprocess.run(["ssh-add", "-q", str(self.folder / "user")], env=environment, check=True)
            for number, (address, keeper) in enumerate(self.hosts.items(), 1):
                path = self.folder / f"sshd-{number}.conf"
                path.write_text(CONF.format(address=address, folder=self.folder))
                begin = 'mount -t tmpfs none /run && mkdir /run/sshd && exec /usr/sbin/sshd -D -e -f "$0"'
                enter = ["nsenter", f"--net=/proc/{keeper}/ns/net", "unshare", "--mount", "sh", "-c", begin, str(path)]
                self._start(stack, f"sshd-{number}", enter)
                log = self.folder / f"sshd-{number}.log"
                self._until(lambda log=log: "Server listening" in log.read_text(), f"sshd of {address}")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        for keeper in self.hosts.values():  # servers of connections that a failed test has left
            kill_beside(keeper)

    def _start(self, stack: contextlib.ExitStack, name: str, words: list[str]) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        stack.callback(process.wait)
        stack.callback(process.terminate)

    def _until(self, holds, what: str) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not holds():
            logs = "".join(path.read_text() for path in self.folder.glob("sshd*.log"))
            assert time.monotonic() < deadline, f"{what}: {logs}"
            time.sleep(0.05)
