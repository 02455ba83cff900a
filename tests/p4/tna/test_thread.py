# SPDX-License-Identifier: Apache-2.0
"""What drops a packet in a gress, and what does not: the lowest bit of ``drop_ctl``, and errors of the parser."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from offramp_p4.frontend import load_text
from offramp_p4.tna.thread import GressThread
from tna_programs import make, packet, tna

pytestmark = pytest.mark.p4


@pytest.mark.parametrize("where", ["ingress", "egress"])
@pytest.mark.parametrize(
    ("drop_ctl", "stops"), [(0, False), (1, True), (2, False), (4, False), (5, True), (6, False), (7, True)]
)
def test_only_the_lowest_bit_drops(where: str, drop_ctl: int, stops: bool) -> None:
    """The other bits are those of copies to the CPU and mirrors."""
    control = object()
    thread = object.__new__(GressThread)
    thread._gress = SimpleNamespace(control=control)  # type: ignore[assignment]
    thread._ingress = where == "ingress"
    thread._wanted = {"ucast_egress_port": 0, "drop_ctl": 1}
    memory = [9, drop_ctl]
    assert thread.dropped(control, memory) == (f"drop_ctl is {drop_ctl} after {where}" if stops else None)
    assert thread.dropped(object(), memory) is None


def test_a_stack_that_is_full_only_ends_the_parser() -> None:
    """As p4c has it for Tofino; what was not extracted follows the headers."""
    full = {
        "iplocals": "h_t[1] stack;",
        "ipbody": "pkt.extract(stack.next); pkt.extract(stack.next); transition accept;",
    }
    payload = packet(a=1) + packet(a=2)
    forward = "tm.ucast_egress_port = 1; tm.bypass_egress = 1;"
    s = make(load_text(tna(forward, **full), "x.p4"))
    assert s.process_one(0, packet(a=5) + payload) == [(1, packet(a=5) + packet(a=2))]
    assert (s.stats.parse_errors, s.stats.dropped) == (0, 0)
    s = make(load_text(tna(forward + "hdr.h.c = prsr.parser_err;", **full), "x.p4"))
    assert s.process_one(0, packet(c=9) + payload) == [(1, packet(c=0) + packet(a=2))]
