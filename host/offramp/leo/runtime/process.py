"""The responder as a process of its own, and whoever starts it, kills it in tests and starts it again."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from offramp.errors import OfframpError
from offramp.leo.runtime.idle import Idle
from offramp.leo.runtime.journal import journal_words
from offramp.leo.runtime.memory import Host, Segment

_PATIENCE_S: Final = 60.0
_ENDED: Final = 64
"""Rounds between two looks whether the parent lives."""


@dataclass(frozen=True)
class Plan:
    """What a responder's process is to be.

    Attributes:
        prepare: ``module:function`` that makes its :class:`offramp.leo.runtime.responder.Service` from the host's
            memory, the devices' names and the parameters.
        parameters: for it, as JSON has them.
        devices: name of a device to what :func:`offramp.leo.devices.open_device` opens.
        memory_bytes: of the host's memory.
        rows: of the largest requester's table.
        journals: requesters that may be connected at a time.
    """

    prepare: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    devices: Mapping[str, str] = field(default_factory=dict)
    memory_bytes: int = 1 << 20
    rows: int = 4096
    journals: int = 4


class ResponderProcess:
    """A responder in a process; its host's memory is ours and outlives it.

    Attributes:
        address: of its listener; the same after a restart.
        host: its memory.
    """

    def __init__(self, plan: Plan) -> None:
        """Start it.

        Raises:
            OfframpError: it does not come up; its own line says why.
        """
        self.plan = plan
        words = journal_words(plan.rows)
        self._segment = Segment(Host.size(plan.memory_bytes, plan.journals, words))
        self.host = Host(self._segment, plan.memory_bytes, plan.journals, words)
        self.address = "127.0.0.1:0"
        self._process: subprocess.Popen[bytes] | None = None
        self.first = True
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Its process."""
        return 0 if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it, again where it has ended.

        Raises:
            OfframpError: it does not come up.
        """
        spec = {
            "prepare": self.plan.prepare,
            "parameters": dict(self.plan.parameters),
            "devices": dict(self.plan.devices),
            "segment": self._segment.name,
            "memory_bytes": self.plan.memory_bytes,
            "journals": self.plan.journals,
            "rows": self.plan.rows,
            "address": self.address,
            "first": self.first,
        }
        command = [sys.executable, "-m", "offramp.leo.runtime.process"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(json.dumps(spec).encode() + b"\n")
            self._process.stdin.flush()
        ready = select.select([self._process.stdout], [], [], _PATIENCE_S)[0]
        line = self._process.stdout.readline() if ready else b""
        try:
            answer = json.loads(line)
        except ValueError:
            answer = {"error": f"responder process {self._process.pid}: it has not come up; see its own words above"}
        if "error" in answer:
            self.kill()
            raise OfframpError(str(answer["error"]))
        self.address, self.first = str(answer["address"]), False

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            self._process = None

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        if self._process is not None:
            self._process.send_signal(number)

    def close(self) -> None:
        """End it, and let its memory go."""
        self.kill()
        self._segment.close()


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
    from offramp.leo.runtime.responder import Responder
    from offramp.leo.runtime.station import Station
    from offramp.leo.transports.connect import Listener

    host = Host(Segment.attach(spec["segment"]), spec["memory_bytes"], spec["journals"], journal_words(spec["rows"]))
    devices = {name: open_device(text, name=name) for name, text in spec["devices"].items()}

    def close() -> None:
        for device in devices.values():
            device.close()

    try:
        module, _, function = spec["prepare"].partition(":")
        prepare = getattr(importlib.import_module(module), function)
        service = prepare(host, devices, spec["parameters"], first=spec["first"])
        service.stations.update({name: Station(device) for name, device in devices.items()})
        return Responder(service, Listener(spec["address"])), close
    except BaseException:
        close()
        raise


if __name__ == "__main__":
    sys.exit(_main())
