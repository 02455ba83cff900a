# SPDX-License-Identifier: Apache-2.0
"""The responder as a process of its own, and its parent, which restarts it and kills it in tests.

The process reads its plan, including its token, as one line of JSON from standard input, and inherits the host's memory
as a descriptor. If it ends without being asked to, its requester restarts it: the journals in the host's memory tell
what was done.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from offramp.leo.native.journal import journal_words
from offramp.leo.runtime.host import ResponderState
from offramp.leo.runtime.idle import Idle
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.listening import Access, Token
from offramp_base.sealed_memory import SharedMemory

_START_S: Final = 60.0
_ENDED: Final = 64
"""Rounds between two checks that the parent is alive."""


@dataclass(frozen=True)
class ResponderPlan:
    """Description of a responder's process.

    Attributes:
        prepare: ``module:function`` that makes its
            :class:`offramp.leo.runtime.service.ResponderService` from the host's
            memory, the devices' names and the parameters.
        parameters: parameters for it, JSON values.
        devices: specifications for :func:`offramp.leo.devices.open_device`, by the device's name.
        memory_bytes: size of the host's memory.
        rows: most rows of a requester's table.
        journals: most requesters connected at a time.
        listen: address; empty for a Unix socket in a private folder.
        restarts: most restarts by its requester.
        content: initial bytes of the host's memory.
        code: files whose functions the process loads (:mod:`offramp.leo.devices.code`).
    """

    prepare: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    devices: Mapping[str, str] = field(default_factory=dict)
    memory_bytes: int = 1 << 20
    rows: int = 4096
    journals: int = 4
    listen: str = ""
    restarts: int = 5
    content: bytes = b""
    code: Sequence[str] = ()


class ResponderProcess:
    """A responder in a process; its host's memory is this process's and outlives it.

    Attributes:
        address: address of its listener; the same after a restart.
        token: token that a requester proves; None if no proof is needed.
        host: its memory.
        restarts: number of restarts by :meth:`revive`.
        fate: how it last ended; empty if it never did by itself.
    """

    def __init__(self, plan: ResponderPlan, access: Access | None = None) -> None:
        """Start the process.

        Args:
            plan: description of the process.
            access: proof that other users' requesters must give; the process reads its token from the environment, as
                this one does. By default there is a new random token, available only as :attr:`token`.

        Raises:
            OfframpError: it does not start; its own message says why.
        """
        self.plan, self._access = plan, access
        self._secret = "" if access is not None else secrets.token_hex(32)
        self.token = access.token if access is not None else Token(self._secret.encode())
        self._folder: TemporaryDirectory[str] | None = None
        self.address = plan.listen
        if not plan.listen:
            self._folder = temporary_folder()
            self.address = f"unix:{Path(self._folder.name) / 'responder'}"
        words = journal_words(plan.rows)
        self._segment = SharedMemory(ResponderState.size(plan.memory_bytes, plan.journals, words), "offramp-leo")
        self.host = ResponderState(self._segment, plan.memory_bytes, plan.journals, words)
        self.host.memory.view(np.uint8)[: len(plan.content)] = np.frombuffer(plan.content, np.uint8)
        self._process: subprocess.Popen[bytes] | None = None
        self._starting_until = 0.0
        self.first = True
        self.restarts = 0
        self.fate = ""
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Process id."""
        return 0 if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it, also again after it has ended, and wait until it listens.

        Raises:
            OfframpError: it does not start.
        """
        self._launch()
        while self._starting_until:
            self._await(_START_S)

    def _launch(self) -> None:
        """Start the process; :meth:`_await` waits until it listens."""
        self._reap()
        spec = {
            "prepare": self.plan.prepare,
            "parameters": dict(self.plan.parameters),
            "devices": dict(self.plan.devices),
            "code": list(self.plan.code),
            "segment": self._segment.fd,
            "segment_bytes": self._segment.size,
            "memory_bytes": self.plan.memory_bytes,
            "journals": self.plan.journals,
            "rows": self.plan.rows,
            "address": self.address,
            "token": self._secret,
            "insecure": self._access is not None and self._access.insecure,
            "first": self.first,
        }
        command = [sys.executable, "-m", "offramp.leo.runtime.process"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(self._segment.fd,)
        )
        self._starting_until = time.monotonic() + _START_S
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(json.dumps(spec).encode() + b"\n")
            self._process.stdin.flush()

    def _await(self, timeout_s: float) -> None:
        """Wait until it listens.

        Raises:
            OfframpError: it does not start in time.
        """
        assert self._process is not None
        assert self._process.stdout is not None
        ready = select.select([self._process.stdout], [], [], timeout_s)[0]
        if not ready and time.monotonic() < self._starting_until:
            return
        line = self._process.stdout.readline() if ready else b""
        try:
            answer = json.loads(line)
        except ValueError:
            answer = {"error": f"responder process {self._process.pid}: it has not started; see its output above"}
        self._starting_until = 0.0
        if "error" in answer:
            self.kill()
            raise OfframpError(str(answer["error"]))
        self.address, self.first = str(answer["address"]), False

    def revive(self) -> bool:
        """Restart it, without waiting, if it has ended by itself; returns whether it is starting.

        Raises:
            OfframpError: it ended and was restarted as often as allowed, or it does not start.
        """
        if self._process is None:
            return False
        code = self._process.poll()
        if self._starting_until and (code is None or code >= 0):
            self._await(0)
            return bool(self._starting_until)
        if code is None:
            return False
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        self.fate = f"responder at {self.address} (pid {self.pid}) {how}"
        if self.restarts >= self.plan.restarts:
            again = f"; it was started again {self.restarts} times already" if self.restarts else ""
            raise OfframpError(self.fate + again)
        self.restarts += 1
        self._launch()
        return True

    def kill(self) -> None:
        """Kill it, as a crash would; it stays down until :meth:`start`."""
        if self._process is not None:
            self._process.kill()
        self._reap()

    def _reap(self) -> None:
        self._starting_until = 0.0
        if self._process is not None:
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            self._process = None

    def alive(self) -> bool:
        """Whether it is running."""
        return self._process is not None and self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        if self._process is not None:
            self._process.send_signal(number)

    def close(self) -> None:
        """End it and release its memory."""
        self.kill()
        self._segment.close()
        if self._folder is not None:
            self._folder.cleanup()


def _main() -> int:
    import signal as signals

    signals.signal(signals.SIGINT, signals.SIG_IGN)
    spec = json.loads(sys.stdin.buffer.readline())
    try:
        responder, close = _make(spec)
    except OfframpError as error:
        print(json.dumps({"error": str(error)}), flush=True)  # noqa: T201
        return 2
    print(json.dumps({"address": responder.listener.address}), flush=True)  # noqa: T201
    idle = Idle()
    parent = os.getppid()
    rounds = 0
    try:
        while rounds % _ENDED or os.getppid() == parent:
            rounds += 1
            idle(worked=responder.step(), yields=responder.computes)
    finally:
        responder.close()
        close()
    return 0


def _make(spec: Mapping[str, Any]) -> tuple[Any, Callable[[], None]]:
    from offramp.leo.devices import open_device
    from offramp.leo.devices.code import load_code
    from offramp.leo.runtime.dispatcher import Dispatcher
    from offramp.leo.runtime.responder import Responder
    from offramp.leo.transports.connect import RequesterListener

    load_code(spec["code"])
    segment = SharedMemory.attach(spec["segment"], spec["segment_bytes"], "the process that started this one")
    host = ResponderState(segment, spec["memory_bytes"], spec["journals"], journal_words(spec["rows"]))
    devices = {name: open_device(text, name=name) for name, text in spec["devices"].items()}

    def close() -> None:
        for device in devices.values():
            device.close()

    try:
        module, _, function = spec["prepare"].partition(":")
        prepare = getattr(importlib.import_module(module), function)
        service = prepare(host, devices, spec["parameters"], first=spec["first"])
        service.dispatchers.update({name: Dispatcher(device) for name, device in devices.items()})
        token = Token(spec["token"].encode()) if spec["token"] else Token.from_environment()
        access = Access(token, insecure=spec["insecure"])
        return Responder(service, RequesterListener(spec["address"], access)), close
    except BaseException:
        close()
        raise


if __name__ == "__main__":
    sys.exit(_main())
