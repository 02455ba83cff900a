# SPDX-License-Identifier: Apache-2.0
"""The host of a measurement over veth pairs, in a process of its own: plays batches into a switch and counts answers.

Packets that do the same each time are played with never more of them under way than a window, so a switch that is asked
for more than it can do is slow here instead of losing frames. Others are played once, batch after batch, at a rising
pace until frames are lost. The kernel counts what comes back. Run as ``python -m offramp_p4.bench.player FILE``;
FILE is what :func:`save` wrote. Writes one line of JSON.
"""

from __future__ import annotations

import itertools
import json
import re
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from offramp_base.transport import open_io
from offramp_base.transport.mmsg import PreparedFrames
from offramp_base.wire.batch import PacketBatch

WINDOWS: Final = (32, 256, 1024, 4096)
GRAIN: Final = 16
"""Packets of the smallest batch; a window is filled in quarters."""
PACES: Final = (500, 1000, 2000, 4000, 20_000, 100_000, 0)
_BURST: Final = 16
_LOST_S: Final = 2.0
_LONG_S: Final = 20.0
"""Time that a switch may spend on a whole batch before anything leaves it."""
_POLL_S: Final = 20e-6
_INTERFACES: Final = Path("/proc/self/net/dev")


@dataclass(frozen=True, slots=True)
class BenchTrial:
    """One play of batches. ``packets`` were sent in ``seconds``; of those that should return ``lost`` did not.

    ``limit`` is the window in packets, or the pace in packets per second (0: none).
    """

    limit: int
    packets: int
    seconds: float
    lost: int


@dataclass(frozen=True, slots=True)
class Played:
    """``wrong`` describes the first error in the answers to the first batch; empty if there is none."""

    trials: list[BenchTrial]
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class PlayedBatch:
    """``size`` packets as one message for each port, answered by ``answers`` frames."""

    size: int
    messages: dict[int, PreparedFrames]
    answers: int


def save(path: Path, batches: Sequence[PacketBatch], answers: Sequence[PacketBatch], repeatable: bool) -> None:
    """Write what :func:`main` reads: batches, what each is answered with, and whether they do the same each time."""
    arrays: dict[str, Any] = {"repeatable": repeatable, "sizes": np.array([len(b) for b in batches])}
    arrays["answers"] = np.array([len(a) for a in answers])
    for name, batch in (("sent", PacketBatch.concatenate(batches)), ("first", answers[0])):
        arrays |= {f"{name}_ports": batch.ports, f"{name}_lengths": batch.lengths, f"{name}_data": batch.data}
    np.savez(path, **arrays)


def parse(line: str) -> Played:
    """The line that :func:`main` wrote."""
    raw = json.loads(line)
    return Played([BenchTrial(**trial) for trial in raw["trials"]], raw["wrong"])


class PortPeers:
    """The far ends ``h0``, ``h1`` … of the switch's ports."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.ports = ports
        self._names = {f"h{port}" for port in ports}
        self._sockets = {port: _sender(f"h{port}") for port in ports}

    def received(self) -> int:
        """Frames that have come back on all interfaces, since they were made."""
        count = 0
        for line in _INTERFACES.read_text().splitlines():
            name, colon, rest = line.partition(":")
            if colon and name.strip() in self._names:
                count += int(rest.split()[1])
        return count

    def wait(self, count: int, timeout_s: float) -> int:
        """Wait until ``count`` frames have come back, or none for ``timeout_s``; return the number missing."""
        last, since = -1, time.monotonic()
        while (now := self.received()) < count:
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > timeout_s:
                return count - now
            time.sleep(_POLL_S)
        return 0

    def send(self, messages: dict[int, PreparedFrames], pace: int = 0) -> None:
        """Send all frames of a batch, each by its port; not more than ``pace`` a second unless that is 0."""
        burst = _BURST if pace else max(map(len, messages.values()))
        start, sent = time.perf_counter(), 0
        for at in range(0, max(map(len, messages.values())), burst):
            for port, message in messages.items():
                part, done = message.part(at, at + burst), 0
                while done < len(part):
                    done += part.send(self._sockets[port], done)
                sent += len(part)
                while pace and time.perf_counter() < start + sent / pace:
                    time.sleep(_POLL_S)


def _sender(ifname: str) -> socket.socket:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.bind((ifname, 0))  # no protocol: it hears nothing, and the kernel need not keep copies for it
    return sock


def check_first(
    host: PortPeers, sent: dict[int, PreparedFrames], expected: PacketBatch, pace: int, timeout_s: float
) -> str:
    """Send a batch and compare the answers; returns a description of the difference, or nothing."""
    ears = {port: open_io(f"h{port}") for port in host.ports}
    received: Counter[tuple[int, bytes]] = Counter()
    host.send(sent, pace)
    last = time.monotonic()
    while received.total() < len(expected) and time.monotonic() - last < timeout_s:
        for port, ear in ears.items():
            frames = Counter((port, frame) for frame in ear.receive(0.001).frames())
            received += frames
            last = time.monotonic() if frames else last
    for ear in ears.values():
        ear.close()
    wanted = Counter(expected)
    if received == wanted:
        return ""
    absent, strange = (wanted - received).total(), (received - wanted).total()
    return f"of {wanted.total()} frames {absent} did not come back as they should, and {strange} others did"


def play(host: PortPeers, batches: Sequence[PlayedBatch], window: int, seconds: float) -> BenchTrial:
    """Play batches again and again for ``seconds`` with at most ``window`` packets under way."""
    answered = host.received()
    packets = lost = 0
    under_way: deque[tuple[int, int]] = deque()
    started = time.perf_counter()
    for batch in itertools.cycle(batches):
        while under_way and not lost and sum(size for size, _ in under_way) + batch.size > window:
            lost = host.wait(under_way.popleft()[1], _LOST_S)
        if lost or time.perf_counter() - started > seconds:
            break
        host.send(batch.messages)
        packets += batch.size
        answered += batch.answers
        under_way.append((batch.size, answered))
    lost = lost or host.wait(answered, _LOST_S)
    return BenchTrial(window, packets, time.perf_counter() - started, lost)


def play_once(host: PortPeers, batches: Sequence[PlayedBatch], pace: int) -> BenchTrial:
    """Play batches one after the other, each when the one before is answered."""
    answered = host.received()
    packets = lost = 0
    started = time.perf_counter()
    for batch in batches:
        host.send(batch.messages, pace)
        packets += batch.size
        answered += batch.answers
        lost = host.wait(answered, _LONG_S)
        if lost:
            break
    return BenchTrial(pace, packets, time.perf_counter() - started, lost)


def _trials(host: PortPeers, script: Script, seconds: float) -> Iterator[BenchTrial]:
    if script.repeatable:
        for window in WINDOWS:
            batches = script.batches(max(1, window // 4 // GRAIN))
            yield play(host, batches, window, seconds / len(WINDOWS))
        return
    batches = script.batches()
    share = (len(batches) - 1) // len(PACES)  # the first batch has been played
    for number, pace in enumerate(PACES):
        at = 1 + number * share
        trial = play_once(host, batches[at : at + share], pace)
        yield trial
        if trial.lost:  # what comes after would not find the switch where it should be
            return


class Script:
    """The batches and expected answers in a file of :func:`save`; ``first`` are the answers to the first batch."""

    def __init__(self, path: str) -> None:
        with np.load(path) as arrays:
            self._sent, self.first = (
                PacketBatch(*(arrays[f"{name}_{part}"] for part in ("ports", "lengths", "data")))
                for name in ("sent", "first")
            )
            self._sizes, self._answers = arrays["sizes"], arrays["answers"]
            self.repeatable = bool(arrays["repeatable"])

    def batches(self, together: int = 1) -> list[PlayedBatch]:
        """The batches, ``together`` of them joined into one."""
        ends = np.cumsum(self._sizes)
        parts = []
        for at in range(0, len(ends), together):
            group = slice(at, at + together)
            size = int(self._sizes[group].sum())
            end = int(ends[group][-1])
            part = self._sent.select(slice(end - size, end))
            messages = {
                port: PreparedFrames(part.select(part.ports == port)) for port in np.unique(part.ports).tolist()
            }
            parts.append(PlayedBatch(size, messages, int(self._answers[group].sum())))
        return parts


def main() -> None:
    """Play the batches of a file."""
    script, seconds = Script(sys.argv[1]), float(sys.argv[2])
    host = PortPeers(_ports())
    timeout_s = _LOST_S if script.repeatable else _LONG_S
    wrong = check_first(host, script.batches()[0].messages, script.first, PACES[0], timeout_s)
    trials = [] if wrong else list(_trials(host, script, seconds))
    sys.stdout.write(json.dumps(asdict(Played(trials, wrong))) + "\n")


def _ports() -> list[int]:
    names = [line.partition(":")[0].strip() for line in _INTERFACES.read_text().splitlines()]
    return sorted(int(name[1:]) for name in names if re.fullmatch(r"h\d+", name))


if __name__ == "__main__":
    main()
