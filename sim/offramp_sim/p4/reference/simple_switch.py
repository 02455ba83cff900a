"""bmv2's simple_switch fed from capture files: no interfaces, no rights, and no packet lost on the way."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from offramp.errors import OfframpError
from offramp_sim.p4.reference import pcap
from offramp_sim.p4.reference.commands import commands

if TYPE_CHECKING:
    from offramp_sim.p4.switch import Switch

TOOLS: Final = ("p4c-bm2-ss", "simple_switch", "simple_switch_CLI")
_QUIET_S: Final = 1.5
_LIMIT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Departure:
    """A frame that left, when (microseconds of the wall clock), and where."""

    us: int
    port: int
    frame: bytes


def available() -> bool:
    """Whether p4c and bmv2 are on PATH."""
    return all(map(shutil.which, TOOLS))


def run(source: Path, like: Switch, packets: Sequence[tuple[int, int, bytes]], ports: Sequence[int]) -> list[Departure]:
    """Compile and run a program in bmv2 with the tables of ``like``; what leaves, in order.

    Args:
        source: the program.
        like: a switch in the state that bmv2 is to be in.
        packets: (microseconds, port, bytes), sent at these times after the first, as far as bmv2 keeps up.
        ports: all ports, also those that only send.

    Raises:
        OfframpError: p4c or bmv2 is missing or refuses something.
    """
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise OfframpError(f"bmv2: {', '.join(missing)} not on PATH")
    with tempfile.TemporaryDirectory(prefix="offramp-bmv2-") as name:
        folder = Path(name)
        text = "\n".join(commands(like)) + "\n"
        wait_s = 4 + text.count("\n") // 400  # bmv2 starts reading then; its CLI must be done by that time
        _compile(source, folder / "program.json")
        _write_inputs(folder, packets, ports)
        thrift = _free_port()
        interfaces = [part for port in ports for part in ("-i", f"{port}@{folder / f'p{port}'}")]
        command = ["simple_switch", "--use-files", str(wait_s), "--thrift-port", str(thrift), *interfaces]
        command += ["--device-id", str(thrift), str(folder / "program.json")]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        reads_at = time.monotonic() + wait_s
        try:
            _configure(thrift, text, process, folder)
            if time.monotonic() > reads_at:
                raise OfframpError(f"simple_switch_CLI took more than {wait_s} s to write the tables")
            return _collect(folder, ports, process, reads_at)
        finally:
            process.terminate()
            process.wait()


def _compile(source: Path, into: Path) -> None:
    command = ["p4c-bm2-ss", "--std", "p4-16", "-o", str(into), str(source)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise OfframpError(f"p4c-bm2-ss refuses {source}: {done.stderr.strip()}")


def _write_inputs(folder: Path, packets: Sequence[tuple[int, int, bytes]], ports: Sequence[int]) -> None:
    frames: dict[int, list[tuple[int, bytes]]] = {port: [] for port in ports}
    for us, port, frame in packets:
        frames[port].append((us, frame))
    for port, sent in frames.items():
        pcap.write(folder / f"p{port}_in.pcap", sent)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _configure(thrift: int, text: str, process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + 20
    while True:
        if process.poll() is not None:
            raise OfframpError(f"simple_switch did not start: {(folder / 'log').read_text().strip()}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", thrift)) == 0:
                break
        if time.monotonic() > deadline:
            raise OfframpError("simple_switch does not answer at its Thrift port")
        time.sleep(0.05)
    command = ["simple_switch_CLI", "--thrift-port", str(thrift)]
    done = subprocess.run(command, input=text, check=False, capture_output=True, text=True)
    faults = [line for line in done.stdout.splitlines() if "Error" in line or "Invalid" in line]
    if done.returncode or faults:
        raise OfframpError(f"simple_switch_CLI: {faults[0] if faults else done.stderr.strip()}")


def _collect(folder: Path, ports: Sequence[int], process: subprocess.Popen[bytes], reads_at: float) -> list[Departure]:
    """Wait until the output files have stopped growing, from when bmv2 reads its input."""
    files = {port: folder / f"p{port}_out.pcap" for port in ports}
    deadline, sizes, quiet_since = time.monotonic() + _LIMIT_S, -1, reads_at + _QUIET_S
    while time.monotonic() < deadline and process.poll() is None:
        now = sum(path.stat().st_size for path in files.values() if path.exists())
        if now != sizes:
            sizes, quiet_since = now, max(quiet_since, time.monotonic())
        elif time.monotonic() - quiet_since > _QUIET_S:
            break
        time.sleep(0.1)
    found = [Departure(us, port, frame) for port, path in files.items() for us, frame in pcap.read(path)]
    return sorted(found, key=lambda d: d.us)
