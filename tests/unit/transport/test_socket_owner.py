# SPDX-License-Identifier: Apache-2.0
"""The user at the other end of a connection, by the kernel. Oracle: the process that connects."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from offramp_base.transport.socket_owner import connection_owner

CONNECTS = """
import os, socket, sys
family, _, _, _, address = socket.getaddrinfo(sys.argv[1], int(sys.argv[2]), type=socket.SOCK_STREAM)[0]
os.setuid(int(sys.argv[3]))  # which may be a user who cannot read Python's modules any more
sock = socket.socket(family)
sock.connect(address)
print(sock.recv(1))
"""


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("user", sorted({os.geteuid(), 65534}))
def test_the_owner_of_a_connection(host: str, user: int) -> None:
    if user != os.geteuid() and os.geteuid():
        pytest.skip("only root can be somebody else")
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as server:
        words = [sys.executable, "-S", "-c", CONNECTS, host, str(server.getsockname()[1]), str(user)]
        server.settimeout(20)
        with subprocess.Popen(words) as stranger:
            sock, _ = server.accept()
            with sock:
                owner = connection_owner(sock)
                sock.sendall(b"x")
            assert stranger.wait(20) == 0
    assert owner in (user, None)  # a kernel without sock_diag says nothing
    if owner is None:
        pytest.skip("this kernel has no sock_diag")


def test_a_connection_without_another_end_has_no_owner() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        sock, _ = server.accept()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        client.close()
        with sock:
            assert connection_owner(sock) is None
