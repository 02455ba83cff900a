# SPDX-License-Identifier: Apache-2.0
"""Clients that die, stop reading or send garbage: the data plane goes on, and other clients too."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import grpc
import pytest

from frames import ethernet, mac
from offramp_base.errors import OfframpError
from offramp_base.p4rt import schema
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.session import Session
from offramp_base.transport import open_io
from offramp_base.wire.batch import PacketBatch
from offramp_p4.embedded import EmbeddedSwitch

PROGRAM = Path(__file__).with_name("conformance.p4")


@pytest.fixture
def switch(tmp_path):
    with EmbeddedSwitch(PROGRAM, [1, 2], workdir=tmp_path / "s", cpu_port=510) as running:
        yield running


@pytest.fixture
def links(switch):
    ends = [open_io(spec) for spec in switch.port_specs]
    yield ends
    for end in ends:
        end.close()


def forward_to_2(session):
    session.insert([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)}, "forward", {"port": 2})])


def works(links):
    links[0].send(PacketBatch.of([(0, ethernet(dst=1))]))
    return list(links[1].receive(5).frames()) == [ethernet(dst=1)]


CLIENT = """
import sys, time
from offramp_base.p4rt.session import Session
session = Session(sys.argv[1], election_id=int(sys.argv[2])).__enter__()
print("ready", flush=True)
time.sleep(60)
"""


def test_killed_client_is_forgotten_and_another_takes_over(switch, links):
    with Session(switch.address, election_id=5) as session:
        forward_to_2(session)
    killed = subprocess.Popen([sys.executable, "-c", CLIENT, switch.address, "9"], stdout=subprocess.PIPE)
    assert killed.stdout.readline() == b"ready\n"
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    assert works(links)
    deadline = time.monotonic() + 10
    while True:
        try:
            with Session(switch.address, election_id=9) as session:
                session.delete([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)})])
            break
        except OfframpError:  # until the server has seen the connection end
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def test_client_that_does_not_read_loses_packets_and_stalls_nobody(switch, links):
    with Session(switch.address, election_id=1) as session:
        forward_to_2(session)
        session.insert([session.table_entry("acl", {"hdr.ethernet.src": 9}, "punt", priority=1)])
    started = threading.Event()

    def silent():
        update = v1.MasterArbitrationUpdate(election_id=v1.Uint128(low=2))
        yield v1.StreamMessageRequest(arbitration=update)
        started.set()
        time.sleep(30)

    with grpc.insecure_channel(switch.address) as channel:
        open_stream = channel.stream_stream(
            f"/{schema.SERVICE}/StreamChannel",
            request_serializer=v1.StreamMessageRequest.SerializeToString,
            response_deserializer=v1.StreamMessageResponse.FromString,
        )
        stream = open_stream(silent())
        assert started.wait(5)
        punted = PacketBatch.of([(0, ethernet(dst=1, src=9) + bytes(1000))] * 500)
        for _ in range(20):  # 10 MB that nobody reads
            links[0].send(punted)
        assert works(links)
        stream.cancel()


def garbage_calls(channel):
    def identity(data):
        return data

    for method in schema.UNARY:
        yield channel.unary_unary(f"/{schema.SERVICE}/{method}", identity, identity)
    read = channel.unary_stream(f"/{schema.SERVICE}/Read", identity, identity)
    yield lambda data, timeout: list(read(data, timeout=timeout))
    stream = channel.stream_stream(f"/{schema.SERVICE}/StreamChannel", identity, identity)
    yield lambda data, timeout: list(stream(iter([data]), timeout=timeout))


def test_random_bytes_end_in_a_clean_status(switch, links):
    with Session(switch.address) as session:
        forward_to_2(session)
    rng = random.Random(1)
    clean = {"INVALID_ARGUMENT", "NOT_FOUND", "PERMISSION_DENIED", "UNIMPLEMENTED", "FAILED_PRECONDITION"}
    seen = set()
    with grpc.insecure_channel(switch.address) as channel:
        for call in garbage_calls(channel):
            for _ in range(60):
                try:
                    call(rng.randbytes(rng.choice([1, 2, 5, 30, 300])), timeout=5)
                except grpc.RpcError as error:
                    seen.add(error.code().name)
    # Some random bytes are messages: of unknown fields only, for instance.
    assert seen <= clean | {"UNKNOWN", "OUT_OF_RANGE"}
    assert "INVALID_ARGUMENT" in seen
    assert works(links)
    assert switch.log.read_text() == ""


def test_mutated_writes_never_break_the_server(switch, links):
    rng = random.Random(2)
    with Session(switch.address) as session:
        forward_to_2(session)
        make = session.make
        good = [
            session.table_entry("acl", {"hdr.ethernet.src": (1, 3)}, "mark", {"index": 1}, priority=5),
            make.multicast_group(3, [(1, 1), (2, 2)]),
            make.clone_session(3, [(1, 1)]),
            make.counter("marked", 1, 2, 3),
            make.register("arrivals", 1, 2),
        ]
        codes = set()
        for _ in range(600):
            entity = rng.choice(good)
            update = v1.Update(type=rng.choice([1, 2, 3]), entity=entity)
            raw = bytearray(v1.WriteRequest(election_id=session._election(), updates=[update]).SerializeToString())
            for _ in range(rng.randint(1, 4)):
                raw[rng.randrange(len(raw))] = rng.randrange(256)
            call = session._connection._channel.unary_unary(f"/{schema.SERVICE}/Write")
            try:
                call(bytes(raw), timeout=5)
            except grpc.RpcError as error:
                codes.add(error.code().name)
        assert "INTERNAL" not in codes
    assert switch.log.read_text() == ""


def test_malformed_link_messages_are_counted_and_change_nothing(switch, links):
    with Session(switch.address) as session:
        forward_to_2(session)
    rng = random.Random(3)
    for size in (1, 3, 4, 10, 1000):
        links[0]._socket.send(rng.randbytes(size))
    assert works(links)


def test_pushes_under_load(switch, links):
    stop = threading.Event()
    frames = PacketBatch.of([(0, ethernet(dst=1))] * 50)

    def load():
        while not stop.is_set():
            links[0].send(frames)

    thread = threading.Thread(target=load)
    thread.start()
    try:
        with Session(switch.address) as session:
            for _ in range(5):
                session.push(b"", PROGRAM.read_bytes())
                forward_to_2(session)
                assert len(links[1].receive(5))
    finally:
        stop.set()
        thread.join()


def test_host_that_comes_back_uses_the_same_port(switch, links):
    with Session(switch.address) as session:
        forward_to_2(session)
    links[1].close()
    links[0].send(PacketBatch.of([(0, ethernet(dst=1))]))  # nobody there: dropped
    links[1] = open_io(switch.port_specs[1])
    deadline = time.monotonic() + 5
    while not works_softly(links) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert works(links)


def works_softly(links):
    """One frame may fall into the moment before the switch accepts the new host."""
    links[0].send(PacketBatch.of([(0, ethernet(dst=1))]))
    arrived = len(links[1].receive(0.2)) > 0
    while len(links[1].receive(0.05)):
        pass
    return arrived


def test_switch_ends_with_its_parent(tmp_path):
    folder = tmp_path / "s"
    code = (
        "import os, sys\n"
        "from offramp_p4.embedded import EmbeddedSwitch\n"
        "switch = EmbeddedSwitch(sys.argv[1], 1, workdir=sys.argv[2]).__enter__()\n"
        "print(switch.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    parent = subprocess.run(
        [sys.executable, "-c", code, str(PROGRAM), str(folder)], capture_output=True, check=False, timeout=60
    )
    pid = int(parent.stdout)
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(pid)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that nobody has waited for yet is still listed, as a zombie.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_refused_program_carries_the_message_of_the_compiler(tmp_path):
    bad = tmp_path / "bad.p4"
    bad.write_text("#include <core.p4>\nheader h { bit<8> x }\n")
    with pytest.raises(OfframpError, match=r"bad.p4:2:\d+: error: "):
        EmbeddedSwitch(bad, 1).__enter__()
    with pytest.raises(OfframpError, match="cannot read the program: No such file or directory"):
        EmbeddedSwitch(tmp_path / "none.p4", 1).__enter__()


def test_hundred_thousand_entries(switch):
    source = PROGRAM.read_text().replace("size = 2048;", "size = 100000;").encode()
    with Session(switch.address) as session:
        session.push(b"", source)
        start = time.monotonic()
        session.insert(
            session.table_entry("mac", {"hdr.ethernet.dst": i}, "forward", {"port": i & 255}) for i in range(100_000)
        )
        seconds = time.monotonic() - start
        assert sum(1 for _ in session.read([session.table_entry("mac", {})])) == 100_000
    assert seconds < 60
