# SPDX-License-Identifier: Apache-2.0
"""The smartNIC agent's protocol: what a client makes of an agent's answers and counters, and the agent's own parsers.

The parsers in C++ have libFuzzer programs (smartnic/fuzz); where they are built, a case now and then runs one for a
while.
"""

from __future__ import annotations

import array
import contextlib
import os
import random
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

from fuzzing import mutate
from offramp.nic import connection, wire
from offramp.nic.build import cache_folder
from offramp.nic.rings import ClientRings, Submission
from offramp_base.sealed_memory import SharedMemory

NAME = "the smartNIC agent's protocol"
LIMIT_S = 20.0
MEMORY_MIB = 4096
_PROGRAMS = ("control", "packet", "plans", "coflows", "sums")
_RUNS = 2000


def prepare() -> None:
    """Answers that are cut off are waited for no longer than a case may take."""
    connection.ANSWER_S = 0.05  # type: ignore[misc]


def run(rng: random.Random) -> None:
    """An agent that answers something else, counters that lie, or a while of a program in C++."""
    kind = rng.randrange(40)
    if kind == 0:
        _program(rng)
    elif kind < 20:
        _rings(rng)
    else:
        _answers(rng)


def _program(rng: random.Random) -> None:
    programs = [p for name in _PROGRAMS for p in cache_folder().glob(f"**/offramp-nic-fuzz-{name}")]
    if not programs:
        return
    command = [str(rng.choice(programs)), f"-runs={_RUNS}", "-max_len=4096", f"-seed={rng.randrange(1, 1 << 31)}"]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def _rings(rng: random.Random) -> None:
    shared = SharedMemory(65536)
    rings = ClientRings(shared, 0, 16)
    try:
        for request in range(rng.randrange(5)):
            rings.submit(Submission(request, 0, 0, 8192, 8, 0, 16384, 8))
        shared.view[: wire.queue_bytes(16)] = rng.randbytes(wire.queue_bytes(16))
        claimed = rng.choice((0, 1, 4, 5, 16, 17, 1 << 32, (1 << 64) - 1, rng.getrandbits(64)))
        shared.view[wire.COMPLETED : wire.COMPLETED + 8] = claimed.to_bytes(8, "little")
        assert len(rings.completions()) <= 4
    finally:
        rings.close()
        shared.close()


def _answers(rng: random.Random) -> None:
    hello = wire.HELLO_REPLY.pack(wire.VERSION, 2, 65536, 1) + b"echo\nreduce"
    answers = [
        (wire.ControlMessageType.HELLO, hello),
        (wire.ControlMessageType.MAP, wire.NUMBER.pack(0)),
        (wire.ControlMessageType.QUEUE, wire.NUMBER.pack(0)),
    ]
    answers.append((wire.ControlMessageType.STATS, b'{"clients": 1}'))
    raws = [wire.HEADER.pack(wire.MAGIC, wire.REPLY | kind, len(body)) + body for kind, body in answers]
    at = rng.randrange(len(raws))
    raws[at] = mutate.raw(rng, raws[at])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(path))
            listener.listen(1)
            listener.settimeout(10)
            agent = threading.Thread(target=_agent, args=(listener, raws, rng.randrange(3)))
            agent.start()
            try:
                _client(path)
            finally:
                agent.join()


def _client(path: Path) -> None:
    shared = SharedMemory(8192)
    try:
        with contextlib.closing(connection.AgentConnection(path)) as client:
            client.share(shared)
            client.queue(0, 0, 16)[1].close()
            assert isinstance(client.stats(), dict)
    finally:
        shared.close()


def _agent(listener: socket.socket, raws: list[bytes], descriptors: int) -> None:
    """Each answer when something has been asked; with the queue's some descriptors, of which one is wanted."""
    ends = [os.pipe()[0] for _ in range(descriptors)]
    with contextlib.suppress(OSError):
        line, _ = listener.accept()
        with line:
            line.settimeout(10)
            for number, raw in enumerate(raws):
                if not line.recv(4096):
                    return
                pair = socket.socketpair()
                fds = [pair[0].fileno(), *ends] if number == 2 else []
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
                line.sendmsg([raw], rights)
                for sock in pair:
                    sock.close()
    for fd in ends:
        os.close(fd)
