# SPDX-License-Identifier: Apache-2.0
"""bmv2's simple_switch fed from capture files: no interfaces, no rights, and no packet lost on the way."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.wire import pcap
from offramp_p4.reference.commands import commands
from offramp_p4.reference.process import SimpleSwitch

if TYPE_CHECKING:
    from offramp_p4.engines import AnySwitch

_QUIET_S: Final = 1.5
_LIMIT_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class CapturedFrame:
    """A frame that left, when (microseconds of the wall clock), and where."""

    us: int
    port: int
    frame: bytes


def run(
    source: Path,
    like: AnySwitch,
    packets: Sequence[tuple[int, int, bytes]],
    ports: Sequence[int],
    *,
    target_options: Sequence[str] = (),
    include: Iterable[Path] = (),
    defines: Mapping[str, str] | None = None,
    compiler: str | None = None,
    quiet_s: float = _QUIET_S,
    limit_s: float = _LIMIT_S,
    expected: Iterable[bytes] | None = None,
) -> list[CapturedFrame]:
    """Compile and run a program in bmv2 with the state of ``like``; returns the packets that leave, in order.

    Args:
        source: the program.
        like: a switch in the state that bmv2 is to be in.
        packets: (microseconds, port, bytes), sent at these times after the first, as far as bmv2 keeps up.
        ports: all ports, also those that only send.
        target_options: target options of simple_switch.
        include: folders for p4c's preprocessor.
        defines: its macros.
        compiler: what compiles the program, instead of p4c on PATH.
        quiet_s: time without a frame after which the last one has left.
        limit_s: time after which no further frame is waited for.
        expected: frames that should leave, after whose bytes none is waited for.

    Raises:
        OfframpError: p4c or bmv2 is missing or refuses something.
    """
    with temporary_folder() as name:
        folder = Path(name)
        _write_inputs(folder, packets, ports)
        interfaces = {port: f"p{port}" for port in ports}
        whole = None if expected is None else pcap.size_of(expected, files=len(ports))
        least_s = 4 + sum(1 for _ in commands(like)) // 400
        for wait_s in (least_s, 4 * least_s, 16 * least_s):
            bmv2 = SimpleSwitch(
                source,
                like,
                interfaces,
                folder,
                ("--use-files", str(wait_s)),
                target_options=target_options,
                include=include,
                defines=defines,
                compiler=compiler,
            )
            with bmv2:
                reads_s = bmv2.started_s + wait_s  # its command line must be done by then
                if time.monotonic() <= reads_s:
                    return _collect(folder, ports, bmv2, reads_s, (quiet_s, limit_s), whole)
        raise OfframpError(f"bmv2's command line took more than {16 * least_s} s to write the tables")


def _write_inputs(folder: Path, packets: Sequence[tuple[int, int, bytes]], ports: Sequence[int]) -> None:
    frames: dict[int, list[tuple[int, bytes]]] = {port: [] for port in ports}
    for us, port, frame in packets:
        frames[port].append((us, frame))
    for port, sent in frames.items():
        pcap.write(folder / f"p{port}_in.pcap", sent)


def _collect(
    folder: Path,
    ports: Sequence[int],
    bmv2: SimpleSwitch,
    reads_s: float,
    waits: tuple[float, float],
    whole: int | None,
) -> list[CapturedFrame]:
    """Wait until the output files have stopped growing, from when bmv2 reads its input, or until the limit.

    No longer than until they have ``whole`` bytes together, where that is known.
    """
    quiet_s, limit_s = waits
    files = {port: folder / f"p{port}_out.pcap" for port in ports}
    deadline, sizes, quiet_since = time.monotonic() + limit_s, -1, reads_s + quiet_s
    while time.monotonic() < deadline and bmv2.running:
        now = sum(path.stat().st_size for path in files.values() if path.exists())
        if now == whole:
            break
        if now != sizes:
            sizes, quiet_since = now, max(quiet_since, time.monotonic())
        elif time.monotonic() - quiet_since > quiet_s:
            break
        time.sleep(0.1)
    out = [
        CapturedFrame(us, port, frame) for port, path in files.items() for us, frame in pcap.read(path, of_bmv2=True)
    ]
    return sorted(out, key=lambda d: d.us)
