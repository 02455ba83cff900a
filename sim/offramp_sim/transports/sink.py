# SPDX-License-Identifier: Apache-2.0
"""The far end of a measured link, a process of its own: counts frames as a switch port does, and reports the count.

Run as ``python -m offramp_sim.transports.sink LINK [ADDRESS/LENGTH]``; the address is given to the interface
``port1`` first. Writes one line of JSON when it listens, with the link's name, and one with its counts when standard
input ends.
"""

from __future__ import annotations

import json
import select
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from offramp_base.iproute import ip
from offramp_p4.serve import open_port
from offramp_sim.transports.report import ACKNOWLEDGED, IDLE_S, report

if TYPE_CHECKING:
    from offramp_p4.ports.base import Port

_RING_BYTES: Final = 32 << 20


def main() -> None:
    """Listen, count, report."""
    link, *address = sys.argv[1:]
    if address:
        ip("addr", "add", *address, "dev", "port1")
    port = open_port(link, _RING_BYTES)
    _say({"link": port.name})
    _count(port)
    port.tick(0.0)
    _say(asdict(port.stats))
    port.close()


def _count(port: Port) -> None:
    """Report at intervals of received frames, and when no more arrive, until standard input ends."""
    received = reported = 0
    while True:
        poll = select.poll()
        poll.register(sys.stdin, select.POLLHUP | select.POLLIN)
        for descriptor, events in port.interest():
            poll.register(descriptor, events)
        ready = dict(poll.poll(1000 * IDLE_S if received > reported else None))
        if sys.stdin.fileno() in ready:
            while len(port.receive()):  # what was sent before the other end closed
                pass
            return
        if any(events & select.POLLOUT for events in ready.values()):
            port.flush()
        received += sum(map(len, port.receive()))
        if received - reported >= ACKNOWLEDGED or (received > reported and not ready):
            reported = received
            port.send(report(received))
            port.rest()


def _say(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
