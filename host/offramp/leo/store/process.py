# SPDX-License-Identifier: Apache-2.0
"""A store in a child process: ``python -m offramp.leo.store.process`` reads its settings from standard input."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Self

from offramp.leo.store.build import LIBRARY, built
from offramp.leo.store.settings import StoreSettings
from offramp_base.ending.children import stop
from offramp_base.errors import OfframpError
from offramp_base.listening import Token

START_S: Final = 60.0


class StoreProcess:
    """A store that ends with this process, however that ends; a context manager.

    Args:
        settings: settings of the store.
        token: token that its clients prove.
        launcher: command prefix that starts it, such as ``ip netns exec NAME``.

    Attributes:
        addresses: addresses at which it listens, by protocol.
        recovered: contents when it was opened: keys, records, torn bytes.

    Raises:
        OfframpError: it does not start; the message is its own.
    """

    def __init__(self, settings: StoreSettings, token: Token | None = None, launcher: Sequence[str] = ()) -> None:
        self._settings, self._token, self._launcher = settings, token, list(launcher)
        self._process: subprocess.Popen[str] | None = None
        self.addresses: dict[str, str] = {}
        self.recovered: tuple[int, ...] = ()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None, "the store runs inside its with block"
        return self._process.pid

    def start(self) -> None:
        """Start it, or restart it after it was killed.

        Raises:
            OfframpError: it does not start; the message is its own.
        """
        built(LIBRARY)  # which may take longer than a start
        command = [*self._launcher, sys.executable, "-m", __name__]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        secret = None if self._token is None else self._token_file()
        process.stdin.write(json.dumps({"settings": asdict(self._settings), "token": secret}, default=str) + "\n")
        process.stdin.flush()
        line = select.select([process.stdout], [], [], START_S)[0] and process.stdout.readline()
        answer: dict[str, Any] = (
            json.loads(line) if line else {"error": f"the store did not start: exit code {process.poll()}"}
        )
        if "error" in answer:
            self.close()
            raise OfframpError(str(answer["error"]))
        self.addresses, self.recovered = answer["addresses"], tuple(answer["found"])

    def _token_file(self) -> str:
        from offramp_base.ending.left import temporary_folder

        self._folder = temporary_folder()
        path = Path(self._folder.name) / "token"
        assert self._token is not None
        self._token.write(path)
        return str(path)

    def kill(self) -> None:
        """End it like ``kill -9``."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self.close()

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def processor_s(self) -> float:
        """Processor time that it has used, in seconds."""
        return processor_s(self.pid)

    def close(self) -> None:
        """End it, if it runs."""
        if self._process is None:
            return
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        stop(self._process)
        self._process = None


def processor_s(pid: int) -> float:
    """Processor time of a process, in seconds, to the nanosecond (``clock_getcpuclockid``)."""
    return time.clock_gettime((~pid << 3) | 2)


def _given(line: str) -> tuple[StoreSettings, Token | None]:
    given: dict[str, Any] = json.loads(line)
    settings = given["settings"]
    settings["folder"] = None if settings["folder"] is None else Path(settings["folder"])
    return StoreSettings(**settings), None if given["token"] is None else Token.read(given["token"])


def _main() -> None:
    from offramp.leo.store.server import StoreServer

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to both; the parent decides
    try:
        server = StoreServer(*_given(sys.stdin.readline()))
    except OfframpError as error:
        sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        return
    with server:
        threading.Thread(target=server.welcome, daemon=True).start()
        sys.stdout.write(json.dumps({"addresses": server.addresses, "found": server.recovered}) + "\n")
        sys.stdout.flush()
        sys.stdin.read()  # until the parent closes the pipe, or ends


if __name__ == "__main__":
    _main()
