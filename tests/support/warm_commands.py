# SPDX-License-Identifier: Apache-2.0
"""``offramp`` as forks of a process that has imported PyTorch, for tests that run many commands.

Importing takes most of a small command's time. A warm server has no threads and has computed nothing; it forks for each
command, which gets the caller's arguments, folder, environment and standard streams, and runs what is registered for
its end. What is different: modules of the server are there already, and are not taken down. Tests about signals,
imports and ends start real interpreters.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path

CLIENT = """#!{python} -ISE
import json, os, signal, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
call = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(call).to_bytes(8, "big")], [0, 1, 2])
server.sendall(call)
answer = server.makefile("r")
pid = int(answer.readline())
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: os.kill(pid, number))
code = int(answer.readline())
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""

IMPORTED = (
    "torch",
    "torch._dynamo",
    "torch_geometric",
    "scipy.sparse.csgraph",
    "offramp_cli.tree",
    "offramp.train.run",
)


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Start a server and write ``folder/offramp``, which sends it commands. It ends when its standard input does."""
    address = str(folder / "socket")
    client = folder / "offramp"
    client.write_text(CLIENT.format(python=sys.executable, address=address))
    client.chmod(0o755)
    server = subprocess.Popen([sys.executable, __file__, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return server


class _Server:
    def __init__(self, address: str) -> None:
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(address)
        self.listener.listen()
        self.ready = selectors.DefaultSelector()
        self.ready.register(self.listener, selectors.EVENT_READ, self.accept)
        self.ready.register(0, selectors.EVENT_READ, sys.exit)

    def serve(self) -> None:
        while True:
            for key, _ in self.ready.select():
                key.data()

    def accept(self) -> None:
        client, _ = self.listener.accept()
        size, streams, _, _ = socket.recv_fds(client, 8, 3)
        with client.makefile("rb") as lines:
            arguments, folder, environment = json.loads(lines.read(int.from_bytes(size, "big")))
        pid = os.fork()
        if pid == 0:
            self.ready.close()
            self.listener.close()
            client.close()
            os._exit(run(arguments, folder, environment, streams))
        for stream in streams:
            os.close(stream)
        client.sendall(b"%d\n" % pid)
        child = os.pidfd_open(pid)

        def gone() -> None:
            """The caller is: a command that outlived its time limit ends with it."""
            self.ready.unregister(client)
            signal.pidfd_send_signal(child, signal.SIGKILL)

        def ended() -> None:
            self.ready.unregister(child)
            os.close(child)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if client in self.ready.get_map():
                self.ready.unregister(client)
                client.sendall(b"%d\n" % code)
            client.close()

        self.ready.register(client, selectors.EVENT_READ, gone)
        self.ready.register(child, selectors.EVENT_READ, ended)


def run(arguments: list[str], folder: str, environment: dict[str, str], streams: list[int]) -> int:
    """The exit code of one command."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = folder
    sys.argv = ["offramp", *arguments]
    code = 1
    try:
        runpy.run_module("offramp", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    except BaseException:
        traceback.print_exc()
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def main() -> None:
    for module in IMPORTED:
        with suppress(ModuleNotFoundError):  # what is optional, commands will miss themselves
            import_module(module)
    gc.freeze()  # so that collections of the forks copy no pages of these modules
    server = _Server(sys.argv[1])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    server.serve()


if __name__ == "__main__":
    main()
