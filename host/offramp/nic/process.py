# SPDX-License-Identifier: Apache-2.0
"""An agent as a child process."""

from __future__ import annotations

import contextlib
import select
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from offramp.nic.build import agent_program
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError

START_S: Final = 30.0
STOP_S: Final = 5.0


class AgentProcess:
    """An agent that belongs to this process and ends with it, however that ends; a context manager.

    Args:
        ports: interfaces or DPDK devices.
        cores: cores that work.
        compression: value of the agent's ``--compression``.
        program: the agent; by default the installed one, or one that is built now.
        launcher: command prefix that starts it, such as ``ip netns exec NAME``.
        arguments: further arguments of the agent.

    Attributes:
        path: path of its control socket.

    Raises:
        OfframpError: it does not start (the message is its own); later: it is gone.
    """

    def __init__(
        self,
        ports: Sequence[str] = (),
        *,
        cores: int = 1,
        compression: str = "zlib",
        program: Path | None = None,
        launcher: Sequence[str] = (),
        arguments: Sequence[str] = (),
    ) -> None:
        self._folder = temporary_folder()
        self.path = Path(self._folder.name) / "agent.sock"
        self._log = Path(self._folder.name) / "agent.log"
        options = ["--until-eof", "--socket", str(self.path), "--cores", str(cores), "--compression", compression]
        for port in ports:
            options += ["--port", port]
        self._program = program
        self._launcher, self._options = list(launcher), [*options, *arguments]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.cleanup()

    @property
    def pid(self) -> int:
        """Process id of the running agent."""
        return self.process.pid

    @property
    def process(self) -> subprocess.Popen[str]:
        """The running agent."""
        assert self._process is not None, "the agent runs inside its with block"
        return self._process

    @property
    def log(self) -> str:
        """The agent's standard error so far."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def start(self) -> None:
        """Start it, or restart it after it was killed.

        Raises:
            OfframpError: it does not start; the message is its own.
        """
        self._log.unlink(missing_ok=True)
        self._process = self._launch()

    def upgrade(self) -> int:
        """Replace the running agent, with its clients, by a new one; returns the old one's exit code.

        Raises:
            OfframpError: the new one fails, with its message; the old one continues.
        """
        old, self._process = self.process, self._launch("--take-over")
        try:
            return old.wait(STOP_S)
        finally:
            end_agent(old)

    def _launch(self, *arguments: str) -> subprocess.Popen[str]:
        program = self._program or agent_program()
        return start_agent([*self._launcher, str(program), *self._options, *arguments], self._log)

    def kill(self) -> None:
        """End it like ``kill -9``."""
        if self._process is not None:
            self._process.kill()
            self.stop()

    def stop(self) -> int | None:
        """End it, if it runs; returns its exit code."""
        process, self._process = self._process, None
        return None if process is None else end_agent(process)


def start_agent(command: Sequence[str], log: Path) -> subprocess.Popen[str]:
    """Start an agent, and wait until it listens; what it says on standard error is appended to a file.

    Raises:
        OSError: there is no such program.
        OfframpError: it does not start; the message is its own.
    """
    with log.open("a") as file:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True)
    assert process.stdout is not None
    if not (select.select([process.stdout], [], [], START_S)[0] and process.stdout.readline()):
        end_agent(process)
        text = log.read_text(errors="replace")
        lines = [line for line in text.splitlines() if line.startswith("offramp-nic-agent")]
        raise OfframpError(lines[-1] if lines else f"the agent did not start: {text.strip()[-200:]}")
    return process


def end_agent(process: subprocess.Popen[str]) -> int:
    """End an agent, if it runs; returns its exit code."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    return process.returncode
