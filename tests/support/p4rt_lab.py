# SPDX-License-Identifier: Apache-2.0
"""A P4Runtime device in this process, on either engine, whose clock only the test moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from in_process_switch import LocalConnection
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.session import Session
from offramp_base.p4rt.status import Code, RpcError
from offramp_base.wire.batch import PacketBatch
from offramp_p4.native import NativeSwitch
from offramp_p4.runtime.device import P4Device
from offramp_p4.runtime.service import P4RuntimeService
from offramp_p4.runtime.translation import Translations
from offramp_p4.switch import Switch

CPU_PORT = 510
ENGINES: dict[str, Callable[..., Any]] = {"python": Switch, "native": NativeSwitch}
INSERT, MODIFY, DELETE = v1.Update.INSERT, v1.Update.MODIFY, v1.Update.DELETE


class SteppedDevice(P4Device):
    """Time stands still unless ``time_ns`` is changed."""

    time_ns = 1_000_000_000

    @property
    def now_ns(self) -> int:
        return self.time_ns


class Lab:
    """A device with a program, and sessions with it."""

    def __init__(self, engine: str, program: Path, translations: Translations | None = None) -> None:
        make = ENGINES[engine]
        self.device = SteppedDevice(0, lambda p: make(p, cpu_port=CPU_PORT), CPU_PORT, translations)
        self.service = P4RuntimeService(self.device)
        self.program = program
        self.sent: list[tuple[int, bytes]] = []
        self.device.inject = self._inject
        self._sessions: list[Session] = []
        self.session = self.connect()
        self.session.push(b"", program.read_bytes())

    def connect(self, election_id: int = 1, **options: Any) -> Session:
        session = Session(LocalConnection(self.service), election_id=election_id, **options)
        session.__enter__()
        self._sessions.append(session)
        return session

    def close(self) -> None:
        for session in self._sessions:
            session.close()

    def packets(self, port: int, *frames: bytes) -> list[tuple[int, bytes]]:
        """Frames that leave the switch when frames enter at a port."""
        out = self.device.process(PacketBatch.of([(port, frame) for frame in frames]))
        return [(int(p), frame) for p, frame in zip(out.ports.tolist(), out.frames(), strict=True)]

    def write(self, *updates: tuple[int, Any], atomicity: int = 0, session: Session | None = None) -> None:
        """One WriteRequest."""
        session = session or self.session
        request = v1.WriteRequest(
            role=session.role,
            election_id=session._election(),
            atomicity=atomicity,
            updates=[v1.Update(type=kind, entity=entity) for kind, entity in updates],
        )
        self.service.write(request)

    def refusal(self, *updates: tuple[int, Any], **options: Any) -> tuple[str, str]:
        """Code and message of the first update that fails."""
        try:
            self.write(*updates, **options)
        except RpcError as error:
            if not error.errors:
                return error.code.name, error.message
            first = next(e for e in error.errors if e.canonical_code)
            return Code(first.canonical_code).name, first.message
        raise AssertionError("nothing was refused")

    def read(self, **entity: Any) -> list[Any]:
        """The entities that a filter matches."""
        (kind,) = entity
        return [getattr(e, kind) for e in self.session.read([v1.Entity(**entity)])]

    def _inject(self, batch: PacketBatch) -> None:
        out = self.device.process(batch)
        self.sent += zip(out.ports.tolist(), out.frames(), strict=True)
