# SPDX-License-Identifier: Apache-2.0
"""A P4 program of one's own on the embedded switch, with a control plane that writes its table and reads its counters.

Point ``Session`` at another address and the same control plane drives bmv2 or a switch in a rack.

    to host 2: 1 frame on port 2
    to nobody: 0 frames
    the switch counted {2: (1, 64)}
"""

from pathlib import Path

from offramp_base import PacketBatch, Session, open_io
from offramp_p4 import EmbeddedSwitch

HOSTS = {1: 0x0200_0000_0001, 2: 0x0200_0000_0002}  # port: MAC address


def frame(destination: int) -> bytes:
    """64 bytes from host 1."""
    return destination.to_bytes(6) + HOSTS[1].to_bytes(6) + b"\x88\xb5" + bytes(50)


def main() -> None:
    """Two hosts, one switch."""
    program = Path(__file__).with_name("steering.p4")
    with EmbeddedSwitch(program, list(HOSTS)) as switch, Session(switch.address) as control:
        entries = [
            control.table_entry("Steer.hosts", {"hdr.ethernet.dst": mac}, "Steer.leave_by", {"port": port})
            for port, mac in HOSTS.items()
        ]
        control.insert(entries)
        here, there = map(open_io, switch.port_specs)
        here.send(PacketBatch.of([(1, frame(HOSTS[2])), (1, frame(0x0200_0000_0003))]))
        print(f"to host 2: {len(there.receive(5))} frame on port 2")
        print(f"to nobody: {len(there.receive(0.2))} frames")
        counts = {port: cell for port, cell in control.read_counter("Steer.sent").items() if cell[0]}
        print(f"the switch counted {counts}")
        here.close()
        there.close()


if __name__ == "__main__":
    main()
