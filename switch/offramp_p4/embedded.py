# SPDX-License-Identifier: Apache-2.0
"""The switch as a child process of a program that needs one."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from offramp_base.ending.left import temporary_folder
from offramp_base.ending.reliance import relied_on
from offramp_base.errors import OfframpError
from offramp_base.p4rt.tls import Tls
from offramp_base.transport.links import AUTO, TRANSPORTS, check_transport
from offramp_base.transport.unix import check_path
from offramp_p4.settings import PEER, Settings

if TYPE_CHECKING:
    from offramp_p4.tm import TmConfig
    from offramp_p4.veth_links import VethLinks

START_S = 60.0
STOP_S = 5.0


class EmbeddedSwitch:
    """A switch in a process of its own, with ports that nothing else on the machine has; a context manager.

    The process is started anew, never forked, and ends with its parent however that ends.

    Args:
        program: P4 source file.
        ports: number of ports, numbered from 0; or their numbers.
        workdir: folder for the sockets; a temporary one if None.
        cpu_port, device_id, seed, include, defines, tm, engine, tls, translation: as in
            :class:`offramp_p4.settings.Settings`.
        interfaces: network interfaces of the launcher's namespace to use as ports.
        transport: what the ports are: Unix sockets (``auto``), shared memory, UDP on the loopback, or veth pairs,
            opened at both ends by this transport; or what opens ``interfaces``.
        peers: ports that are links to other switches: number to the other's port, as in its ``port_specs``.
        limits: limits of programs, packets and requests, as in :class:`offramp_p4.settings.Settings`.
        launcher: command that starts the process, such as ``ip netns exec NAME``.

    Attributes:
        address: address of its P4Runtime server.
        port_specs: the host's ends of the ports, in order, for :func:`offramp_base.transport.open_io`; of ``udp`` once
            the switch runs. Of ``interfaces`` these names.
        port_numbers: the numbers of the same ports.
    """

    def __init__(
        self,
        program: str | Path | None,
        ports: int | Sequence[int],
        *,
        workdir: str | Path | None = None,
        cpu_port: int | None = None,
        device_id: int = 0,
        seed: int = 0,
        include: Sequence[str | Path] = (),
        defines: Mapping[str, str] | None = None,
        tm: TmConfig | None = None,
        engine: str = "auto",
        interfaces: Sequence[str] = (),
        peers: Mapping[int, str] | None = None,
        launcher: Sequence[str] = (),
        tls: Tls | None = None,
        translation: Mapping[str, Mapping[str, int]] | None = None,
        transport: str = AUTO,
        **limits: Any,
    ) -> None:
        self.port_numbers = list(range(ports)) if isinstance(ports, int) else list(ports)
        self._temporary = None if workdir else temporary_folder()
        self._folder = Path(workdir) if workdir else Path(self._temporary.name)  # type: ignore[union-attr]
        self._settings = {
            "program": None if program is None else str(program),
            "device_id": device_id,
            "cpu_port": cpu_port,
            "seed": seed,
            "include": tuple(str(folder) for folder in include),
            "defines": dict(defines or {}),
            "tm": tm,
            "engine": engine,
            "translation": dict(translation or {}),
            "grpc_cert": tls.cert if tls else None,
            "grpc_key": tls.key if tls else None,
            "grpc_ca": tls.ca if tls else None,
            "transport": transport,
            **limits,
        }
        self._launcher = list(launcher)
        self._transport = check_transport(transport)
        self._veth: VethLinks | None = None
        self._switch_ends, self.port_specs = self._make_links(interfaces)
        for number, spec in (peers or {}).items():
            self._switch_ends[self.port_numbers.index(number)] = spec.replace("unix:", PEER, 1)
        self.address = f"unix:{check_path(self._folder / 'p4runtime')}"
        self._process: subprocess.Popen[str] | None = None
        self._stack = ExitStack()

    @property
    def pid(self) -> int:
        """Process id of the running switch."""
        assert self._process is not None, "the switch runs inside its with block"
        return self._process.pid

    @property
    def log(self) -> Path:
        """The file with the switch's standard error."""
        return self._folder / "switch.log"

    def __enter__(self) -> Self:
        settings = self._make_settings()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                [*self._launcher, sys.executable, "-m", "offramp_p4.serve", settings.to_json()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        answer = self._first_line()
        if "address" not in answer:
            self.__exit__()
            raise OfframpError(answer.get("error") or f"the switch did not start; see {self.log}")
        if self._transport == "udp":
            self.port_specs = answer["links"]
        if self._veth is not None:
            self._veth.up()
        self._stack.enter_context(relied_on("the switch", self._process))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        process = self._process
        if process is not None:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()  # which is what the child takes as its parent's end
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
            self._process = None
        if self._temporary is not None:
            self._temporary.cleanup()

    def _make_links(self, interfaces: Sequence[str]) -> tuple[list[str], list[str]]:
        """The switch's and the host's ends."""
        if interfaces:
            return list(interfaces), list(interfaces)
        if self._transport == "udp":
            names = ["udp:127.0.0.1:0" for _ in self.port_numbers]
            return names, names
        if self._transport != AUTO and TRANSPORTS[self._transport].on_interface:
            from offramp_p4.veth_links import VethLinks

            self._veth = veth = VethLinks(self.port_numbers)
            self._launcher += veth.launcher
            return veth.switch_ends, [f"{self._transport}:{name}" for name in veth.host_ends]
        kind = "shm" if self._transport == "shm" else "unix"
        names = [f"{kind}:{check_path(self._folder / f'port{n}')}" for n in self.port_numbers]
        return names, names

    def _make_settings(self) -> Settings:
        ports = dict(zip(self.port_numbers, self._switch_ends, strict=True))
        return Settings(ports=ports, address=self.address, **self._settings)

    def _first_line(self) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        timer = threading.Timer(START_S, process.kill)
        timer.start()
        try:
            line = process.stdout.readline()
        finally:
            timer.cancel()
        answer: dict[str, Any] = json.loads(line) if line.strip() else {"error": self._last_words()}
        return answer

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return f"the switch did not start: {lines[-1]}" if lines else ""
