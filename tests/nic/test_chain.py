# SPDX-License-Identifier: Apache-2.0
"""Requests from a host through its card (RTL behind PYNQ's driver), its agent and a P4 switch to another host's agent.

Blind to hardware, and to clocks of two machines: these are compared on made-up ones (tests/unit/leo/test_hops.py).
"""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

import namespaces
from leo_lab import batch, lab, program
from offramp.device import Status
from offramp.leo.native.dataflow import Trip
from offramp.leo.transports import nic
from offramp.nic.coflows import RankAddress
from offramp.nic.process import AgentProcess
from offramp_base.errors import OfframpError
from offramp_sim.leo import chain
from offramp_sim.leo.chain import PLACES, run_chain
from offramp_sim.nic.links import ends

pytestmark = pytest.mark.nic


def through_all(programs, requests: int, traced: int):
    namespaces.require()
    agent = programs / "offramp-nic-agent"
    outcome = run_chain(requests, traced=traced, program=agent)
    assert outcome.load.sent == requests
    assert outcome.load.wrong == 0
    return outcome


def test_pynq_is_installed_only_for_a_card_that_will_start_with_it(monkeypatch):
    monkeypatch.setattr(chain, "missing", lambda simulator: "perl" if simulator == "verilator" else "")
    cards = ("fpga:", "fpga:simulator=verilator", "fpga:shell=xrt", "fpga:h1:9560", "fpga:udp=h1", "model:")
    assert [card for card in cards if chain._runs_pynq(card)] == ["fpga:"]


@pytest.mark.slow
@pytest.mark.netns
@pytest.mark.rtl
def test_every_byte_through_card_agents_and_switch(programs, tmp_path):
    outcome = through_all(programs, 200, 5)
    assert all(outcome.hops_ns[place] > 0 for place in PLACES)
    assert 0 < outcome.engine_ns < 1e6  # cycles of 4 ns
    trace = json.loads(json.dumps(outcome.trace))["traceEvents"]
    spans = sorted((event for event in trace if event["ph"] == "X"), key=lambda event: event["ts"])
    assert {event["name"] for event in spans} == set(PLACES)
    for one, other in pairwise(spans):  # no gap, nothing twice
        assert other["ts"] == pytest.approx(one["ts"] + one["dur"], abs=0.01)
    names = [event["name"] for event in spans]
    there = ["fpga", "requester", "agent of requester", "switch", "agent of responder", "responder", "nic"]
    assert names[names.index("fpga") :][: len(there)] == there, spans
    assert names.count("switch") == 4, spans  # two round trips


@pytest.mark.slow
@pytest.mark.netns
@pytest.mark.rtl
def test_ten_thousand_requests(programs):
    through_all(programs, 10_000, 20)


@pytest.fixture
def ports(programs, monkeypatch):
    """Two agents that are joined by memory, as the ports of requester and responder."""
    with ends("memif") as (near, far):
        program = programs / "offramp-nic-agent"
        with (
            AgentProcess([far], program=program, compression="none") as first,
            AgentProcess([near], program=program, compression="none") as second,
        ):
            links = [f"nic:{agent.path}#0" for agent in (first, second)]
            monkeypatch.setattr(nic, "port_of", lambda rank: (links[rank], RankAddress.of_rank(rank)))
            yield first, second


def test_messages_of_all_sizes_arrive_in_order(ports):
    rng = np.random.default_rng(5)
    messages = [rng.bytes(int(rng.integers(0, 4000))) for _ in range(300)]
    made_of = program([[(Trip("back"),)]], "ADDR")
    turned = {"back": lambda m: m[::-1]}
    with lab(made_of, python=turned, transport="nic", listen="127.0.0.1:0", stride=4000) as laboratory:
        sent = 0
        while len(laboratory.ended) < len(messages):
            end = min(sent + int(rng.integers(0, 40)), len(messages))
            keys = [i % 3 for i in range(sent, end)]
            sent += laboratory.requester.admit(batch(messages[sent:end], keys), np.arange(sent, end))
            laboratory.step()
        assert [e[0] for e in laboratory.ended if e[0] % 3 == 0] == list(range(0, len(messages), 3))
        assert all(e[1:] == (Status.OK, messages[e[0]][::-1]) for e in laboratory.ended)


def step_until_it_fails(pair) -> None:
    while True:
        pair.requester.step()


def test_an_agent_that_is_killed_is_a_link_that_is_down(ports):
    with lab(program([[(Trip("echo"),)]]), transport="nic", listen="127.0.0.1:0") as laboratory:
        ports[1].kill()
        laboratory.requester.admit(batch([b"x"]), np.array([1]))
        with pytest.raises(OfframpError, match="is gone: coflows: the agent is gone; 1 requests have not ended"):
            step_until_it_fails(laboratory)


@pytest.mark.parametrize("text", ["", "unix:x#0", "nic:x#0,02:00:00:00:00:01", "nic:x#0,02,10.0.0.1", "nic:x#0,,10"])
def test_ports_that_are_none(monkeypatch, text):
    monkeypatch.setenv(nic.PORT, text)
    with pytest.raises(OfframpError, match="transport nic: OFFRAMP_LEO_PORT="):
        nic.port_of(0)


def test_a_port_has_its_addresses_or_is_known_by_its_rank(monkeypatch):
    monkeypatch.setenv(nic.PORT, "nic:x#0,0a:00:00:00:00:01,10.0.0.7")
    assert nic.port_of(0) == ("nic:x#0", RankAddress(bytes.fromhex("0a0000000001"), "10.0.0.7"))
    monkeypatch.setenv(nic.PORT, "nic:x#0")
    assert nic.port_of(1) == ("nic:x#0", RankAddress.of_rank(1))
