# SPDX-License-Identifier: Apache-2.0
"""A friend of a store while hostile clients attack it, by turns with a friend of a store that nobody attacks.

``python tests/support/store_siege.py --minutes 10 --out siege.jsonl`` is the real size: all kinds of
:mod:`store_attacks` at once but silent guards, for which the store has a token and everybody proves it. Each turn is a
line of the file; the last line of the output has the friend's 99th percentiles with and without, their ratio, and the
most memory that the store took beside its setting. ``--beside redis-server`` besieges redis as well, in turns of the
same run, by the kinds that both understand.

Blind to: attackers with a network of their own, who take the machine's processors; a friend who sends without waiting
for answers (a pause of the store is one late answer here, and shows in the rate).
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

import store_attacks
from offramp.leo.store.peers import running_peer
from store_lab import Resp, a_store, a_token

MOST: Final = 1.5
"""Factor by which a friend's 99th percentile may grow."""
MEMORY: Final = 400 << 20
SETTLE_S: Final = 2.0
OURS: Final = (store_attacks.GUARDS, "cross protocol")
"""Kinds that other stores do not survive as meant: a command of redis' protocol is no crossing there."""


def resident(pid: int) -> int:
    """Bytes of memory that a process has now."""
    text = Path(f"/proc/{pid}/status").read_text("ascii")
    kilobytes = re.search(r"VmRSS:\s+(\d+) kB", text)
    assert kilobytes is not None
    return int(kilobytes[1]) * 1024


@dataclass
class Siege:
    """What a friend saw.

    Attributes:
        alone_us, besieged_us: 99th percentiles of the turns, in microseconds, and
        alone, besieged: every latency of them.
        memory: most bytes that the besieged store had.
    """

    alone_us: list[float] = field(default_factory=list)
    besieged_us: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    besieged: list[float] = field(default_factory=list)
    memory: int = 0

    def add(self, times_s: list[float], *, besieged: bool) -> float:
        """Add a turn; its 99th percentile."""
        late = float(np.percentile(times_s, 99)) * 1e6
        (self.besieged_us if besieged else self.alone_us).append(late)
        (self.besieged if besieged else self.alone).extend(times_s)
        return late

    @property
    def turns_ratio(self) -> float:
        """Median over pairs of turns of the besieged one's 99th percentile over the other's."""
        return float(np.median(np.divide(self.besieged_us, self.alone_us)))

    @property
    def rate_ratio(self) -> float:
        """Besieged requests per second over the others'."""
        return (len(self.besieged) / sum(self.besieged)) / (len(self.alone) / sum(self.alone))

    @property
    def whole_ratio(self) -> float:
        """99th percentile of all besieged requests over that of all others."""
        return float(np.percentile(self.besieged, 99) / np.percentile(self.alone, 99))


def latencies(sock: socket.socket, seconds: float) -> list[float]:
    """Seconds that each GET of a turn took."""
    times, end = [], time.perf_counter() + seconds
    while (begin := time.perf_counter()) < end:
        sock.sendall(b"GET friend\r\n")
        assert sock.recv(64) == b"$1\r\n1\r\n"
        times.append(time.perf_counter() - begin)
    return times


@dataclass(frozen=True)
class Target:
    """A store that can be attacked: its process and its addresses."""

    pid: int
    resp: str
    memcached: str
    listen: str


@dataclass(frozen=True)
class Side:
    """A store under siege and one in peace, of one kind."""

    name: str
    besieged: Target
    friend: Resp
    undisturbed: Resp
    attackers: subprocess.Popen[bytes]
    siege: Siege


@contextmanager
def attackers(kinds: list[str], store: Target) -> Iterator[subprocess.Popen[bytes]]:
    """The process of the attackers, with less right to the processors than the store."""
    words = ["nice", "-n", "10", sys.executable, store_attacks.__file__, ",".join(kinds)]
    with subprocess.Popen([*words, store.resp, store.memcached, store.listen]) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def _ours(memory: int, *, guarded: bool) -> Iterator[Target]:
    with a_store(memory=memory, **({"listen": "127.0.0.1:0"} if guarded else {})) as store:
        yield Target(store.pid, *(store.addresses.get(name, "") for name in ("resp", "memcached", "listen")))


@contextmanager
def _peer(program: str, memory: int) -> Iterator[Target]:
    """Another store of redis' protocol, with our store's bounds; it gets memcached's attacks there too."""
    with running_peer(program) as peer:
        with Resp(peer.address) as client:
            client("CONFIG", "SET", "maxmemory", memory)
            client("CONFIG", "SET", "maxmemory-clients", memory // 8)
        yield Target(peer.pid, peer.address, peer.address, "")


@contextmanager
def _side(name: str, kinds: list[str], start: Callable[[], AbstractContextManager[Target]]) -> Iterator[Side]:
    with start() as besieged, start() as alone, Resp(besieged.resp) as client, Resp(alone.resp) as other:
        for each in (client, other):
            each("SET", "friend", "1")
            each("SET", store_attacks.BIG, b"x" * 1_000_000)
        with attackers(kinds, besieged) as process, Resp(besieged.resp) as friend, Resp(alone.resp) as undisturbed:
            yield Side(name, besieged, friend, undisturbed, process, Siege())
        assert client("EXISTS", "k") == 0, "what an attacker sent was carried out"
        assert client("GET", "friend") == b"1", "an attacker flushed the store"


def besiege(
    kinds: list[str],
    seconds: float,
    turn_s: float,
    memory: int = MEMORY,
    out: Path | None = None,
    *,
    going: bool = False,
    beside: str | None = None,
) -> dict[str, Siege]:
    """Turns until ``seconds`` have passed, at least two of each kind.

    Args:
        kinds: kinds of attackers.
        seconds: length of the siege.
        turn_s: length of a turn.
        memory: memory of each store.
        out: file that gets a line of JSON for each turn.
        going: attackers do not stop while the friend is alone, so that only the store's time differs.
        beside: a program of redis' protocol that is besieged too, in turns of its own.

    Returns:
        What the friend saw of our store, ``"store"``, and of the other, by the program's name.

    Raises:
        AssertionError: an answer is wrong, an attacker could not go on, or what attackers sent was carried out.
    """
    guarded = store_attacks.GUARDS in kinds
    starts: dict[str, Callable[[], AbstractContextManager[Target]]] = {
        "store": lambda: _ours(memory, guarded=guarded),
    }
    if beside is not None:
        starts[beside] = lambda: _peer(beside, memory)
    with a_token() if guarded else nullcontext(), ExitStack() as stack:
        sides = [stack.enter_context(_side(name, kinds, start)) for name, start in starts.items()]
        time.sleep(min(SETTLE_S, seconds))
        begun = time.monotonic()
        while time.monotonic() < begun + seconds or len(sides[0].siege.alone_us) < 2:
            for side in sides:
                for each in sides:
                    each.attackers.send_signal(signal.SIGCONT if each is side else signal.SIGSTOP)
                for loud in (True, False):
                    if not loud and not going:
                        side.attackers.send_signal(signal.SIGSTOP)
                    row = {"at_s": time.monotonic() - begun, **_turn(side, turn_s, loud=loud)}
                    if out is not None:
                        with out.open("a") as file:
                            file.write(json.dumps(row) + "\n")
                assert side.attackers.poll() is None, "the attackers ended"
        return {side.name: side.siege for side in sides}


def _turn(side: Side, turn_s: float, *, loud: bool) -> dict[str, object]:
    times = latencies((side.friend if loud else side.undisturbed).sock, turn_s)
    late, held = side.siege.add(times, besieged=loud), resident(side.besieged.pid)
    side.siege.memory = max(side.siege.memory, held)
    return {"store": side.name, "besieged": loud, "p99_us": late, "bytes": held}


def _main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--minutes", type=float, default=10.0, help="length of the siege (default %(default)s)")
    given.add_argument("--turn", type=float, default=1.0, help="seconds of a turn (default %(default)s)")
    given.add_argument(
        "--kinds", default=",".join(kind for kind in store_attacks.ATTACKS if kind != store_attacks.GUARDS),
        help="kinds of attackers, separated by commas (default: %(default)s)",
    )  # fmt: skip
    given.add_argument("--memory", type=int, default=MEMORY, help="the store's --memory in bytes (default %(default)s)")
    given.add_argument(
        "--going", action="store_true",
        help="attackers do not stop while the friend is alone: what differs is the store's time, not the machine's",
    )  # fmt: skip
    given.add_argument("--beside", metavar="PROGRAM", help="besiege this too (redis-server, valkey-server)")
    given.add_argument("--out", type=Path, help="append a line of JSON for each turn")
    options = given.parse_args()
    kinds = options.kinds.split(",")
    if unknown := [kind for kind in kinds if kind not in store_attacks.ATTACKS]:
        given.error(f"--kinds: {', '.join(unknown)}: expected some of {', '.join(store_attacks.ATTACKS)}")
    if options.beside is not None:
        kinds = [kind for kind in kinds if kind not in OURS]
    sieges = besiege(
        kinds,
        60 * options.minutes,
        options.turn,
        options.memory,
        options.out,
        going=options.going,
        beside=options.beside,
    )
    for name, siege in sieges.items():
        sys.stdout.write(
            f"{name}: {len(siege.besieged)} requests under {len(kinds)} kinds of attackers, {len(siege.alone)} alone: "
            f"99th percentile {np.percentile(siege.besieged, 99) * 1e6:.0f} and "
            f"{np.percentile(siege.alone, 99) * 1e6:.0f} us, {siege.whole_ratio:.2f} (median over "
            f"{len(siege.alone_us)} pairs of turns: {siege.turns_ratio:.2f}); rate {siege.rate_ratio:.2f}; memory at "
            f"most {siege.memory >> 20} MiB of {options.memory >> 20}\n"
        )


if __name__ == "__main__":
    _main()
