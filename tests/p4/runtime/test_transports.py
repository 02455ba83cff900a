# SPDX-License-Identifier: Apache-2.0
"""The switch's ports on every transport, and the commands that name one."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import namespaces
from frames import ethernet, mac
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session
from offramp_base.transport import open_io
from offramp_base.wire.batch import PacketBatch
from offramp_cli.app import app
from offramp_p4.embedded import EmbeddedSwitch
from offramp_sim.transports.exchange import measure_exchange
from offramp_sim.transports.link import measure_link

PROGRAM = Path(__file__).parents[2] / "conformance" / "conformance.p4"
ON_INTERFACES = [pytest.param(name, marks=pytest.mark.netns) for name in ("af_packet", "bundle", "af_xdp")]


@pytest.fixture
def somewhere(request):
    """Runs a function, in a namespace of the test's own where the transport uses interfaces."""
    if request.node.callspec.params["transport"] in {"unix", "shm", "udp"}:
        yield lambda function: function()
        return
    namespaces.require()
    with namespaces.Namespace() as namespace:
        yield namespace.call


def exchange_frames(switch):
    """Frames of many lengths from port 1 to port 2; then the host at port 1 goes, and another one comes."""
    rng = np.random.default_rng(5)
    frames = [ethernet() + rng.bytes(int(n)) for n in rng.integers(46, 1486, 300)]
    with Session(switch.address) as session:
        session.insert([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)}, "forward", {"port": 2})])
        with closing(open_io(switch.port_specs[1])) as two:
            two.send(PacketBatch.of([(0, ethernet(dst=9))]))  # a UDP port learns from it who is there
            with closing(open_io(switch.port_specs[0])) as one:
                one.send(PacketBatch.of([(0, b"\xff" * 14)]))  # garbage
                one.send(PacketBatch.of((0, frame) for frame in frames))
                assert collect(two, 300) == frames
            arrived: list[bytes] = []
            deadline = time.monotonic() + 10
            while not arrived and time.monotonic() < deadline:
                arrived = sent_by_another_host(switch.port_specs[0], frames[0], two)
            assert arrived == frames[:1]


def sent_by_another_host(link, frame, at):
    """Frames that arrive ``at`` the other port; none while the switch has not noticed that the first host is gone."""
    with closing(open_io(link)) as io:
        try:
            io.send(PacketBatch.of([(0, frame)]))
        except OfframpError:
            return []
        return collect(at, 1, 0.2)


def collect(io, count, timeout_s=5.0):
    frames = []
    while len(frames) < count and len(batch := io.receive(timeout_s)):
        frames += batch.frames()
    return frames


@pytest.mark.full
@pytest.mark.parametrize("transport", ["unix", "shm", "udp", *ON_INTERFACES])
def test_embedded_switch_forwards_and_takes_a_host_that_returns(transport, somewhere, tmp_path):
    def work():
        with EmbeddedSwitch(PROGRAM, [1, 2], workdir=tmp_path / "s", transport=transport) as switch:
            assert all(spec.startswith(f"{transport}:") for spec in switch.port_specs)
            exchange_frames(switch)

    somewhere(work)


@pytest.mark.parametrize("transport", ["unix", "shm", "udp", *ON_INTERFACES])
def test_link_is_measured_without_loss(transport, somewhere):
    rate = somewhere(lambda: measure_link(transport, 178, 0.05))
    assert rate.lost == 0
    assert rate.frames > 0
    assert 0 < rate.gbit_per_s == pytest.approx(rate.frames * 178 * 8e-9 / rate.seconds)


@pytest.mark.full
def test_exchange_is_measured_and_its_sums_are_right():
    rate = measure_exchange("udp", 0.0, vertices=60)
    assert rate.exchanges == 1
    assert rate.frames > 100


def offramp(*arguments):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200", "TERM": "dumb"})


@pytest.mark.full
def test_list_and_bench_write_json(tmp_path):
    shown = offramp("transport", "list", "--json", str(tmp_path / "list.json"))
    assert "af_xdp:IFNAME" in shown.output
    listed = json.loads((tmp_path / "list.json").read_text())
    assert [row["transport"] for row in listed["transports"]] == ["unix", "shm", "udp", "af_packet", "bundle", "af_xdp"]
    arguments = ["-t", "unix", "--size", "100", "--seconds", "0.01", "--rounds", "2", "--no-exchange"]
    shown = offramp("transport", "bench", *arguments, "--json", str(tmp_path / "bench.json"))
    assert shown.exit_code == 0, shown.output
    (link,) = json.loads((tmp_path / "bench.json").read_text())["links"]
    assert (link["transport"], link["size"], link["lost"]) == ("unix", 100, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--transport", "tcp"], "transport 'tcp': expected auto, unix, shm, udp, af_packet, bundle, af_xdp"),
        (
            ["train", "--workers", "1", "--switch", "h:1", "--ports", "eth9", "--transport", "udp"],
            "link 'eth9': transport udp expects udp:HOST:PORT",
        ),
        (
            ["train", "--workers", "1", "--switch", "h:1", "--ports", "dpdk:0"],
            "link 'dpdk:0': expected unix:PATH, shm:PATH, udp:HOST:PORT, af_packet:IFNAME, bundle:IFNAME",
        ),
        (
            ["switch", "run", "--no-p4", "--transport", "x"],
            "--transport x: expected one of auto, unix, shm, udp, af_packet, bundle, af_xdp",
        ),
        (["switch", "run", "--no-p4", "-i", "1@af_xdp:none0"], "no interface 'none0'; there are "),
        (
            ["transport", "bench", "-t", "tcp"],
            "--transport tcp: expected one of unix, shm, udp, af_packet, bundle, af_xdp",
        ),
    ],
)
def test_golden_errors_of_transports(arguments, message):
    result = offramp(*arguments)
    assert isinstance(result.exception, OfframpError)
    assert str(result.exception).startswith(message)
    assert "\n" not in str(result.exception)


def test_veth_pairs_need_root(monkeypatch):
    monkeypatch.setattr("offramp_p4.veth_links.os.geteuid", lambda: 1000)
    with pytest.raises(OfframpError) as failure:
        EmbeddedSwitch(None, [1], transport="af_packet")
    message = "veth pairs to the embedded switch need root; transport unix or udp needs no rights"
    assert str(failure.value) == message
