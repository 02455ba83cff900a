# SPDX-License-Identifier: Apache-2.0
"""The one way to listen, against peers that are silent, slow, many, forged or talk nonsense.

Blind to: an attacker on the path between two hosts, who may read and change what follows the handshake.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from offramp_base.errors import OfframpError
from offramp_base.listening import Access, ConnectionLimits, Greeting, Listener, Token, connect
from offramp_base.listening.address import parse_address
from offramp_base.listening.handshake import CHALLENGE, VERDICT_BYTES, ClientHandshake, ServerHandshake
from offramp_base.listening.sockets import private_files

TOKEN = Token(b"0123456789abcdef")
OTHER = Token(b"another-token-16")


class Server:
    """Polls a listener in a thread; answers greetings with ``{"welcome": …}`` of what they said."""

    def __init__(self, listener: Listener, answer: Callable[[Greeting], None] | None = None) -> None:
        self.listener = listener
        self.heard: list[dict[str, Any]] = []
        self.taken: list[socket.socket] = []
        self._answer = answer or self._welcome
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _welcome(self, greeting: Greeting) -> None:
        self.taken.append(greeting.accept({"welcome": greeting.content.get("name")}))

    def _run(self) -> None:
        while not self._stop.is_set():
            for greeting in self.listener.poll(0.01):
                self.heard.append(greeting.content)
                self._answer(greeting)

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self.listener.close()
        for sock in self.taken:
            sock.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers = []

    def start(address: str = "127.0.0.1:0", token: Token | None = TOKEN, **options: Any) -> Server:
        answer = options.pop("answer", None)
        servers.append(Server(Listener(address, Access(token), "test", ConnectionLimits(**options)), answer))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def dial(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def eventually(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize("where", ["tcp", "unix"])
@pytest.mark.parametrize("token", [TOKEN, None])
def test_a_peer_with_the_token_is_answered(serve, tmp_path: Path, where: str, token: Token | None) -> None:
    server = serve("127.0.0.1:0" if where == "tcp" else f"unix:{tmp_path}/s", token)
    sock, answer = connect(server.listener.address, token, "test", {"name": "a"})
    sock.close()
    assert answer == {"welcome": "a"}
    assert server.heard == [{"name": "a"}]


@pytest.mark.parametrize(
    ("token", "protocol"), [(OTHER, "test"), (TOKEN, "another protocol")], ids=["token", "protocol"]
)
def test_a_peer_without_the_token_is_not_heard(serve, token: Token, protocol: str) -> None:
    server = serve()
    with pytest.raises(OfframpError, match="does not accept the token"):
        connect(server.listener.address, token, protocol, {"name": "a"})
    with pytest.raises(OfframpError, match="asks for a token; none was given"):
        connect(server.listener.address, None, protocol, {"name": "a"})
    eventually(lambda: server.listener.refused["greeting: does not prove the token"] == 1)
    assert server.heard == []


def test_a_server_without_the_token_is_not_greeted(serve) -> None:
    server = serve(token=None)
    with pytest.raises(OfframpError, match="does not have the token"):
        connect(server.listener.address, TOKEN, "test", {"name": "secret"})
    assert server.heard == []


def test_a_proof_cannot_be_sent_back_or_again() -> None:
    server = ServerHandshake(TOKEN, "test")
    client = ClientHandshake(TOKEN, "test", server.challenge)
    proof = server.accept(client.answer)
    assert proof is not None
    client.verify(proof)
    assert ServerHandshake(TOKEN, "test").accept(client.answer) is None  # another nonce
    reflected = client.answer[:32] + proof[1:]
    assert server.accept(reflected) is None  # the server's own proof is none of a client
    with pytest.raises(OfframpError):
        client.verify(b"\1" + client.answer[32:])
    assert TOKEN.proof("x", b"ab", b"c") != TOKEN.proof("x", b"a", b"bc")


def test_the_token_never_travels(serve) -> None:
    server = serve()
    with dial(server.listener.address) as raw:
        challenge = raw.recv(CHALLENGE.size, socket.MSG_WAITALL)
        sent = ClientHandshake(TOKEN, "test", challenge).answer
    assert b"0123456789abcdef" not in challenge + sent
    assert "0123456789" not in repr(TOKEN)


def test_silent_peers_delay_nobody_and_are_dismissed(serve) -> None:
    server = serve(pending=32, greeting_s=0.5)
    silent = [dial(server.listener.address) for _ in range(100)]
    for _ in range(20):
        sock, answer = connect(server.listener.address, TOKEN, "test", {"name": "a"}, redial=True)
        sock.close()
        assert answer == {"welcome": "a"}
    eventually(lambda: server.listener.refused.total() == 100)
    assert server.listener.refused["too many silent peers"] >= 68
    assert server.listener.pending == 0
    for sock in silent:
        sock.close()


def test_who_has_said_most_stays_when_room_is_made(serve) -> None:
    server = serve(pending=4)
    with dial(server.listener.address) as half:
        answer = ClientHandshake(TOKEN, "test", half.recv(CHALLENGE.size, socket.MSG_WAITALL)).answer
        half.sendall(answer[:40])
        time.sleep(0.05)
        crowd = [dial(server.listener.address) for _ in range(40)]
        eventually(lambda: server.listener.refused["too many silent peers"] >= 37)
        half.sendall(answer[40:])
        assert len(half.recv(VERDICT_BYTES, socket.MSG_WAITALL)) == VERDICT_BYTES  # the server's proof
        for sock in crowd:
            sock.close()


def test_one_host_cannot_take_all_places() -> None:
    """The hosts are made up: their names are all that counts."""
    with socket.create_server(("127.0.0.1", 0)) as idle:
        idle.setblocking(False)
        listener = Listener("127.0.0.1:0", Access(), "test", ConnectionLimits(pending=100, per_host=3))
        names = iter([("192.0.2.1", 1)] * 8 + [("192.0.2.2", 1)] * 2)
        listener._name = lambda sock, name: type(listener)._name(listener, sock, next(names))  # type: ignore[method-assign]
        crowd = [dial(listener.address) for _ in range(10)]
        eventually(lambda: not listener.poll() and listener.pending + listener.refused.total() == 10)
        assert listener.pending == 5
        listener.close()
        for sock in crowd:
            sock.close()


HOSTILE = {
    "nothing": b"",
    "zero": struct.pack("!I", 0),
    "huge": struct.pack("!I", 0xFFFFFFFF),
    "not JSON": struct.pack("!I", 5) + b"\xff{}{}",
    "brackets": struct.pack("!I", 60000) + b"[" * 60000,
    "nested": struct.pack("!I", 60000) + b'{"a":' * 12000,
    "a list": struct.pack("!I", 2) + b"[]",
    "twice": struct.pack("!I", 13) + b'{"a":1,"a":2}',
    "NaN": struct.pack("!I", 9) + b'{"a":NaN}',
    "digits": struct.pack("!I", 20007) + b'{"a":1' + b"1" * 20000 + b"}",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=list(HOSTILE))
def test_nonsense_is_refused_with_a_line(serve, content: bytes) -> None:
    server = serve()
    with dial(server.listener.address) as sock:
        sock.sendall(ClientHandshake(TOKEN, "test", sock.recv(CHALLENGE.size, socket.MSG_WAITALL)).answer)
        assert len(sock.recv(VERDICT_BYTES, socket.MSG_WAITALL)) == VERDICT_BYTES
        sock.sendall(content)
        sock.shutdown(socket.SHUT_WR)
        said = b""
        while part := sock.recv(4096):
            said += part
    assert not content or b'"error": "greeting: expected' in said
    assert server.listener.refused.total() == 1
    sock, _ = connect(server.listener.address, TOKEN, "test", {"name": "a"})
    sock.close()
    assert server.heard == [{"name": "a"}]


def test_a_refusal_reaches_the_peer(serve) -> None:
    server = serve(answer=lambda greeting: greeting.refuse("no room"))
    with pytest.raises(OfframpError, match=r"^127\.0\.0\.1:\d+: no room$"):
        connect(server.listener.address, TOKEN, "test", {})
    assert server.listener.refused == {"its request": 1}


def test_a_peer_that_is_turned_away_dials_again(serve, monkeypatch) -> None:
    pauses: list[float] = []
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda s: (pauses.append(s), sleep(s)))
    with socket.create_server(("127.0.0.1", 0)) as busy:
        address = f"127.0.0.1:{busy.getsockname()[1]}"

        def turn_away_twice() -> None:
            for _ in range(3):
                busy.accept()[0].close()
            busy.close()
            serve(address)

        thread = threading.Thread(target=turn_away_twice)
        thread.start()
        sock, answer = connect(address, TOKEN, "test", {"name": "a"}, redial=True)
        sock.close()
        thread.join()
    assert answer == {"welcome": "a"}
    assert [pause for pause in pauses if pause >= 0.01][:3] == [0.01, 0.02, 0.04]


def test_a_peer_that_does_not_redial_says_so_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        dialled: list[int] = []

        def turn_away() -> None:
            busy.accept()[0].close()
            dialled.append(1)
            busy.settimeout(0.1)
            try:
                busy.accept()[0].close()
                dialled.append(2)
            except TimeoutError:
                pass

        thread = threading.Thread(target=turn_away)
        thread.start()
        with pytest.raises(ConnectionError):
            connect(f"127.0.0.1:{busy.getsockname()[1]}", TOKEN, "test", {}, timeout_s=5)
        thread.join()
    assert dialled == [1]


def test_a_server_that_takes_no_connection_ends_in_time() -> None:
    """Its backlog is full: what else dials waits for a place."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = [socket.socket() for _ in range(4)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(full.getsockname())
        with pytest.raises(TimeoutError):
            connect(f"127.0.0.1:{full.getsockname()[1]}", TOKEN, "test", {}, timeout_s=0.2)
        for sock in waiting:
            sock.close()


def test_no_time_at_all_is_over_at_once(serve) -> None:
    with pytest.raises(TimeoutError, match="no answer in time"):
        connect(serve().listener.address, TOKEN, "test", {}, timeout_s=0.0)


def test_a_server_that_says_nothing_ends_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            connect(f"127.0.0.1:{silent.getsockname()[1]}", TOKEN, "test", {}, timeout_s=0.2, redial=True)
        assert time.monotonic() - begun < 10


@pytest.mark.parametrize(
    "challenge", [b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(64), bytes(range(64))], ids=["web", "other"]
)
def test_a_server_of_something_else_is_named(challenge: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        thread = threading.Thread(target=lambda: other.accept()[0].sendall(challenge))
        thread.start()
        with pytest.raises(OfframpError, match="does not speak Offramp's handshake"):
            connect(f"127.0.0.1:{other.getsockname()[1]}", TOKEN, "test", {})
        thread.join()


def test_unix_sockets_are_private_and_go_with_their_listener(tmp_path: Path) -> None:
    path = tmp_path / "s"
    old = os.umask(0)
    try:
        listener = Listener(f"unix:{path}", Access(), "test")
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    with pytest.raises(OfframpError, match="in use"):
        Listener(f"unix:{path}", Access(), "test")
    listener.close()
    assert not path.exists()


def test_a_socket_that_a_killed_listener_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
        dead.listen()
    Listener(f"unix:{path}", Access(), "test").close()
    path.write_text("a file of somebody")
    with pytest.raises(OfframpError, match="in use"):
        Listener(f"unix:{path}", Access(), "test")
    assert path.read_text() == "a file of somebody"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_a_listener_that_is_too_busy_to_answer_keeps_its_socket(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as waiting:
        busy.bind(str(path))
        busy.listen(0)
        waiting.connect(str(path))
        with pytest.raises(OfframpError, match="Address already in use"):
            Listener(f"unix:{path}", Access(), "test")
        assert path.exists()


def test_a_closed_listener_is_not_reached(tmp_path: Path) -> None:
    for address in ("127.0.0.1:0", f"unix:{tmp_path}/s"):
        before = open_files()
        listener = Listener(address, Access(TOKEN), "test")
        place = listener.address
        listener.close()
        listener.close()
        assert open_files() == before
        with pytest.raises(OSError, match=r"refused|No such file"):
            connect(place, TOKEN, "test", {})


def test_files_of_a_library_are_private_and_others_are_as_before(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        with private_files():
            (tmp_path / "inside").touch()
        (tmp_path / "after").touch()
    finally:
        os.umask(old)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("inside", "after")] == [0o600, 0o644]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_another_user_is_turned_away(tmp_path: Path) -> None:
    listener = Listener(f"unix:{tmp_path}/s", Access(), "test")
    (tmp_path / "s").chmod(0o777)
    for folder in (tmp_path, *tmp_path.parents):
        folder.chmod(folder.stat().st_mode | 0o011)
    child = os.fork()
    if child == 0:
        try:
            os.setuid(65534)
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(f"{tmp_path}/s")
                os._exit(len(sock.recv(1)))
        finally:
            os._exit(99)
    eventually(lambda: not listener.poll(0.01) and listener.refused.total() == 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert listener.refused == {"another user": 1}
    listener.close()


def test_descriptors_come_with_a_greeting_and_only_with_one(serve, tmp_path: Path) -> None:
    got: list[int] = []

    def take(greeting: Greeting) -> None:
        got.extend(greeting.descriptors)
        greeting.descriptors.clear()
        greeting.accept().close()

    server = serve(f"unix:{tmp_path}/s", answer=take, descriptors=2)
    with (tmp_path / "file").open("wb+") as file:
        connect(server.listener.address, TOKEN, "test", {}, descriptors=[file.fileno()])[0].close()
        assert [os.fstat(fd).st_ino for fd in got] == [os.fstat(file.fileno()).st_ino]
        os.close(got.pop())
        before = open_files()
        with socket.socket(socket.AF_UNIX) as sock:  # before it has proved anything
            sock.connect(f"{tmp_path}/s")
            rights = struct.pack("i", file.fileno())
            sock.sendmsg([bytes(64)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            eventually(lambda: server.listener.refused.total() == 1)
    assert open_files() <= before
    assert got == []


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"])
def test_other_machines_are_served_only_where_somebody_is_checked(address: str) -> None:
    with pytest.raises(OfframpError, match="other machines reach this address; it needs a token"):
        Listener(address, Access(), "leo")
    if address == "0.0.0.0:0":
        Listener(address, Access(TOKEN), "leo").close()
        Listener(address, Access(insecure=True), "leo").close()


@pytest.mark.parametrize(
    "address", ["", "127.0.0.1", "127.0.0.1:", ":1", "127.0.0.1:65536", "127.0.0.1:²", "unix:", "unix:" + "x" * 200]
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(OfframpError, match="expected"):
        Listener(address, Access(), "test")


def test_the_longest_path_and_the_last_port() -> None:
    with tempfile.TemporaryDirectory(prefix="s") as folder:
        path = f"{folder}/" + "x" * (106 - len(folder))
        assert len(path) == 107
        Listener(f"unix:{path}", Access(), "test").close()
        with pytest.raises(OfframpError, match="a path of at most 107 bytes"):
            parse_address(f"unix:{path}x")
    assert str(parse_address("127.0.0.1:65535")) == "127.0.0.1:65535"


def test_a_name_of_several_addresses_is_the_first_of_them(monkeypatch) -> None:
    of_both = [
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 5, 0, 0)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 5)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: of_both)
    assert str(parse_address("both:5")) == "[::1]:5"


def test_new_tokens_are_long_and_differ() -> None:
    first, second = Token.random(), Token.random()
    assert first.proof("x") != second.proof("x")
    assert not first.proves(second.proof("x"), "x")


def test_token_files(tmp_path: Path) -> None:
    path = tmp_path / "token"
    TOKEN.write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Token.read(path).proof("x") == TOKEN.proof("x")
    with pytest.raises(OfframpError, match="exists"):
        OTHER.write(path)
    path.chmod(0o640)
    with pytest.raises(OfframpError, match="nobody else may open"):
        Token.read(path)
    path.chmod(0o600)
    path.write_bytes(b"short")
    with pytest.raises(OfframpError, match="token of 5 bytes"):
        Token.read(path)
    for length, takes in ((15, False), (16, True), (4096, True), (4097, False), (5000, False)):
        path.write_bytes(b" " + b"x" * length + b"\n")
        if takes:
            assert Token.read(path).proof("x") == Token(b"x" * length).proof("x")
        else:
            with pytest.raises(OfframpError, match=f"token of {min(length, 4097)} bytes: expected 16 to 4096"):
                Token.read(path)
    for none, reason in ((tmp_path / "none", "No such file or directory"), (f"{tmp_path}/\0", "embedded null byte")):
        with pytest.raises(OfframpError, match=f"{reason}$"):
            Token.read(none)
        with pytest.raises(OfframpError, match=r"No such file or directory$|embedded null byte$"):
            TOKEN.write(f"{none}/x")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OfframpError, match="regular file"):
        Token.read(tmp_path / "pipe")
