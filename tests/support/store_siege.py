# SPDX-License-Identifier: Apache-2.0
"""A friend of a store while hostile clients attack it, by turns with a friend of a store that nobody attacks.

``python tests/support/store_siege.py --minutes 10 --out siege.jsonl`` is the real size: all kinds of
:mod:`store_attacks` at once but silent guards, for which the store has a token and everybody proves it. Each turn is a
line of the file; the last line of the output has the friend's 99th percentiles with and without, their ratio, and the
most memory that the store took beside its setting.

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
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

import store_attacks
from offramp.leo.store.process import StoreProcess
from store_lab import Resp, a_store, a_token

MOST: Final = 1.5
"""Factor by which a friend's 99th percentile may grow."""
MEMORY: Final = 400 << 20
SETTLE_S: Final = 2.0


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


@contextmanager
def attackers(kinds: list[str], store: StoreProcess) -> Iterator[subprocess.Popen[bytes]]:
    """The process of the attackers, with less right to the processors than the store."""
    words = ["nice", "-n", "10", sys.executable, store_attacks.__file__, ",".join(kinds)]
    addresses = [store.addresses.get(name, "") for name in ("resp", "memcached", "listen")]
    with subprocess.Popen([*words, *addresses]) as process:
        try:
            yield process
        finally:
            process.kill()


def besiege(
    kinds: list[str],
    seconds: float,
    turn_s: float,
    memory: int = MEMORY,
    out: Path | None = None,
    *,
    going: bool = False,
) -> Siege:
    """Turns until ``seconds`` have passed, at least two of each kind.

    Args:
        kinds: kinds of attackers.
        seconds: length of the siege.
        turn_s: length of a turn.
        memory: memory of each store.
        out: file that gets a line of JSON for each turn.
        going: attackers do not stop while the friend is alone, so that only the store's time differs.

    Raises:
        AssertionError: an answer is wrong, an attacker could not go on, or what attackers sent was carried out.
    """
    siege, guarded = Siege(), store_attacks.GUARDS in kinds
    listen = {"listen": "127.0.0.1:0"} if guarded else {}
    with (
        a_token() if guarded else nullcontext(),
        a_store(memory=memory, **listen) as besieged, a_store(memory=memory, **listen) as alone,
        Resp(besieged.addresses["resp"]) as client, Resp(alone.addresses["resp"]) as other,
    ):  # fmt: skip
        for each in (client, other):
            each("SET", "friend", "1")
            each("SET", store_attacks.BIG, b"x" * 1_000_000)
        with (
            attackers(kinds, besieged) as process,
            Resp(besieged.addresses["resp"]) as friend, Resp(alone.addresses["resp"]) as undisturbed,
        ):  # fmt: skip
            time.sleep(min(SETTLE_S, seconds))
            begun = time.monotonic()
            while time.monotonic() < begun + seconds or len(siege.alone_us) < 2:
                for loud in (True, False):
                    process.send_signal(signal.SIGCONT if loud or going else signal.SIGSTOP)
                    late = siege.add(latencies((friend if loud else undisturbed).sock, turn_s), besieged=loud)
                    held = resident(besieged.pid)
                    siege.memory = max(siege.memory, held)
                    if out is not None:
                        row = {"at_s": time.monotonic() - begun, "besieged": loud, "p99_us": late, "bytes": held}
                        with out.open("a") as file:
                            file.write(json.dumps(row) + "\n")
                assert process.poll() is None, "the attackers ended"
        assert client("EXISTS", "k") == 0, "what an attacker sent was carried out"
        assert client("GET", "friend") == b"1", "an attacker flushed the store"
    return siege


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
    given.add_argument("--out", type=Path, help="append a line of JSON for each turn")
    options = given.parse_args()
    kinds = options.kinds.split(",")
    if unknown := [kind for kind in kinds if kind not in store_attacks.ATTACKS]:
        given.error(f"--kinds: {', '.join(unknown)}: expected some of {', '.join(store_attacks.ATTACKS)}")
    siege = besiege(kinds, 60 * options.minutes, options.turn, options.memory, options.out, going=options.going)
    sys.stdout.write(
        f"{len(siege.besieged)} requests under {len(kinds)} kinds of attackers, {len(siege.alone)} alone: 99th "
        f"percentile {np.percentile(siege.besieged, 99) * 1e6:.0f} and {np.percentile(siege.alone, 99) * 1e6:.0f} us, "
        f"{siege.whole_ratio:.2f} (median over {len(siege.alone_us)} pairs of turns: {siege.turns_ratio:.2f}); rate "
        f"{siege.rate_ratio:.2f}; memory at most "
        f"{siege.memory >> 20} MiB of {options.memory >> 20}\n"
    )


if __name__ == "__main__":
    _main()
