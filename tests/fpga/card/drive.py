# SPDX-License-Identifier: Apache-2.0
"""Runs where PYNQ is: the drivers over a simulated board, good and bad ways of using them; reports as JSON."""

import json
import socket
import struct
import sys
from pathlib import Path

import numpy as np
from offramp_pynq import quantpack
from offramp_pynq.check import check
from offramp_pynq.cores import ENGINES
from offramp_pynq.drivers import EbsLookup, KvsLookup, P2pDma, PathRouter, QuantPack, Reduce
from offramp_pynq.engine import MOST, WrongRegisterMap
from offramp_pynq.overlay import Engines
from offramp_pynq.p2p_dma import COPY, DESCRIPTOR
from offramp_pynq.packets import answer
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


def volumes(ebs):
    """A volume of one block on server 9, a bucket of two blocks: found twice, then told to wait."""
    tables = ebs.allocate_tables(2, 8, 8)
    for at, content in (
        (64, struct.pack("<IIQQQQQ", 3, 0, 1, 0, 8192, 8192, 0)),
        (128 + 3 * 8, struct.pack("<II", 9, 6)),
        (192 + 5 * 8, struct.pack("<Q", 1 << 33)),
    ):
        tables[at : at + len(content)] = np.frombuffer(content, np.uint8)
    tables.flush()
    reads = b"".join(struct.pack("<IIQQ", volume, 1, 0, 0) for volume in (1, 1, 1, 0))
    got = ebs.lookup(reads, 31)
    return {
        "reads": [got.status, got.number, [struct.unpack_from("<IIQ", got.payload, 16 * at) for at in range(4)]],
        "bucket": int.from_bytes(tables[64 + 32 : 64 + 40].tobytes(), "little"),
        "no tables": raised(lambda: ebs.allocate_tables(0, 8, 8)),
        "half a read": raised(lambda: ebs.lookup(reads[:-1])),
    }


def copies(dma):
    host, accelerator, nic = dma.allocate_memories(1 << 14)
    host[:] = np.random.default_rng(3).integers(0, 256, len(host))
    host.flush()

    def ask(length, source, destination, number, memories=(0, 1), opcode=COPY):
        return DESCRIPTOR.pack(opcode, *memories, 0, length, number, source, destination)

    unaligned = dma.copy(ask(5000, 7, 131, 41))
    accelerator.invalidate()
    second = dma.copy(ask(100, 131, 9, 42, (1, 2)))
    nic.invalidate()
    good = bool((accelerator[131:5131] == host[7:5007]).all() and (nic[9:109] == host[7:107]).all())
    results = {
        "copies": [unaligned[:3], second[:3], good],
        "untouched": int(accelerator[:131].max()) + int(accelerator[5131:].max()),
        "beyond": dma.copy(ask(100, (1 << 14) - 99, 0, 43))[:3],
        "elsewhere": dma.copy(ask(100, 0, 0, 44, (0, 3)))[:3],
        "no copy": dma.copy(ask(100, 0, 0, 45, opcode=2))[:3],
        "onto itself": dma.copy(ask(100, 0, 50, 46, (0, 0)))[:3],
    }
    # An abort with bursts on their way.
    dma.begin(dma.packet(ask(1 << 14, 0, 0, 47)), dma.BEAT)
    dma.abort()
    results["aborted"] = dma.finish()[:3]
    results["after it"] = dma.copy(ask(1 << 14, 0, 0, 48))[:3]
    results["queue"] = fill(dma, ask)
    results["counted"] = [dma.read_register("COPIES"), dma.read_register("FAULTS")]
    results["sizes"] = raised(lambda: dma.allocate_memories(100))
    return results


def fill(dma, ask):
    """Descriptors while nobody takes completions: how many went in, and what became of them."""
    (way,) = dma.core.ways
    to, back = way.dma.sendchannel, way.dma.recvchannel
    sent, taken = 0, True
    while taken and sent < 64:
        way.to[: dma.BEAT] = np.frombuffer(dma.packet(ask(64, 0, 64 * sent, 50 + sent)), np.uint8)
        to.transfer(way.to, nbytes=dma.BEAT)
        sent += 1
        taken = any(to.idle for _ in range(500))
    numbers = []
    for _ in range(sent):
        back.transfer(way.back, nbytes=dma.BEAT)
        back.wait()
        status, _, number, _ = answer(way.back[: dma.BEAT].tobytes(), dma.BEAT)
        numbers.append(number if status == 0 else -status)
    return [sent, numbers]


def rows(quantiser):
    """Rows in one packet, and in several where buffers are small."""
    random = np.random.default_rng(4)
    x, numbers = random.normal(size=(9, 20)).astype(np.float32), np.arange(9)
    whole = quantiser.quantise(x, numbers, 2, 5)
    back = quantiser.dequantise(whole.packed, whole.bounds, 2, 20)
    quantpack.MOST = 600
    parts = quantiser.quantise(x, numbers, 2, 5)
    back_in_parts = quantiser.dequantise(whole.packed, whole.bounds, 2, 20)
    steps = (whole.bounds[:, 1] - whole.bounds[:, 0]) / 3
    return {
        "rows": [whole.status, parts.status, back[0], back_in_parts[0], quantiser._step(20)],
        "rows alike": bool((whole.packed == parts.packed).all() and (whole.bounds == parts.bounds).all()),
        "values alike": bool((back[1] == back_in_parts[1]).all()),
        "within a step": bool((abs(back[1] - x) <= steps[:, None] * 1.001).all()),
        "counted rows": [quantiser.read_register("QUANTISED"), quantiser.read_register("DEQUANTISED")],
        "too wide": raised(lambda: quantiser.quantise(np.zeros((1, 513), np.float32), [0], 2, 5)),
    }


def ways(router):
    before = router.model
    router.model = "off-path"
    results = {"models": [before, router.model, list(router.models), router.refused]}
    return results | {"no model": raised(lambda: setattr(router, "model", "sideways"))}


def main(bus, dram):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(bus)
        listener.listen(1)
        say("listening")
        line, _ = listener.accept()
    device = SimulatedDevice(line, Path(dram), ENGINES)
    bitfile = Path(dram).with_name("engines.bit")
    bitfile.touch()
    results = {}
    for driver in (KvsLookup, Reduce, EbsLookup, P2pDma, PathRouter, QuantPack):
        driver.VERSION += 1
        results[f"version of {driver.__name__}"] = raised(lambda: Engines(str(bitfile), device=device))
        driver.VERSION -= 1
    engines = Engines(str(bitfile), device=device)
    check(engines)
    results["drivers"] = [type(engines.kvs).__name__, type(engines.sums).__name__, type(engines.kvs_dma).__module__]
    results["table"] = raised(lambda: engines.kvs.allocate_table(48))
    results["keys"] = raised(lambda: engines.kvs.lookup(np.zeros(1025, np.uint64)))
    results["packet"] = raised(lambda: engines.kvs.exchange(bytes(MOST + 1), 16))
    results["memory"] = raised(lambda: engines.kvs.allocate_table(1 << 20))
    results["opcode"] = engines.kvs.exchange(struct.pack("<IIQ", 7, 0, 99), 16)[:3]
    before = engines.kvs.read_register("LOOKUPS")
    results["none"] = engines.kvs.lookup(np.zeros(0, np.uint64), 5)[:3]
    results["many"] = engines.kvs.lookup(np.arange(1024, dtype=np.uint64), 6)[:3]
    results["lookups"] = engines.kvs.read_register("LOOKUPS") - before
    engines.kvs.abort()
    results["after abort"] = engines.kvs.lookup(np.array([7], np.uint64), 8)[:3]
    results |= volumes(engines.ebs) | copies(engines.copies) | ways(engines.router)
    results |= rows(engines.quantiser)
    results["wrong register map"] = issubclass(WrongRegisterMap, RuntimeError)
    say(json.dumps(results))


main(*sys.argv[1:])
