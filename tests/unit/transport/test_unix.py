# SPDX-License-Identifier: Apache-2.0
"""Unix ports: for this user alone."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import stat
from pathlib import Path

import pytest

from frames import arrived
from offramp_base.errors import OfframpError
from offramp_base.transport import open_io, unix
from offramp_base.transport.unix import SOCKET_BUFFER
from offramp_base.wire.batch import PacketBatch
from offramp_p4.ports.unix import UnixPort

NOBODY = 65534


@pytest.fixture
def port(tmp_path: Path):
    opened = UnixPort(tmp_path / "port")
    yield opened
    opened.close()


def test_the_socket_is_for_its_user_alone(port: UnixPort, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        other = UnixPort(tmp_path / "other")
    finally:
        os.umask(before)
    for name in ("port", "other"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    other.close()
    assert not (tmp_path / "other").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_another_user_is_turned_away_and_its_host_is_heard(port: UnixPort, tmp_path: Path) -> None:
    path = tmp_path / "port"
    path.chmod(0o666)
    tmp_path.chmod(0o711)
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.chdir(tmp_path)  # others may not pass the folders above
            os.setuid(NOBODY)
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect("port")
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert len(port.receive()) == 0
    assert port.stats.strangers == 1
    host = open_io(port.name)
    assert len(port.receive()) == 0
    host.send(PacketBatch.of([(0, b"frame")]))
    assert list(arrived(port).frames()) == [b"frame"]
    host.close()


def test_a_socket_that_is_in_use_is_told(port: UnixPort, tmp_path: Path) -> None:
    with pytest.raises(OfframpError, match="another switch listens there"):
        UnixPort(tmp_path / "port")
    (tmp_path / "file").write_text("kept")
    with pytest.raises(OfframpError, match="the file exists and is not a socket"):
        UnixPort(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "kept"


def test_the_socket_of_a_switch_that_was_killed_is_taken_over(tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    left.bind(str(tmp_path / "port"))
    left.close()
    UnixPort(tmp_path / "port").close()


def test_frames_for_a_host_that_has_connected_wait_for_it_to_be_taken_in(port: UnixPort) -> None:
    frame = PacketBatch.of([(0, b"frame")])
    port.send(frame)
    assert port.stats.dropped == 1
    host = open_io(port.name)
    port.send(frame)
    assert list(host.receive(5).frames()) == [b"frame"]
    assert port.stats.dropped == 1
    host.close()


def test_a_link_has_room_for_bursts(port: UnixPort, tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        usual = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        link = stack.enter_context(contextlib.closing(open_io(f"unix:{tmp_path / 'port'}")))
        ours = stack.enter_context(socket.socket(fileno=os.dup(link.fileno())))  # type: ignore[attr-defined]
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            usual.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER)
            assert ours.getsockopt(socket.SOL_SOCKET, option) == usual.getsockopt(socket.SOL_SOCKET, option)


def test_a_full_link_waits_for_the_switch_and_gives_up_in_the_end(
    port: UnixPort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[tuple[int, float]] = []
    with contextlib.closing(open_io(f"unix:{tmp_path / 'port'}")) as link:
        monkeypatch.setattr(link, "_try_send", lambda _: len(waits) >= 3)
        monkeypatch.setattr(link, "_wait", lambda events, seconds: waits.append((events, seconds)))
        link.send(PacketBatch.of([(1, b"x" * 60)]))
        assert waits == [(select.POLLIN | select.POLLOUT, 1.0)] * 3
        monkeypatch.setattr(link, "_try_send", lambda _: False)
        monkeypatch.setattr(unix, "STALL_S", 0.0)
        with pytest.raises(OfframpError, match="the switch took no frame for"):
            link.send(PacketBatch.of([(1, b"x" * 60)]))
