# SPDX-License-Identifier: Apache-2.0
"""``offramp switch run`` with the options that people type for simple_switch_grpc."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

import namespaces
from frames import ethernet, mac
from offramp.p4src import p4_root
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session
from offramp_base.transport import open_io
from offramp_base.wire import pcap
from offramp_base.wire.batch import PacketBatch
from offramp_cli.app import app

pytestmark = pytest.mark.p4

PROGRAM = Path(__file__).parents[2] / "conformance" / "conformance.p4"
REFLECTOR = p4_root() / "examples/reflector.p4"


@contextmanager
def running(*words: object, launcher: Sequence[str] = ()) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A switch run as a command, and the address that it announces."""
    command = [*launcher, str(Path(sys.executable).with_name("offramp")), "switch", "run", *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = ""
        while not (match := re.match(r"P4Runtime  (\S+)", address)):
            address = process.stdout.readline()
            assert address, "the switch ended"
        yield process, match[1]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)


def send(path: Path, frame: bytes) -> list[bytes]:
    link = open_io(f"unix:{path}")
    link.send(PacketBatch.of([(0, frame)]))
    frames = list(link.receive(10).frames())
    link.close()
    return frames


@pytest.mark.full
def test_options_behind_two_dashes(tmp_path: Path) -> None:
    words = (PROGRAM, "-i", f"1@unix:{tmp_path / 'p1'}", "--", "--grpc-server-addr", "127.0.0.1:0", "--cpu-port", 255)
    with running(*words) as (process, address), Session(address):
        assert process.stdout is not None
        shown = [process.stdout.readline() for _ in range(2)]
        assert shown[1] == "port 255   CPU: packet-in and packet-out\n"


@pytest.mark.full
def test_captures_of_what_arrives_and_leaves(tmp_path: Path) -> None:
    port, captures = tmp_path / "p1", tmp_path / "captures"
    captures.mkdir()
    frame = ethernet()
    before = time.time_ns() // 1000
    with running(REFLECTOR, "-i", f"1@unix:{port}", "--pcap", captures, "--grpc-server-addr", "127.0.0.1:0"):
        (answer,) = send(port, frame)
        (arrived,), (left,) = (
            pcap.read(next(captures.glob(f"*p1_{way}.pcap")))
            for way in ("in", "out")  # complete while the switch runs
        )
    assert (arrived[1], left[1]) == (frame, answer)
    assert before <= arrived[0] <= left[0] <= time.time_ns() // 1000


@pytest.mark.full
def test_captures_in_this_folder_when_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with running(REFLECTOR, "-i", f"1@unix:{tmp_path / 'p1'}", "--grpc-server-addr", "127.0.0.1:0", "--pcap"):
        send(tmp_path / "p1", ethernet())
    assert len(list(tmp_path.glob("*.pcap"))) == 2


@pytest.mark.full
def test_log_and_traces(tmp_path: Path) -> None:
    port, log, traces = tmp_path / "p1", tmp_path / "log.txt", tmp_path / "traces.jsonl"
    options = ("--log-file", log, "--trace", traces, "--grpc-server-addr", "127.0.0.1:0")
    with running(REFLECTOR, "-i", f"1@unix:{port}", *options):
        (answer,) = send(port, ethernet())
        assert f"out at port 1: {len(answer)} bytes {answer.hex()}" in log.read_text()
        (line,) = traces.read_text().splitlines()
    assert json.loads(line)["spans"][1]["output"] == {"port": 1, "data": answer.hex()}


@pytest.mark.full
@pytest.mark.netns
def test_two_switches_in_a_row_on_one_machine(tmp_path: Path) -> None:
    """Their services are reached by files, as gRPC's own threads may be outside the namespace."""
    namespaces.require()
    with namespaces.Namespace() as namespace:
        for left, right in (("h1", "a1"), ("a2", "b1"), ("b2", "h2")):
            namespace.veth(left, right)
        options = [(f"1@{name}1", "-i", f"2@{name}2", "--device-id", n) for n, name in enumerate("ab", 1)]
        ports = [("--grpc-server-addr", f"unix:{tmp_path}/{name}") for name in "ab"]
        first, second = ((PROGRAM, "-i", *given, *at) for given, at in zip(options, ports, strict=True))
        with (
            running(*first, launcher=namespace.command) as (_, one),
            running(*second, launcher=namespace.command) as (_, two),
        ):
            _forward(one, 1)
            _forward(two, 2)
            h1, h2 = (namespace.call(lambda n=n: open_io(n)) for n in ("h1", "h2"))
            h1.send(PacketBatch.of([(0, ethernet())]))
            assert list(h2.receive(10).frames()) == [ethernet()]
            h1.close()
            h2.close()


def _forward(address: str, device: int) -> None:
    with Session(address, device_id=device, timeout_s=30) as session:
        session.insert([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)}, "forward", {"port": 2})])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["program.json"], "program.json: cannot be read: No such file or directory"),
        ([REFLECTOR, "--log-console", "--log-file", "x"], "--log-console: expected without --log-file"),
        ([REFLECTOR, "--pcap", "nowhere"], "--pcap nowhere: no such folder"),
        ([REFLECTOR, "-L", "all"], "--log-level all: expected one of trace, debug, info, warn, error, off"),
        ([REFLECTOR, "--engine", "fast"], "--engine fast: expected one of auto, native, python"),
        ([REFLECTOR, "--engine", "native", "--log-console"], "native engine: a trace needs the Python engine"),
        ([REFLECTOR, "--trace", "no/where"], "no/where: cannot be written: No such file or directory"),
    ],
)
def test_golden_errors(words: list[object], message: str) -> None:
    result = CliRunner().invoke(app, ["switch", "run", *map(str, words)])
    assert isinstance(result.exception, OfframpError)
    assert str(result.exception) == message
