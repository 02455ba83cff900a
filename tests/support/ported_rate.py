# SPDX-License-Identifier: Apache-2.0
"""The rate of a program on ports in memory: a program of its own, since DPDK starts once in a process.

Arguments: P4 program, cores, spread, routes (0: none), seconds, then a link for each port; port i goes to core i.
One line of the output for each core: packets that it ran, and nanoseconds of its processor time.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from fib_routes import NEXT_HOPS, routes
from offramp_p4.frontend import load
from offramp_p4.native import NativeSwitch
from offramp_p4.ports.dpdk.library import ports_library
from offramp_p4.ports.dpdk.port import DpdkPort
from offramp_p4.ports.dpdk.workers import Workers
from offramp_p4.state import ActionData, Exact, Lpm, TableEntry


def main() -> None:
    program, cores, spread, count, seconds = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:6])
    links = sys.argv[6:]
    switch = NativeSwitch(load(program))
    if count:
        tables = {name.rpartition(".")[2]: table for name, table in switch.tables.items()}
        for (value, length), hop in routes(count).items():
            tables["routes"].insert(TableEntry((Lpm(value, length),), ActionData("FibIngress.route", (hop,))))
        for hop in range(NEXT_HOPS):
            forward = ActionData("FibIngress.forward", (2, 3, 0x0800, hop % len(links)))
            tables["next_hops"].insert(TableEntry((Exact(hop),), forward))
    library = ports_library()
    library.begin([], huge=False)
    ports = [DpdkPort(library, link, number, cores) for number, link in enumerate(links)]
    workers = Workers(library, range(len(links)), cores, spread)
    workers.run(switch, time.monotonic_ns())
    time.sleep(0.3)
    before = workers.stats()
    time.sleep(seconds)
    for start, end in zip(before, workers.stats(), strict=True):
        sys.stdout.write(f"{end.processed - start.processed} {end.cpu_ns - start.cpu_ns}\n")
    workers.close()
    for port in ports:
        port.close()


if __name__ == "__main__":
    main()
