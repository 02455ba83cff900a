"""Runs where PYNQ is: the drivers over a simulated board, good and bad ways of using them; reports as JSON."""

import json
import socket
import struct
import sys
from pathlib import Path

import numpy as np
from offramp_pynq.check import check
from offramp_pynq.engine import MOST, WrongRegisterMap
from offramp_pynq.overlay import Engines, KvsLookup, Reduce
from offramp_pynq.simulated import SimulatedDevice


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def raised(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main(bus, dram):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(bus)
        listener.listen(1)
        say("listening")
        line, _ = listener.accept()
    device = SimulatedDevice(line, Path(dram))
    bitfile = Path(dram).with_name("engines.bit")
    bitfile.touch()
    found = {}
    for driver in (KvsLookup, Reduce):
        driver.VERSION += 1
        found[f"version of {driver.__name__}"] = raised(lambda: Engines(str(bitfile), device=device))
        driver.VERSION -= 1
    engines = Engines(str(bitfile), device=device)
    check(engines)
    found["drivers"] = [type(engines.kvs).__name__, type(engines.sums).__name__, type(engines.kvs_dma).__module__]
    found["table"] = raised(lambda: engines.kvs.allocate_table(48))
    found["keys"] = raised(lambda: engines.kvs.lookup(np.zeros(1025, np.uint64)))
    found["packet"] = raised(lambda: engines.kvs.exchange(bytes(MOST + 1), 16))
    found["memory"] = raised(lambda: engines.kvs.allocate_table(1 << 20))
    found["opcode"] = engines.kvs.exchange(struct.pack("<IIQ", 7, 0, 99), 16)[:3]
    before = engines.kvs.read_register("LOOKUPS")
    found["none"] = engines.kvs.lookup(np.zeros(0, np.uint64), 5)[:3]
    found["many"] = engines.kvs.lookup(np.arange(1024, dtype=np.uint64), 6)[:3]
    found["lookups"] = engines.kvs.read_register("LOOKUPS") - before
    engines.kvs.abort()
    found["after abort"] = engines.kvs.lookup(np.array([7], np.uint64), 8)[:3]
    found["wrong register map"] = issubclass(WrongRegisterMap, RuntimeError)
    say(json.dumps(found))


main(*sys.argv[1:])
