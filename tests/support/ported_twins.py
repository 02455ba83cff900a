# SPDX-License-Identifier: Apache-2.0
"""Both engines side by side, the native one behind ports of DPDK's: a program of its own, since DPDK starts once.

Arguments: cores, spread, folder for captures, how many damaged packets to send, then STF files. Each line of the output
is a file and how many packets it sent; an assertion ends it.
"""

from __future__ import annotations

import random
import sys
import time
from itertools import groupby
from pathlib import Path

from offramp_base.wire import pcap
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import ir
from offramp_p4.frontend import load
from offramp_p4.ports.dpdk.library import ports_library
from offramp_p4.ports.dpdk.port import DpdkPort
from offramp_p4.ports.dpdk.workers import Workers
from offramp_p4.stf.control import StfControl
from offramp_p4.stf.parse import StfCommand, parse
from twins import Twins

_PATIENCE_S = 30.0


class PortedTwins(Twins):
    """The packets of each batch come in by one port; what leaves is compared port by port."""

    def __init__(self, program: ir.Program, folder: Path, cores: int, spread: str) -> None:
        super().__init__(program)
        self._folder, self._cores, self._spread = folder, cores, spread
        self._library = ports_library()
        self._library.begin([], huge=False)

    def process(self, batch: PacketBatch) -> PacketBatch:
        want = self.engine.process(batch)
        got = self._by_ports(batch)
        for port in {port for port, _ in (*want, *got)}:
            left, right = ([frame for to, frame in out if to == port] for out in (want, got))
            if self._cores > 1:  # order holds within a flow
                left, right = sorted(left), sorted(right)
            assert left == right, port
        self.check()
        return want

    def _by_ports(self, batch: PacketBatch) -> list[tuple[int, bytes]]:
        number, into, out = int(batch.ports[0]), self._folder / "in.pcap", self._folder / "out.pcap"
        writer = pcap.CaptureWriter(into)
        writer.write(0, batch.frames())
        writer.close()
        port = DpdkPort(self._library, f"dpdk:net_pcap0,rx_pcap={into},tx_pcap={out}", number, self._cores)
        workers = Workers(self._library, [number], self._cores, self._spread)
        left: list[tuple[int, bytes]] = []
        workers.run(self.native, time.monotonic_ns())
        end = time.monotonic() + _PATIENCE_S
        while sum(each.processed for each in workers.stats()) < len(batch):
            assert time.monotonic() < end, [each.received for each in workers.stats()]
            left += workers.exceptions()
            time.sleep(0.0002)
        assert not any(each.lost or each.unknown for each in workers.stats())
        workers.close()
        while len(more := workers.exceptions()):
            left += more
        port.close()
        return left + [(number, frame) for _, frame in pcap.read(out)]


def run(path: Path, folder: Path, cores: int, spread: str, extra: int) -> int:
    """The packets of an STF file, then as many damaged ones; how many."""
    twins = PortedTwins(load(path.with_suffix(".p4")), folder, cores, spread)
    controls = [StfControl(switch) for switch in twins.engines]
    sent: list[tuple[int, bytes]] = []

    def kind(command: StfCommand) -> int:
        return command.numbers[0] if command.name == "packet" else -1

    commands = [command for command in parse(path.read_text(), path.name) if command.name != "expect"]
    for port, group in groupby(commands, kind):
        if port >= 0:
            packets = [(port, bytes.fromhex(command.data)) for command in group]
            sent += packets
            twins.send(packets)
            continue
        for command in group:
            assert len({control.execute(command) for control in controls}) == 1
    rng = random.Random(path.name)
    for port in sorted({port for port, _ in sent}):
        frames = [frame for number, frame in sent if number == port]
        damaged = [(port, _damaged(rng, rng.choice(frames))) for _ in range(extra)]
        twins.send(damaged)
        sent += damaged
    return len(sent)


def _damaged(rng: random.Random, frame: bytes) -> bytes:
    damaged_frame = bytearray(frame)
    for _ in range(rng.choice([0, 1, 2, 8])):
        damaged_frame[rng.randrange(len(damaged_frame))] = rng.choice([0, 1, 0xFF, rng.randrange(256)])
    if rng.random() < 0.3:
        del damaged_frame[rng.randrange(1, len(damaged_frame)) :]
    return bytes(damaged_frame)


def main() -> None:
    cores, spread, folder, extra = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
    for path in map(Path, sys.argv[5:]):
        sys.stdout.write(f"{path.stem} {run(path, folder, cores, spread, extra)}\n")


if __name__ == "__main__":
    main()
