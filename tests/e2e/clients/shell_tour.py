# SPDX-License-Identifier: Apache-2.0
"""Runs where p4runtime-shell is installed: FOLDER-OF-THIS-FILE ADDRESS, then P4Info and program of two pipelines."""

import sys

sys.path.insert(0, sys.argv[1])

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeWriteException
from wire import ethernet, expect, send

_, _, address, *pipelines = sys.argv
MS = 1_000_000


def start(election, config):
    sh.setup(device_id=0, grpc_addr=address, election_id=(0, election), config=sh.FwdPipeConfig(*config), verbose=False)


def forward(dst, port):
    entry = sh.TableEntry("IngressImpl.mac")(action="forward")
    entry.match["hdr.ethernet.dst"] = f"02:00:00:00:00:{dst:02x}"
    entry.action["port"] = str(port)
    return entry


def refused(call):
    try:
        call()
    except P4RuntimeWriteException:
        return True
    return False


start(1, pipelines[:2])

# Tables.
forward(1, 2).insert()
assert refused(forward(1, 2).insert)
send(1, ethernet(1))
expect(2, ethernet(1))
forward(1, 3).modify()
send(1, ethernet(1))
expect(3, ethernet(1))
entries = list(sh.TableEntry("IngressImpl.mac").read())
assert [e.action["port"].value for e in entries] == [b"\x03"], entries
forward(1, 3).delete()
assert list(sh.TableEntry("IngressImpl.mac").read()) == []
assert refused(forward(1, 3).delete)

# Counters.
counter = sh.CounterEntry("marked")
counter.index, counter.packet_count, counter.byte_count = 3, 7, 70
counter.modify()
read = {c.index: (c.packet_count, c.byte_count) for c in sh.CounterEntry("marked").read()}
assert (read[2], read[3]) == ((0, 0), (7, 70)), read

# Multicast and clone sessions.
flood = sh.TableEntry("IngressImpl.mac")(action="flood")
flood.match["hdr.ethernet.dst"] = "02:00:00:00:00:09"
flood.action["group"] = "5"
flood.insert()
group = sh.MulticastGroupEntry(5)
group.add(2, 20).add(3, 30)
group.insert()
send(1, ethernet(9))
expect(2, ethernet(9, src=20))
expect(3, ethernet(9, src=30))
assert [len(g.replicas) for g in sh.MulticastGroupEntry(0).read()] == [2]
group.delete()
forward(1, 2).insert()
acl = sh.TableEntry("acl")(action="mirror", priority=1)
acl.match["hdr.ethernet.src"] = "7&&&0xff"
acl.insert()
session = sh.CloneSessionEntry(7)
session.add(4, 1)
session.insert()
send(1, ethernet(1, src=7))
expect(2, ethernet(1, src=7))
expect(4, ethernet(1, src=1))
assert [s.session_id for s in sh.CloneSessionEntry(0).read()] == [7]

# Packets.
out = sh.PacketOut(payload=ethernet(1), egress_port="3")
for name in [m.name for m in out.p4_info.metadata]:
    if name != "egress_port":
        out.metadata[name] = "0"
out.send()
expect(3, ethernet(1))
punt = sh.TableEntry("acl")(action="punt", priority=2)
punt.match["hdr.ethernet.src"] = "8&&&0xff"
punt.insert()
packets = sh.PacketIn()
send(1, ethernet(1, src=8))
(packet,) = packets.sniff(timeout=2)
assert packet.packet.payload == ethernet(1, src=8), packet
assert packet.packet.metadata[0].value == b"\x01", packet
sh.teardown()

# Meters, action selectors, idle time-outs, digests.
start(2, pipelines[2:])
meter = sh.MeterEntry("rates")
meter.index, meter.cir, meter.cburst, meter.pir, meter.pburst = 1, 10, 20, 30, 40
meter.modify()
assert [m.cir for m in sh.MeterEntry("rates").read()] == [0, 10, 0, 0]
policed = sh.TableEntry("policed")(action="police", priority=1)
policed.meter_config.cir = policed.meter_config.pir = 1
policed.meter_config.cburst = policed.meter_config.pburst = 5
policed.insert()
direct = sh.DirectMeterEntry("flow_meter")
direct.table_entry.priority = 1
assert [m.cburst for m in direct.read()] == [5]
spread = sh.TableEntry("spread")
spread.match["hdr.ethernet.type"] = "0x9000"
way = sh.Action("to")
way["port"] = "2"
spread.oneshot.add(way, weight=2)
spread.insert()
send(1, ethernet(1))
expect(2, ethernet(1))
assert [a.weight for a in next(iter(sh.TableEntry("spread").read())).oneshot.actions] == [2]
notices = sh.IdleTimeoutNotification()
flow = sh.TableEntry("flows")(action="learn")
flow.match["hdr.ethernet.dst"] = "02:00:00:00:00:01"
flow.idle_timeout_ns = 300 * MS
flow.insert()
digest = sh.DigestEntry("learn_t")
digest.max_list_size = 1
digest.insert()
lists = sh.DigestList()
send(1, ethernet(1, src=6))
(message,) = lists.sniff(timeout=1)
assert message.digest.data[0].struct.members[0].bitstring == b"\x06", message
notice = next(notices.sniff(timeout=1))
assert notice.idle_timeout_notification.table_entry[0].idle_timeout_ns == 300 * MS, notice
counted = sh.DirectCounterEntry("flow_count")
counted.table_entry.match["hdr.ethernet.dst"] = "02:00:00:00:00:01"
assert [c.packet_count for c in counted.read()] == [1]
sh.teardown()
sys.stdout.write("done\n")
sys.stdout.flush()
