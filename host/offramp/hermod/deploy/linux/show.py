# SPDX-License-Identifier: Apache-2.0
"""Parser of the text of ``tc … show`` (iproute2, whose JSON leaves out classes and matches)."""

from __future__ import annotations

import re
from dataclasses import replace

from offramp.hermod.deploy.linux.state import HANDLE, PROTOCOLS, TcState

_HTB = re.compile(rf"^qdisc htb {HANDLE} root .*?default (?P<default>0x[0-9a-f]+|[0-9a-f]+)", re.MULTILINE)
_PRIO = re.compile(rf"^qdisc prio {HANDLE} root .*?bands (?P<bands>\d+) priomap (?P<map>[\d ]+)", re.MULTILINE)
_CLASS = re.compile(
    rf"^class htb {HANDLE}(?P<minor>[0-9a-f]+) parent \S+ .*?prio (?P<prio>\d+)"
    r" .*?rate (?P<rate>\S+) .*?ceil (?P<ceil>\S+)",
    re.MULTILINE,
)
_RATE = re.compile(rf"^class htb {HANDLE}1 root .*?rate (?P<rate>\S+)", re.MULTILINE)
_FILTER = re.compile(r"^filter (?:parent \S+ )?protocol (?P<protocol>\S+) pref \d+ u32 .*?flowid \w+:(?P<minor>\w+)")
_MATCH = re.compile(r"^\s+match (?P<value>[0-9a-f]{8})/(?P<mask>[0-9a-f]{8}) at 0")
_SHIFT = {"ip": 18, "ipv6": 22}
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def root_of(qdiscs: str) -> tuple[str, str]:
    """Kind and handle of the root discipline."""
    match = re.search(r"^qdisc (\S+) (\S+) root", qdiscs, re.MULTILINE)
    return (match[1], match[2]) if match else ("noqueue", "0:")


def state_from(qdiscs: str, classes: str, filters: str) -> TcState:
    """Our discipline as it is; what is not as we make it shows as a difference, never as an error."""
    prio = _PRIO.search(qdiscs)
    if prio:
        bands = int(prio["bands"])
        state = TcState("prio", bands, bands - 1 - int(prio["map"].split()[0]), -1, {})
    else:
        htb, rate = _HTB.search(qdiscs), _RATE.search(classes)
        leaves = [m for m in _CLASS.finditer(classes) if m["minor"] != "1"]
        line = parse_rate(rate["rate"]) if rate else None
        state = TcState("htb", len(leaves), -1, -1, {}, line)
        default = int(htb["default"], 16) if htb else -1
        in_order = all(int(m["prio"]) == len(leaves) - 1 - state.queue_of(int(m["minor"], 16)) for m in leaves)
        ceilings = {state.queue_of(int(m["minor"], 16)): parse_rate(m["ceil"]) or -1 for m in leaves}
        rates = {state.queue_of(int(m["minor"], 16)): parse_rate(m["rate"]) for m in leaves}
        state = replace(
            state,
            other=state.queue_of(default),
            queues=len(leaves) if in_order else -1,
            lowest_bps=rates.get(0) or -1,
            most_bps={queue: bps for queue, bps in ceilings.items() if bps != line},
        )
    return _with_filters(state, filters)


def _with_filters(state: TcState, filters: str) -> TcState:
    dscps: dict[tuple[str, int], int] = {}
    urgent, protocol, queue = -1, "", -1
    for line in filters.splitlines():
        head, match = _FILTER.match(line), _MATCH.match(line)
        if head:
            protocol, queue = head["protocol"], state.queue_of(int(head["minor"], 16))
        elif match and protocol == "arp":
            urgent = queue
        elif match and protocol in PROTOCOLS:
            shift = _SHIFT[protocol]
            value, mask = (int(match[name], 16) >> shift & 0x3F for name in ("value", "mask"))
            for dscp in range(64):
                if dscp & mask == value:
                    dscps.setdefault((protocol, dscp), queue)
    return replace(state, dscps=dscps, urgent=urgent)


def parse_rate(text: str) -> int | None:
    """Bits per second in tc's ``10Gbit``; None if it is none."""
    match = re.fullmatch(r"(\d+)([KMGT]?)bit", text)
    return int(match[1]) * _UNITS[match[2]] if match else None
