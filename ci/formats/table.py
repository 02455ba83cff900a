# SPDX-License-Identifier: Apache-2.0
"""Every generated file of the repository, and what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields

import cpp
import systemverilog

import p4
from offramp import switch_packets
from offramp.allreduce import numbers
from offramp.allreduce import wire as allreduce
from offramp.allreduce.verdict import PacketVerdict
from offramp.device import Status
from offramp.fpga import udp
from offramp.leo.functions import ebs, features, kvs, reduce, sylvie
from offramp.nic import wire as nic
from offramp.switchgnn import wire as switchgnn
from offramp.switchgnn import worker_plans
from offramp.switchgnn.stats import LinkCounts, WorkerStats
from offramp.switchgnn.telemetry import Disposition
from offramp_base.native import ring, ring_end
from offramp_base.transport import framing
from offramp_base.transport.shm import rings
from offramp_base.wire import ethernet
from offramp_base.wire.structures import StructFormat

_STATUS = {status.name: int(status) for status in Status if status is not Status.LOST}
"""LOST is the host's word for a device that is gone."""
_SWITCH = "The switch's own address; replies are broadcast, since the port already says who receives them."
_LEAVES = "IP address of leaf 0 among several switches; leaf i has the i-th address after it."


def _values(numbers: Iterable[object]) -> dict[str, int]:
    """Names and values of an ``IntEnum``."""
    return {number.name: int(number) for number in numbers}  # type: ignore[attr-defined,call-overload]


def device_hpp() -> str:
    """The statuses of requests, and the numbers of functions."""
    body = cpp.comment("How requests end. The last two never reach an application: an answer that is longer than the")
    body += cpp.comment("room for it, and one that comes later.")
    body += cpp.enumeration("Status", _STATUS | {"no_room": nic.NO_ROOM, "pending": nic.PENDING})
    body += cpp.comment("The numbers of functions on a queue.")
    body += cpp.enumeration("Function", _values(nic.NicFunction))
    return cpp.file(
        "What every device is to the host (offramp.device, offramp.nic.wire).", "offramp", body, ["<cstdint>"]
    )


def control_hpp() -> str:
    """The control protocol."""
    names = {"magic": nic.MAGIC, "version": nic.VERSION, "reply": nic.REPLY, "error": nic.ERROR}
    most = {"most_body": nic.MOST_BODY, "most_entries": nic.MOST_ENTRIES, "most_ranks": nic.MOST_RANKS}
    most |= {"most_pages": nic.MOST_PAGES, "most_segments": nic.MOST_SEGMENTS}
    body = cpp.constants(names | most) + cpp.enumeration("Kind", _values(nic.ControlMessageType))
    body += cpp.comment("Flags of a transport.") + cpp.constants(_values(nic.Flag))
    bodies = (
        nic.HELLO,
        nic.HELLO_REPLY,
        nic.MAP,
        nic.QUEUE,
        nic.TABLES,
        nic.TRANSPORT,
        nic.COFLOWS,
        nic.RANK,
        nic.UPGRADE,
    )
    for each in (nic.HEADER, *bodies):
        body += cpp.structure(each)
    text = "Messages on the agent's control socket (offramp.nic.wire, docs/smartnic.md)."
    return cpp.file(text, "offramp::protocol", body, ["<cstddef>", "<cstdint>"])


def queue_hpp() -> str:
    """A queue's rings, and the requests of the agent's own functions."""
    body = cpp.comment("Where the counters of a queue are: submissions given and taken, completions given and taken.")
    counters = {"submitted_at": nic.SUBMITTED, "taken_at": nic.TAKEN}
    body += cpp.constants(counters | {"completed_at": nic.COMPLETED, "heard_at": nic.HEARD, "rings_at": nic.RINGS_AT})
    described: list[StructFormat] = [
        nic.SUBMISSION,
        nic.COMPLETION,
        nic.MEMORY,
        nic.EXCHANGE,
        nic.COFLOW,
        nic.TRANSFER,
        nic.SUM,
    ]
    for each in [*described, nic.ADDRESS]:
        body += cpp.structure(each)
    text = "Queues in shared memory and what is asked on them (offramp.nic.wire)."
    return cpp.file(text, "offramp::queue", body, ["<array>", "<cstddef>", "<cstdint>"])


def functions_hpp() -> str:
    """Requests, answers and tables of the functions that need no device of DPDK's."""
    body = cpp.comment("ebs.lookup: bytes of a block, blocks of a segment.")
    body += cpp.constants({"block": ebs.BLOCK, "segment": ebs.SEGMENT}, "u64")
    body += cpp.enumeration("Outcome", _values(ebs.EbsStatus))
    body += cpp.structure(ebs.REQUEST) + cpp.structure(ebs.ANSWER) + cpp.structure(ebs.VOLUME)
    body += cpp.comment("kvs.lookup: bytes of a bucket and of a slot in it.")
    body += cpp.constants({"line": kvs.LINE, "slot": kvs.SLOT}, "u64")
    body += cpp.comment("reduce.") + cpp.constants({"most_vectors": reduce.MOST})
    body += cpp.enumeration("Type", _values(reduce.ElementType), "u8") + cpp.structure(reduce.HEADER)
    for each in (sylvie.HEADER, sylvie.BACK_HEADER, features.HEADER):
        body += cpp.structure(each)
    text = "Messages and tables of the offloaded functions (offramp.leo.functions)."
    return cpp.file(text, "offramp::formats", body, ["<cstddef>", "<cstdint>"])


def switchgnn_hpp() -> str:
    """SwitchGNN's packet with the headers in front of it."""
    body = cpp.header(switchgnn.SWITCHGNN, "header")
    sizes = {"prefix_bytes": switch_packets.PREFIX_BYTES, "short_bytes": switchgnn.SHORT_FRAME_BYTES}
    longest = switchgnn.frame_bytes(switchgnn.MOST_SEGMENTS)
    payload = {"lanes": switchgnn.LANES, "most_segments": switchgnn.MOST_SEGMENTS}
    body += cpp.comment("A payload has one to four segments of 32 lanes.") + cpp.constants(payload, "u64")
    body += cpp.constants(sizes | {"data_bytes": switchgnn.DATA_FRAME_BYTES, "most_bytes": longest}, "u64")
    body += cpp.comment("By the flags is_ack, is_fetch, resend as three bits. DATA is also what results have.")
    body += cpp.enumeration("Kind", _values(switchgnn.SwitchGnnPacketType), "u8")
    hosts = {"switch_ip": switch_packets.SWITCH_IP, "first_ip": switch_packets.host_ip(0)}
    names = {"ip_protocol": switchgnn.IP_PROTOCOL, "no_id": switchgnn.NO_ID, "plan_magic": worker_plans.MAGIC}
    body += cpp.constants(names | hosts)
    body += cpp.constants({"switch_mac": switch_packets.SWITCH_MAC, "first_mac": switch_packets.host_mac(0)}, "u64")
    text = "The SwitchGNN packet: Ethernet, IPv4, a 16-byte header, segments of 32 lanes (offramp.switchgnn.wire)."
    return cpp.file(text, "offramp::switchgnn", body, ["<cstdint>", "", '"field.hpp"'])


def allreduce_hpp() -> str:
    """The all-reduce packet, and the types of what is summed."""
    body = cpp.header(allreduce.ALLREDUCE, "header")
    body += cpp.enumeration("Kind", _values(allreduce.AllReducePacketType), "u8")
    body += cpp.comment("Types of elements.") + cpp.enumeration("Type", numbers.CODES, "u8")
    sizes = {"lanes": allreduce.LANES, "page": allreduce.PAGE, "prefix_bytes": switch_packets.PREFIX_BYTES}
    body += cpp.comment("A segment's lanes, and a page's slots.")
    body += cpp.constants(sizes | {"header_bytes": allreduce.HEADER_BYTES}, "u64")
    names = {"ip_protocol": allreduce.IP_PROTOCOL, "most_ranks": allreduce.MOST_RANKS}
    hosts = {"switch_ip": switch_packets.SWITCH_IP, "first_ip": switch_packets.host_ip(0)}
    body += cpp.constants(names | hosts | {"exponent_bias": numbers.EXPONENT_BIAS})
    body += cpp.constants({"switch_mac": switch_packets.SWITCH_MAC, "first_mac": switch_packets.host_mac(0)}, "u64")
    text = "The all-reduce packet: Ethernet, IPv4, a 20-byte header, segments of 64 lanes (offramp.allreduce.wire)."
    return cpp.file(text, "offramp::allreduce", body, ["<cstdint>", "", '"field.hpp"'])


def framing_hpp() -> str:
    """Sizes of messages of many frames."""
    body = cpp.constants({"message_bytes": framing.MESSAGE_BYTES, "most_message": framing.MAX_MESSAGE}, "u64")
    text = "Messages of many frames on a Unix socket (offramp_base.transport.framing)."
    return cpp.file(text, "offramp::framing", body, ["<cstdint>"])


def rings_hpp() -> str:
    """Rings of frames in shared memory."""
    word = 8
    places = {
        "wants_at": word,
        "tail_at": word * ring_end.LINE_WORDS,
        "entries_at": word * ring_end.RING_HEADER_WORDS,
        "ring_bytes": rings.RING_BYTES,
        "entry_bytes": ring.ENTRY_BYTES,
        "length_at": word * ring.MessageHeader.length,
        "frames_at": word * ring.MessageHeader.id,
        "message_bytes": framing.MESSAGE_BYTES,
        "most_message": rings.MOST_MESSAGE,
    }
    body = cpp.comment("A ring begins with its head, and whether the producer waits for room.")
    body += cpp.constants(places, "u64") + cpp.constants({"skip": ring.SKIP & (1 << 64) - 1}, "u64")
    text = "Rings of messages of many frames in shared memory (offramp_base.transport.shm.rings)."
    return cpp.file(text, "offramp::rings", body, ["<cstdint>"])


def ethernet_hpp() -> str:
    """The headers in front of what is ours."""
    body = cpp.header(ethernet.ETHERNET) + cpp.header(ethernet.IPV4)
    body += cpp.constants({"ether_type_ipv4": ethernet.ETHER_TYPE_IPV4})
    return cpp.file(
        "Ethernet and IPv4 (offramp_base.wire.ethernet).", "offramp", body, ["<cstdint>", "", '"field.hpp"']
    )


def stats_hpp() -> str:
    """The counts of one worker."""
    link = StructFormat(
        "LinkCounts", "One direction of a worker's link.", **{each.name: "u64" for each in fields(LinkCounts)}
    )
    counts = [each.name for each in fields(WorkerStats) if each.type != LinkCounts.__name__]
    body = cpp.structure(link)
    body += ["struct Stats {", "    LinkCounts up{}, down{};"]
    body += [f"    std::uint64_t {name} = 0;" for name in counts]
    body += ["};", f"static_assert(sizeof(Stats) == {8 * (2 * len(link.members) + len(counts))});", ""]
    text = "What one worker sent, received and refused (offramp.switchgnn.stats); the host reads it as 64-bit numbers."
    return cpp.file(text, "offramp::switchgnn", body, ["<cstdint>"])


def device_pkg() -> str:
    """Statuses and outcomes of the FPGA engines."""
    types = {name: value for name, value in _values(reduce.ElementType).items() if name != "INT32"}
    return systemverilog.package(
        "device_pkg",
        {
            "How requests end (offramp.device).": (8, _STATUS),
            "How ebs.lookup ends (offramp.leo.functions.ebs).": (3, _values(ebs.EbsStatus)),
            "Types of elements (offramp.leo.functions.reduce).": (2, types),
        },
    )


def udp_pkg() -> str:
    """The request layer of FPGA cards."""
    return systemverilog.package(
        "udp_pkg",
        {
            "What a message begins with (offramp.fpga.udp).": (16, {"MAGIC": udp.MAGIC, "PORT": udp.PORT}),
            "Bytes of an engine's packet in a message.": (16, {"MOST_PACKET": udp.MOST_PACKET}),
            "Kinds of messages.": (8, _values(udp.DatagramType)),
            "Outcomes of messages.": (8, _values(udp.DatagramStatus)),
            "Where packets of requests go, and answers come from.": (3, _values(udp.PacketTarget)),
            "What is counted.": (4, _values(udp.Counter)),
            "Number of counters.": (5, {"COUNTERS": len(udp.Counter)}),
        },
    )


def switch_pkg() -> str:
    """Addresses of the switch that a card is, and of its hosts: of whatever protocol, as a test sees to."""
    # Workers and ranks count from one there.
    macs = {"SWITCH_MAC": switch_packets.SWITCH_MAC, "HOSTS_MAC": switch_packets.host_mac(0) - 1}
    return systemverilog.package(
        "switch_pkg",
        {
            "The switch, and what the numbers of hosts are added to (offramp.switch_packets).": (48, macs),
            "The switch's IP address.": (32, {"SWITCH_IP": switch_packets.SWITCH_IP}),
        },
    )


def allreduce_pkg() -> str:
    """The all-reduce packet, and what it can come to."""
    sizes = {"HEADER_BYTES": allreduce.HEADER_BYTES, "FRAME_BYTES": allreduce.frame_bytes(1)}
    return systemverilog.package(
        "allreduce_pkg",
        {
            "In packets (offramp.allreduce.wire).": (
                8,
                {"IP_PROTOCOL": allreduce.IP_PROTOCOL, "SWITCH_RANK": allreduce.SWITCH},
            ),
            "Kinds of packets.": (8, _values(allreduce.AllReducePacketType)),
            "Bytes of a frame without lanes, and with them.": (11, sizes),
            "What a packet came to (offramp.allreduce.verdict).": (4, _values(PacketVerdict)),
        },
    )


def switchgnn_pkg() -> str:
    """The SwitchGNN packet of one segment, and what it can come to."""
    sizes = {"HEADER_BYTES": switchgnn.SHORT_FRAME_BYTES, "FRAME_BYTES": switchgnn.DATA_FRAME_BYTES}
    counts = _values(Disposition) | {"UPLOADS": len(Disposition)}
    return systemverilog.package(
        "switchgnn_pkg",
        {
            "In packets (offramp.switchgnn.wire).": (8, {"IP_PROTOCOL": switchgnn.IP_PROTOCOL}),
            "No vertex and no host.": (32, {"NO_ID": switchgnn.NO_ID}),
            "Bytes of a frame without lanes, and with them.": (11, sizes),
            "What a packet came to (offramp.switchgnn.telemetry), and uploads that were let in.": (5, counts),
        },
    )


def hls_hpp() -> str:
    """The same for HLS."""
    body = cpp.comment("How requests end (offramp.device).") + cpp.plain_enumeration("Status", _STATUS)
    body += cpp.comment("How ebs.lookup ends.") + cpp.plain_enumeration("EbsOutcome", _values(ebs.EbsStatus))
    body += cpp.comment("Types of elements of sums.") + cpp.plain_enumeration(
        "ElementType", _values(reduce.ElementType)
    )
    return cpp.file("What every device is to the host.", "offramp", body, [])


def ethernet_p4() -> str:
    """Ethernet."""
    constant = p4.constant("ETHER_TYPE_IPV4", 16, ethernet.ETHER_TYPE_IPV4)
    return p4.file("ethernet", [*p4.header(ethernet.ETHERNET), *constant, ""])


def ipv4_p4() -> str:
    """IPv4 without options."""
    return p4.file("ipv4", p4.header(ethernet.IPV4))


def switch_address_p4() -> str:
    """The addresses in what a switch sends in its own name."""
    body: list[str] = []
    for each in (
        p4.constant("SWITCH_MAC", 48, switch_packets.SWITCH_MAC, _SWITCH),
        p4.constant("SWITCH_IP", 32, switch_packets.SWITCH_IP),
        p4.constant("BROADCAST_MAC", 48, ethernet.BROADCAST_MAC),
        p4.constant("BROADCAST_IP", 32, ethernet.BROADCAST_IP),
    ):
        body += each
    return p4.file("switch_address", [*body, ""])


def switchgnn_p4() -> str:
    """SwitchGNN's header and payload, and who is who."""
    body = p4.header(switchgnn.SWITCHGNN, switchgnn.MEANING)
    body += p4.header(switchgnn.PAYLOAD, "A segment of a payload, 128 bytes: 32 lanes of int32, two's complement.")
    for each in (
        p4.constant("IP_PROTOCOL_SWITCHGNN", 8, switchgnn.IP_PROTOCOL, "For experiments and testing, RFC 3692."),
        p4.constant("NO_ID", 32, switchgnn.NO_ID),
        p4.constant("LEAF_IP", 32, switchgnn.LEAF_IP, _LEAVES),
        p4.constant("LEVEL_LEAF", 2, switchgnn.LEVEL_LEAF, "Level of a packet that a leaf sends for its rack."),
    ):
        body += each
    return p4.file("switchgnn", [*body, ""])


def allreduce_p4() -> str:
    """The header and a segment of all-reduce, and who is who."""
    body = p4.header(allreduce.ALLREDUCE, allreduce.MEANING)
    body += p4.header(allreduce.SEGMENT, "256 bytes of a chunk: 64 lanes of int32, two's complement.")
    for each in (
        p4.constant("IP_PROTOCOL_ALLREDUCE", 8, allreduce.IP_PROTOCOL, "For experiments and testing, RFC 3692."),
        p4.constant("SWITCH_RANK", 8, allreduce.SWITCH, "The rank of what comes from a switch above."),
        *(p4.constant(f"KIND_{kind.name}", 8, int(kind)) for kind in allreduce.AllReducePacketType),
    ):
        body += each
    return p4.file("allreduce", [*body, ""])


FILES: Mapping[str, Callable[[], str]] = {
    "fpga/hls/common/device.hpp": hls_hpp,
    "fpga/rtl/allreduce/allreduce_pkg.sv": allreduce_pkg,
    "fpga/rtl/common/device_pkg.sv": device_pkg,
    "fpga/rtl/switch/switch_pkg.sv": switch_pkg,
    "fpga/rtl/switchgnn/switchgnn_pkg.sv": switchgnn_pkg,
    "fpga/rtl/udp/udp_pkg.sv": udp_pkg,
    "p4/include/allreduce.p4": allreduce_p4,
    "p4/include/ethernet.p4": ethernet_p4,
    "p4/include/ipv4.p4": ipv4_p4,
    "p4/include/switch_address.p4": switch_address_p4,
    "p4/include/switchgnn.p4": switchgnn_p4,
    "smartnic/lib/formats/allreduce.hpp": allreduce_hpp,
    "smartnic/lib/formats/control.hpp": control_hpp,
    "smartnic/lib/formats/device.hpp": device_hpp,
    "smartnic/lib/formats/ethernet.hpp": ethernet_hpp,
    "smartnic/lib/formats/framing.hpp": framing_hpp,
    "smartnic/lib/formats/functions.hpp": functions_hpp,
    "smartnic/lib/formats/queue.hpp": queue_hpp,
    "smartnic/lib/formats/rings.hpp": rings_hpp,
    "smartnic/lib/formats/stats.hpp": stats_hpp,
    "smartnic/lib/formats/switchgnn.hpp": switchgnn_hpp,
}
