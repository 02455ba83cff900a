# SPDX-License-Identifier: Apache-2.0
"""bmv2's simple_switch as a process, in the state of one of our switches."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from offramp_base.ending.children import until_parent_ends
from offramp_base.errors import OfframpError
from offramp_p4.reference.commands import commands
from offramp_p4.reference.compiled import write_compiled

if TYPE_CHECKING:
    from offramp_p4.engines import AnySwitch


@dataclass(frozen=True, slots=True)
class ReferenceTarget:
    """One of bmv2's switches, the compiler for it and its command line, as commands on ``PATH``.

    Attributes:
        replicates: whether it has queues, multicast groups and mirror sessions, and commands for them.
    """

    compiler: str
    switch: str
    cli: str
    replicates: bool = True

    @property
    def tools(self) -> tuple[str, str, str]:
        """All three."""
        return self.compiler, self.switch, self.cli


SIMPLE_SWITCH: Final = ReferenceTarget("p4c-bm2-ss", "simple_switch", "simple_switch_CLI")
TARGETS: Final[Mapping[str, ReferenceTarget]] = {
    "V1Switch": SIMPLE_SWITCH,
    "PSA_Switch": ReferenceTarget("p4c-bm2-psa", "psa_switch", "psa_switch_CLI"),
    "PNA_NIC": ReferenceTarget("p4c-bm2-pna", "pna_nic", "pna_nic_CLI", replicates=False),
}
"""bmv2's switches by the package of their programs."""
LAUNCHER_MARK: Final = "# offramp switch shims"
"""The line by which a launcher of ours, which has the name of one of these programs, is known."""
_START_S: Final = 20.0


def missing(target: ReferenceTarget = SIMPLE_SWITCH) -> list[str]:
    """Programs of p4c and bmv2 that are not on PATH."""
    return [tool for tool in target.tools if shutil.which(tool) is None or (tool == target.switch and _is_ours(tool))]


def _is_ours(tool: str) -> bool:
    """Whether it is a launcher of ``offramp switch shims``, which would be compared with itself."""
    with Path(shutil.which(tool) or tool).open("rb") as file:
        return LAUNCHER_MARK.encode() in file.read(200)


def available() -> bool:
    """Whether p4c and bmv2 are on PATH."""
    return not missing()


class SimpleSwitch:
    """A running simple_switch, or psa_switch or pna_nic for programs of theirs, without logging; a context manager.

    Args:
        source: the program.
        like: a switch in the state that bmv2 is to be in.
        interfaces: interface of each port.
        folder: folder for the compiled program and the log; bmv2 runs in it.
        options: more of them, before the program.
        target_options: those of simple_switch itself, such as ``--priority-queues``.
        include, defines: folders and macros for p4c's preprocessor.
        compiler: what compiles the program, instead of p4c on PATH.

    Attributes:
        started_s: ``time.monotonic()`` when the process was started.

    Raises:
        OfframpError: p4c or bmv2 is missing or refuses something.
    """

    def __init__(
        self,
        source: Path,
        like: AnySwitch,
        interfaces: Mapping[int, str],
        folder: Path,
        options: Sequence[str] = (),
        *,
        target_options: Sequence[str] = (),
        include: Iterable[Path] = (),
        defines: Mapping[str, str] | None = None,
        compiler: str | None = None,
    ) -> None:
        package = like.program.main.type_name
        if package not in TARGETS:
            raise OfframpError(f"bmv2 has no switch for programs of {package}")
        target = TARGETS[package]
        if compiler is not None:
            target = replace(target, compiler=compiler)
        absent = missing(target)
        if absent:
            raise OfframpError(f"bmv2: {', '.join(absent)} not on PATH")
        self._folder, self._target = folder, target
        self._thrift = _free_port()
        self._text = "\n".join(commands(like, replication=target.replicates)) + "\n"
        write_compiled(source, folder / "program.json", like, target.compiler, include=include, defines=defines)
        ports = [part for port, name in interfaces.items() for part in ("-i", f"{port}@{name}")]
        self._command = [target.switch, *options, "--thrift-port", str(self._thrift), *ports]
        self._command += ["--device-id", str(self._thrift), "program.json"]
        self._command += ["--", *target_options] if target_options else []
        self.started_s = 0.0

    def __enter__(self) -> Self:
        with (self._folder / "log").open("w") as log:
            command = [*until_parent_ends(), *self._command]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder)
        self.started_s = time.monotonic()
        try:
            self._configure()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    def _configure(self) -> None:
        deadline = time.monotonic() + _START_S
        while True:
            if not self.running:
                raise OfframpError(f"{self._target.switch} did not start: {(self._folder / 'log').read_text().strip()}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._thrift)) == 0:
                    break
            if time.monotonic() > deadline:
                raise OfframpError(f"{self._target.switch} does not answer at its Thrift port")
            time.sleep(0.05)
        command = [self._target.cli, "--thrift-port", str(self._thrift)]
        done = subprocess.run(command, input=self._text, check=False, capture_output=True, text=True)
        faults = [line for line in done.stdout.splitlines() if "Error" in line or "Invalid" in line]
        if done.returncode or faults:
            raise OfframpError(f"{self._target.cli}: {faults[0] if faults else done.stderr.strip()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
