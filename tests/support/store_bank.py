# SPDX-License-Identifier: Apache-2.0
"""Transactions of a bank in a store whose memory and disk are full now and then, and that is killed.

Each transaction takes from one account, gives to another, and writes a note: short, long, far beyond its end, or one
that is renamed. The oracle is a dictionary that a transaction changes when EXEC says that it was carried out, and only
then. After each refusal and each restart the store's contents are the dictionary's; after a kill in the middle of EXEC
they are those before or behind it.

``python tests/support/store_bank.py TRANSACTIONS [SEED] [FOLDER]`` prints what was seen; the folder may be on a
small disk.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

from offramp.leo.store.process import StoreProcess
from store_lab import ErrorAnswer, Nothing, Resp, a_store, encoded

ACCOUNTS: Final = [f"account:{i}" for i in range(6)]
NOTES: Final = [f"note:{i}" for i in range(4)]
LONGEST: Final = 200_000
Contents = dict[str, bytes]


def transaction(rng: random.Random, contents: Contents) -> tuple[list[list[str | bytes]], Contents]:
    """Commands, and what the store holds if they are carried out."""
    after = dict(contents)
    payer, payee = rng.sample(ACCOUNTS, 2)
    amount = rng.randrange(100)
    after[payer] = b"%d" % (int(after.get(payer, b"0")) - amount)
    after[payee] = b"%d" % (int(after.get(payee, b"0")) + amount)
    note, other = rng.sample(NOTES, 2)
    old = after.get(note, b"")
    size = int(LONGEST * rng.random() ** 4)
    text = rng.randbytes(1) * size
    commands: list[list[str | bytes]] = [["DECRBY", payer, str(amount)]]
    kind = rng.randrange(5)
    if kind == 0 and old:
        commands += [["RENAME", note, other], ["APPEND", other, b"!"]]
        after[other] = after.pop(note) + b"!"
    elif kind == 1:
        commands += [["SETRANGE", note, str(size), b"end"]]
        after[note] = old[:size].ljust(size, b"\0") + b"end" + old[size + 3 :]
    elif kind == 2:
        commands += [["DEL", note]]
        after.pop(note, None)
    elif kind == 3 and len(old) + size < 3 * LONGEST:
        commands += [["APPEND", note, text]]
        after[note] = old + text
    else:
        commands += [["MSET", note, text, "last", text[:7]]]
        after[note], after["last"] = text, text[:7]
    commands += [["INCRBY", payee, str(amount)]]
    return commands, after


class Bank:
    """A store, and what it must hold.

    Attributes:
        counts: transactions that were carried out or refused for want of memory or disk, and kills.
    """

    def __init__(self, store: StoreProcess, seed: int) -> None:
        self._store, self._rng = store, random.Random(seed)
        self._client = Resp(store.addresses["resp"])
        self._contents: Contents = {}
        self.counts: Counter[str] = Counter()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def step(self, kills: bool) -> None:
        """One transaction, with little memory at times, and with a kill in its middle at others."""
        rng = self._rng
        tight = rng.random() < 0.4
        if tight:
            used = int(self._client("INFO", "memory").decode().split("used_memory:")[1].split()[0])
            self._client("CONFIG", "SET", "maxmemory", str(used + rng.randrange(-1000, LONGEST // 2)))
        commands, after = transaction(rng, self._contents)
        text = b"".join(encoded(*words) for words in [["MULTI"], *commands, ["EXEC"]])
        if kills and rng.random() < 0.004:
            self._kill(text, after)
            return
        self._client.sock.sendall(text)
        answer = [self._client.answer() for _ in range(len(commands) + 2)][-1]
        if isinstance(answer, ErrorAnswer):
            assert answer.startswith("EXECABORT"), answer
            self.counts["full disk" if "MISCONF" in answer else "full memory"] += 1
        else:
            assert not any(isinstance(each, ErrorAnswer) for each in answer), answer
            self._contents = after
            self.counts["carried out"] += 1
        if tight:
            self._client("CONFIG", "SET", "maxmemory", "0")
        if isinstance(answer, ErrorAnswer) or rng.random() < 0.02:
            self.check(self._contents)
        if isinstance(answer, ErrorAnswer) and rng.random() < 0.3:
            self._client("DEL", *NOTES)
            self._client("SAVE")  # makes room on the disk
            for note in NOTES:
                self._contents.pop(note, None)

    def _kill(self, text: bytes, after: Contents) -> None:
        self._client.sock.sendall(text)
        time.sleep(self._rng.choice([0, 0, 1e-4, 1e-3]))
        self.restart()
        self.counts["kills"] += 1
        held = self._held(after | self._contents)
        assert held in (self._contents, after), "a transaction is there in part"
        self._contents = held

    def restart(self) -> None:
        """Kill the store and start it again."""
        self._client.close()
        self._store.kill()
        self._store.start()
        self._client = Resp(self._store.addresses["resp"])

    def check(self, expected: Contents | None = None) -> None:
        """Compare the contents."""
        expected = self._contents if expected is None else expected
        held = self._held(expected)
        for key in expected.keys() | held.keys():
            assert held.get(key) == expected.get(key), f"{key}: {held.get(key)!r:.40} {expected.get(key)!r:.40}"

    def _held(self, names: Contents) -> Contents:
        keys = sorted({*ACCOUNTS, *NOTES, "last", *names})
        values = self._client("MGET", *keys)
        return {key: value for key, value in zip(keys, values, strict=True) if value != Nothing()}


def run(folder: Path, transactions: int, seed: int, *, kills: bool = True) -> Counter[str]:
    """So many transactions, in a store of its own."""
    with a_store(memcached="", folder=folder, sync="no") as store:
        bank = Bank(store, seed)
        try:
            for _ in range(transactions):
                bank.step(kills)
            bank.restart()
            bank.check()
        finally:
            bank.close()
    return bank.counts


def _main() -> None:
    transactions, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as spare:
        folder = Path(sys.argv[3]) if len(sys.argv) > 3 else Path(spare) / "data"
        began = time.monotonic()
        counts = run(folder, transactions, seed)
    sys.stdout.write(f"seed {seed}: {dict(counts)} in {time.monotonic() - began:.0f} s\n")


if __name__ == "__main__":
    _main()
