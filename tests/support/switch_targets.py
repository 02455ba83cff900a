# SPDX-License-Identifier: Apache-2.0
"""Switches that run the same tests: in process, over gRPC and Unix sockets, over gRPC and veth, and bmv2.

A test folder offers them by importing :func:`make_target` and :func:`target_pool` into its ``conftest.py``. A
test calls ``make_target(program)`` and gets a :class:`Target`: ``target.session()`` is a P4Runtime session with
the program loaded, ``target.io(port)`` the host's end of a port.

bmv2 is used where ``p4c-bm2-ss`` and ``simple_switch_grpc`` are on PATH, or where ``OFFRAMP_BMV2`` is the address
of a running one and ``OFFRAMP_BMV2_PORTS`` names this machine's ends of its ports (``1@veth1,2@veth3``).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest

import namespaces
from in_process_switch import LocalConnection, MemoryPorts
from offramp_base.errors import OfframpError
from offramp_base.p4rt.connection import Connection
from offramp_base.p4rt.session import Session
from offramp_base.transport import FrameIO, open_io
from offramp_base.wire.batch import PacketBatch
from offramp_p4.embedded import EmbeddedSwitch
from offramp_p4.runtime.device import P4Device
from offramp_p4.runtime.service import P4RuntimeService
from offramp_p4.switch import Switch

CPU_PORT = 510
_ELECTION = itertools.count(1)


class Target:
    """A switch with a program.

    It lives for the whole test session: each test gets it with its program loaded afresh and its links empty.

    Attributes:
        name: which kind of switch.
        lacks: what it cannot do, of the words that tests give :meth:`require`.
        quiet_s: how long to wait before one says that nothing arrives.
        lasting: whether loading a program clears everything, so that one process serves all tests.
    """

    name: ClassVar[str]
    lacks: ClassVar[frozenset[str]] = frozenset()
    quiet_s: ClassVar[float] = 0.1
    lasting: ClassVar[bool] = True

    def __init__(self, ports: list[int], folder: Path) -> None:
        self.program = Path()
        self.ports = ports
        self.folder = folder
        self._stack = contextlib.ExitStack()
        self._sessions = contextlib.ExitStack()
        self._ios: dict[int, FrameIO] = {}
        self._pushed = False
        self._start()

    def prepare(self, program: Path) -> None:
        """Forget the test before: sessions end, links are emptied, the next session loads ``program``."""
        self._sessions.close()
        self.program, self._pushed = program, False
        self._drain()

    def _start(self) -> None:
        raise NotImplementedError

    def _connect(self) -> str | Connection:
        """Arguments with which a session is opened."""
        raise NotImplementedError

    def _open_io(self, port: int) -> FrameIO:
        raise NotImplementedError

    def _device_config(self) -> tuple[bytes | str, bytes]:
        """P4Info (empty: the switch makes it) and device configuration."""
        return b"", self.program.read_bytes()

    def session(self, **options: int) -> Session:
        """A session as primary; the first one loads the program. It ends with the test."""
        session = Session(self._connect(), election_id=next(_ELECTION), **options)
        self._sessions.enter_context(session)
        if not self._pushed:
            session.push(*self._device_config())
            self._pushed = True
            self._drain()  # of what was still inside the switch
        return session

    def _drain(self) -> None:
        for io in self._ios.values():
            while len(io.receive(0)):
                pass

    def address(self) -> str:
        """The gRPC address; skips where there is none."""
        reached = self._connect()
        if not isinstance(reached, str):
            pytest.skip(f"{self.name} has no gRPC address")
        return reached

    def io(self, port: int) -> FrameIO:
        """The host's end of a port, the same one every time."""
        if port not in self._ios:
            self._ios[port] = self._open_io(port)
            self._stack.callback(self._ios[port].close)
        return self._ios[port]

    def open_all(self) -> None:
        """Open every port, so that frames sent to it are kept for later."""
        for port in self.ports:
            self.io(port)

    def require(self, feature: str) -> None:
        """Skip the test if the target lacks a feature."""
        if feature in self.lacks:
            pytest.skip(f"{self.name} has no {feature}")

    def receive(self, port: int, count: int, timeout_s: float = 5.0) -> list[bytes]:
        """``count`` frames from a port; fewer if they do not come in time."""
        deadline, frames = time.monotonic() + timeout_s, []
        while len(frames) < count and (left := deadline - time.monotonic()) > 0:
            frames += self.io(port).receive(left).frames()
        return frames

    def exchange(self, port: int, *frames: bytes) -> None:
        """Send frames into a port."""
        self.io(port).send(PacketBatch.of((0, frame) for frame in frames))

    def silent(self, port: int) -> bool:
        """Whether nothing arrives at a port."""
        return len(self.io(port).receive(self.quiet_s)) == 0

    def close(self) -> None:
        """End the switch."""
        self._sessions.close()
        self._stack.close()


class InProcess(Target):
    """The P4Runtime service and the switch called directly."""

    name = "in-process"
    quiet_s = 0.0

    def _start(self) -> None:
        device = P4Device(0, lambda program: Switch(program, cpu_port=CPU_PORT), CPU_PORT)
        self._service = P4RuntimeService(device)
        self._links = MemoryPorts(device, self.ports)

    def _connect(self) -> Connection:
        return LocalConnection(self._service)

    def _open_io(self, port: int) -> FrameIO:
        return self._links.io(port)


class GrpcUnix(Target):
    """A process of its own, reached by gRPC and Unix sockets."""

    name = "grpc+unix"

    def _start(self) -> None:
        self.switch = self._stack.enter_context(
            EmbeddedSwitch(None, self.ports, workdir=self.folder, cpu_port=CPU_PORT)
        )

    def _connect(self) -> str:
        return self.switch.address

    def _open_io(self, port: int) -> FrameIO:
        return open_io(self.switch.port_specs[self.ports.index(port)])


class GrpcVeth(Target):
    """A process of its own on veth pairs in its own network namespace."""

    name = "grpc+veth"
    quiet_s = 0.2

    def _start(self) -> None:
        namespaces.require()
        self._namespace = self._stack.enter_context(namespaces.Namespace())
        for port in self.ports:
            self._namespace.veth(f"host{port}", f"sw{port}")
        self.switch = self._stack.enter_context(
            EmbeddedSwitch(
                None,
                self.ports,
                workdir=self.folder,
                cpu_port=CPU_PORT,
                interfaces=[f"sw{port}" for port in self.ports],
                launcher=self._namespace.command,
            )
        )

    def _connect(self) -> str:
        return self.switch.address

    def _open_io(self, port: int) -> FrameIO:
        return self._namespace.call(lambda: open_io(f"host{port}"))


class Bmv2(Target):
    """The reference switch, simple_switch_grpc."""

    name = "bmv2"
    lacks = frozenset(
        {
            "registers",
            "clone truncation",
            "exact digest lists",
            "our error messages",
            "P4Runtime 1.3 arbitration",
        }
    )
    quiet_s = 0.3
    lasting = False  # multicast groups and clone sessions outlive the program

    def _start(self) -> None:
        self._external = os.environ.get("OFFRAMP_BMV2", "")
        if not shutil.which("p4c-bm2-ss"):
            pytest.skip("p4c-bm2-ss is not on PATH")
        if self._external:
            pairs = os.environ.get("OFFRAMP_BMV2_PORTS", "").split(",")
            self._links = {int(n): spec for n, _, spec in (p.partition("@") for p in pairs if p)}
            missing = set(self.ports) - self._links.keys()
            if missing:
                pytest.skip(f"OFFRAMP_BMV2_PORTS names no interface for ports {sorted(missing)}")
            return
        if not shutil.which("simple_switch_grpc"):
            pytest.skip("simple_switch_grpc is not on PATH and OFFRAMP_BMV2 is not set")
        namespaces.require()
        self._namespace = self._stack.enter_context(namespaces.Namespace())
        attach: list[str] = []
        for port in self.ports:
            self._namespace.veth(f"host{port}", f"sw{port}")
            attach += ["-i", f"{port}@sw{port}"]
        self._address = f"unix:{self.folder}/bmv2"
        command = [*self._namespace.command, "simple_switch_grpc", "--no-p4", "--device-id", "0", *attach]
        command += ["--log-level", "warn", "--", "--grpc-server-addr", self._address, "--cpu-port", str(CPU_PORT)]
        with (self.folder / "bmv2.log").open("w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        self._stack.callback(_end, process)
        self._wait(process)

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + 20
        while True:
            probe = Session(self._address, timeout_s=1)
            try:
                probe.capabilities()
            except OfframpError:
                if time.monotonic() > deadline or process.poll() is not None:
                    log = (self.folder / "bmv2.log").read_text()
                    pytest.fail(f"simple_switch_grpc did not start: {log[-500:]}")
                time.sleep(0.1)
            else:
                return
            finally:
                probe.close()

    def _connect(self) -> str:
        return self._external or self._address

    def _open_io(self, port: int) -> FrameIO:
        if self._external:
            return open_io(self._links[port])
        return self._namespace.call(lambda: open_io(f"host{port}"))

    def _device_config(self) -> tuple[bytes | str, bytes]:
        json, info = self.folder / "program.json", self.folder / "program.txtpb"
        subprocess.run(
            ["p4c-bm2-ss", "--std", "p4-16", str(self.program), "-o", str(json), "--p4runtime-files", str(info)],
            check=True,
        )
        return info.read_text(), json.read_bytes()


TARGETS = [
    pytest.param(InProcess, id=InProcess.name),
    pytest.param(GrpcUnix, id=GrpcUnix.name),
    pytest.param(GrpcVeth, id=GrpcVeth.name, marks=pytest.mark.netns),
    pytest.param(Bmv2, id=Bmv2.name, marks=[pytest.mark.bmv2, pytest.mark.netns]),
]


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class _Pool:
    """The targets of a test session, by kind and number of ports."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._idle: dict[tuple[type[Target], int], list[Target]] = {}

    def lend(self, kind: type[Target], ports: int) -> Target:
        idle = self._idle.setdefault((kind, ports), [])
        return idle.pop() if idle else kind(list(range(1, ports + 1)), self._folders.mktemp("switch"))

    def take_back(self, target: Target) -> None:
        target.prepare(Path())
        if not target.lasting:
            target.close()
            return
        self._idle[type(target), len(target.ports)].append(target)

    def close(self) -> None:
        for idle in self._idle.values():
            for target in idle:
                target.close()


@pytest.fixture(scope="session")
def target_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Pool]:
    """Switches that live as long as the test session."""
    pool = _Pool(tmp_path_factory)
    yield pool
    pool.close()


@pytest.fixture(params=TARGETS)
def make_target(request: pytest.FixtureRequest, target_pool: _Pool) -> Iterator[Callable[..., Target]]:
    """``make_target(program, ports=4)``: a running switch of each kind in turn; ``ports`` counts from 1."""
    lent: list[Target] = []

    def make(program: Path, ports: int = 4) -> Target:
        target = target_pool.lend(request.param, ports)
        lent.append(target)
        target.prepare(program)
        return target

    yield make
    for target in lent:
        target_pool.take_back(target)
