# SPDX-License-Identifier: Apache-2.0
"""Look-ups and sums of a card through the host's own device, each compared with its model; prints what came."""

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


def run(requests, seed):
    dice = random.Random(seed)
    device = open_device("fpga:udp=192.168.1.50,timeout_s=60")
    index = kvs.Index(device.memory(kvs.NAME), BUCKETS)
    keys = [dice.getrandbits(64) for _ in range(16)]
    for key in keys:
        index.insert(key, dice.getrandbits(63) + 1)
    expected, faults, wrong, done, sent = {}, [], 0, 0, 0
    begun = time.monotonic()
    while done < requests:
        while sent < requests:
            if dice.random() < 0.9:
                key = dice.choice((*keys, dice.getrandbits(64)))
                message, answer, function = struct.pack("<Q", key), struct.pack("<Q", index.lookup(key)), kvs.NAME
            else:
                count = dice.choice((1, 5, 16, 170, 400))
                vectors = np.frombuffer(dice.randbytes(8 * count), "<i4").reshape(2, count)
                message = struct.pack("<BBHI", 0, 2, 0, count) + vectors.tobytes()
                answer, function = reduce.total(reduce.Type.INT32, vectors).tobytes(), reduce.NAME
            if not device.submit(function, sent, message):
                break
            expected[sent] = answer
            sent += 1
        for completion in device.poll():
            answer = expected.pop(completion.request, None)
            if completion.status != Status.OK or completion.message != answer:
                wrong += 1
                faults.append((completion.request, completion.status.name, answer is None))
            done += 1
        time.sleep(0.001)
    resent = device._link._session.resent
    counters = {counter.name: value for counter, value in device._link.counters(60).items()}
    device.close()
    seconds = time.monotonic() - begun
    outcome = {"done": done, "wrong": wrong, "faults": faults[:20], "resent": resent}
    return {**outcome, "counters": counters, "s": seconds}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]))) + "\n")
