# SPDX-License-Identifier: Apache-2.0
"""Look-ups and sums of a card through the host's own device, each compared with its model; prints what came.

Arguments: requests on the wire, not counting those that are sent again, and a seed. The index changes all the while.
"""

import json
import random
import struct
import sys
import time

import numpy as np

from offramp.device import Status
from offramp.leo.devices import open_device
from offramp.leo.functions import kvs, reduce

BUCKETS = 64
KEYS = 3 * BUCKETS
"""The table is nearly full, so that an insertion moves others."""
UNFINISHED = 12
"""Most requests at a time; the card has eight places."""
PERIOD = 200
"""Requests between changes of the index."""


class Load:
    """Requests and what is expected of them."""

    def __init__(self, device, seed):
        self.device, self.dice = device, random.Random(seed)
        self.index = kvs.KeyIndex(device.memory(kvs.NAME), BUCKETS)
        self.keys, self.expected, self.faults = [], {}, []
        self.sent = self.wrong = self._changes_at = 0

    def change(self):
        """Forget keys, insert as many others, and change values, each more than once: writes of one line in a row."""
        if self.sent < self._changes_at:
            return
        self._changes_at = self.sent + PERIOD
        self.drain()
        dice = self.dice
        for _ in range(2 if self.keys else 0):
            self.index.remove(self.keys.pop(dice.randrange(len(self.keys))))
        while len(self.keys) < KEYS:
            key = dice.getrandbits(64)
            if self.index.room(key):
                self.index.insert(key, dice.getrandbits(63) + 1)
                self.keys.append(key)
        for key in dice.sample(self.keys, 5):
            for _ in range(3):
                self.index.insert(key, dice.getrandbits(63) + 1)

    def submit(self):
        """One more request, nine of ten a look-up."""
        dice = self.dice
        if dice.random() < 0.9:
            key = dice.choice((*self.keys, dice.getrandbits(64)))
            message, answer, function = struct.pack("<Q", key), struct.pack("<Q", self.index.lookup(key)), kvs.NAME
        else:
            count = dice.choice((1, 5, 16, 170, 400))
            vectors = np.frombuffer(dice.randbytes(8 * count), "<i4").reshape(2, count)
            message = struct.pack("<BBHI", 0, 2, 0, count) + vectors.tobytes()
            answer, function = reduce.total(reduce.ElementType.INT32, vectors).tobytes(), reduce.NAME
        assert self.device.submit(function, self.sent, message)
        self.expected[self.sent] = answer
        self.sent += 1

    def poll(self):
        """Compare what has come."""
        for completion in self.device.poll():
            answer = self.expected.pop(completion.request, None)
            if completion.status != Status.OK or completion.message != answer:
                self.wrong += 1
                self.faults.append((completion.request, completion.status.name, answer is None))

    def drain(self):
        """Wait for everything."""
        while self.expected:
            self.poll()
            time.sleep(0.0002)


def run(requests, seed):
    device = open_device("fpga:udp=192.168.1.50,timeout_s=60")
    load, session = Load(device, seed), device._link._session
    begun = time.monotonic()
    while session.requests < requests:
        load.change()
        for _ in range(load.dice.randint(0, UNFINISHED - len(load.expected))):
            load.submit()
        load.poll()
        time.sleep(0.0002)
    load.drain()
    seconds = time.monotonic() - begun
    counters = {counter.name: value for counter, value in device._link.counters(60).items()}
    device.close()
    outcome = {"requests": session.requests, "done": load.sent, "wrong": load.wrong, "faults": load.faults[:20]}
    return {**outcome, "resent": session.resent, "counters": counters, "s": seconds}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]))) + "\n")
