# SPDX-License-Identifier: Apache-2.0
"""Writers of a store that is killed at random moments, and what has to be there afterwards.

Each connection has keys of its own. Transactions add 1 to a counter and a letter to a second key, several at a time.
After a kill the counter is at least what was acknowledged and at most what was sent: an addition that was done twice,
or an acknowledged one that was lost, shows. The second key is as long as the counter says: a transaction is whole or
not there.
"""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

from offramp.leo.store.process import StoreProcess
from offramp.leo.store.settings import StoreSettings
from store_lab import LOCAL, Nothing, Resp, encoded

WRITERS = 3
BATCH = 8


class Writer(threading.Thread):
    """Adds until the connection is lost.

    Attributes:
        sent: additions that were asked for.
        acknowledged: the last sum that was answered.
    """

    def __init__(self, address: str, name: str, start: int) -> None:
        super().__init__(daemon=True)
        self.sent = self.acknowledged = start
        self._address, self._name = address, name

    def run(self) -> None:
        """Send batches of transactions, read their answers."""
        try:
            with Resp(self._address) as client:
                while True:
                    batch = b""
                    for _ in range(BATCH):
                        batch += encoded("MULTI") + encoded("INCR", f"n{self._name}")
                        batch += encoded("APPEND", f"a{self._name}", "x") + encoded("EXEC")
                    self.sent += BATCH
                    client.sock.sendall(batch)
                    for _ in range(BATCH):
                        for _ in range(3):
                            client.answer()
                        number, length = client.answer()
                        assert number == length == self.acknowledged + 1, (number, length, self.acknowledged)
                        self.acknowledged = number
        except (ConnectionError, OSError):
            return


def number(client: Resp, key: str) -> int:
    value = client("GET", key)
    return 0 if value == Nothing() else int(value)


def campaign(folder: Path, kills: int, seed: int, sync: str = "always") -> int:
    """Kill a store so many times while it is written to; the additions that were acknowledged in all."""
    rng = random.Random(seed)
    counts = [0] * WRITERS
    store = StoreProcess(StoreSettings(**LOCAL, folder=folder, sync=sync))
    for kill in range(kills):
        store.start()
        writers = [Writer(store.addresses["resp"], str(i), counts[i]) for i in range(WRITERS)]
        for writer in writers:
            writer.start()
        time.sleep(rng.random() * 0.15)
        if kill % 5 == 3:  # in the middle of a snapshot
            with Resp(store.addresses["resp"]) as client:
                client("BGSAVE")
        store.kill()
        for writer in writers:
            writer.join(30)
        store.start()
        with Resp(store.addresses["resp"]) as client:
            for i, writer in enumerate(writers):
                counts[i] = number(client, f"n{i}")
                assert writer.acknowledged <= counts[i] <= writer.sent, f"kill {kill}, writer {i}"
                assert client("STRLEN", f"a{i}") == counts[i], f"kill {kill}: half of a transaction"
        store.kill()
    return sum(counts)
