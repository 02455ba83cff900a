# SPDX-License-Identifier: Apache-2.0
"""LEO's responders as forks of a process that has imported what they need: in campaigns most of one is its imports.

    with responders_forked(folder) as use:   # in a process with one thread
        ...
        use()  # in a process of its own or of its children: from now on its responders are forks

A fork is no child of who asks for it, so its exit code is -9 if that killed it and 1 otherwise.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

_ROOM: Final = 200
_LAUNCH_FAILED: Final = 1


@contextlib.contextmanager
def responders_forked(folder: Path) -> Iterator[Callable[[], None]]:
    """Start the process that forks, until the end of the block."""
    import offramp.leo.applications.allreduce
    import offramp.leo.devices.code
    import offramp.leo.runtime.process as process
    import offramp.leo.runtime.responder
    import offramp.leo.transports.connect  # noqa: F401
    from offramp.leo.devices import open_device

    open_device("cpu:1", "cpu").close()  # compiles its functions
    address = str(folder / "responders")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen(64)
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            _fork_for_all(listener, process._main)
        os._exit(_LAUNCH_FAILED)
    listener.close()

    def use() -> None:
        """Let this process's responders be forks."""
        process.subprocess = _Forks(address)  # type: ignore[assignment]

    try:
        yield use
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _fork_for_all(listener: socket.socket, main: Callable[[], int]) -> None:
    parent = os.getppid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    while os.getppid() == parent:
        if not select.select([listener], [], [], 1.0)[0]:
            continue
        asker, _ = listener.accept()
        message, descriptors, *_ = socket.recv_fds(asker, _ROOM, 8)
        if not (pid := os.fork()):
            listener.close()
            asker.close()
            _be_responder(json.loads(message), descriptors, main)
        for each in descriptors:
            os.close(each)
        with contextlib.suppress(OSError):  # who asked may have been killed meanwhile
            asker.send(str(pid).encode())
        asker.close()


def _be_responder(asked: dict[str, Any], descriptors: list[int], main: Callable[[], int]) -> None:
    status = _LAUNCH_FAILED
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        spare = [os.dup2(each, 200 + at, inheritable=False) for at, each in enumerate(descriptors)]
        for target, each in zip([0, 1, *asked["descriptors"]], spare, strict=True):
            os.dup2(each, target)
            os.close(each)
        owner = int(asked["owner"])
        os.getppid = lambda: owner if Path(f"/proc/{owner}").exists() else 1
        status = main()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


class _Forks:
    """In the place of the module :mod:`subprocess`."""

    PIPE = -1

    def __init__(self, address: str) -> None:
        self._address = address

    def Popen(self, _: list[str], *, pass_fds: tuple[int, ...], **__: Any) -> _Fork:  # noqa: N802
        return _Fork(self._address, pass_fds)


class _Fork:
    """A responder, as :class:`subprocess.Popen` has it."""

    def __init__(self, address: str, pass_fds: tuple[int, ...]) -> None:
        stdin, self_in = os.pipe()
        self_out, stdout = os.pipe()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as to:
            to.connect(address)
            message = json.dumps({"descriptors": pass_fds, "owner": os.getpid()}).encode()
            socket.send_fds(to, [message], [stdin, stdout, *pass_fds])
            self.pid = int(to.recv(_ROOM))
        os.close(stdin)
        os.close(stdout)
        self.stdin, self.stdout = os.fdopen(self_in, "wb"), os.fdopen(self_out, "rb")
        self._ended = os.pidfd_open(self.pid)
        self._killed = False

    def poll(self, timeout_s: float = 0.0) -> int | None:
        """Exit code, None while it runs."""
        over = select.select([self._ended], [], [], timeout_s)[0]
        return (-signal.SIGKILL if self._killed else _LAUNCH_FAILED) if over else None

    def wait(self) -> int:
        """Wait for its end."""
        while (code := self.poll(60.0)) is None:
            pass
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._ended, number)

    def kill(self) -> None:
        """Kill it."""
        self._killed = self._killed or self.poll() is None
        self.send_signal(signal.SIGKILL)

    def __del__(self) -> None:
        """Release the descriptor of the process."""
        os.close(self._ended)
