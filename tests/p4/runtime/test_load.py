# SPDX-License-Identifier: Apache-2.0
"""The server under load and misuse: nothing stalls, nothing leaks, no packet sees half of a pipeline.

Oracle: what the kernel says of the process (descriptors, threads, resident memory), and stamps that packets carry.
Blind to leaks smaller than the noise of an allocator.
"""

from __future__ import annotations

import os
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
from offramp_base.p4rt.status import Code
from offramp_base.transport import open_io
from offramp_base.wire.batch import PacketBatch
from offramp_p4.embedded import EmbeddedSwitch
from offramp_p4.runtime import server

pytestmark = pytest.mark.full

PROGRAM = Path(__file__).parents[2] / "conformance" / "conformance.p4"
STAMPS = Path(__file__).with_name("stamps.p4")
MB = 1 << 20


@pytest.fixture
def start(tmp_path):
    """``start(program)``: a switch with ports 1 and 2, and the host's ends of them."""
    opened = []

    def make(program, cpu_port=510):
        switch = EmbeddedSwitch(program, [1, 2], workdir=tmp_path / f"s{len(opened)}", cpu_port=cpu_port)
        opened.append(switch.__enter__())
        links = [open_io(spec) for spec in switch.port_specs]
        opened.extend(links)
        return switch, links

    yield make
    for one in reversed(opened):
        one.__exit__() if isinstance(one, EmbeddedSwitch) else one.close()


def resident(pid):
    """Resident memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def threads(pid):
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def descriptors(pid):
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def settles(measure, limit, seconds=15.0):
    """Whether a measure comes down to a limit: gRPC closes connections behind our back."""
    deadline = time.monotonic() + seconds
    while (value := measure()) > limit and time.monotonic() < deadline:
        time.sleep(0.1)
    return value <= limit


def forwarding(session):
    session.insert([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)}, "forward", {"port": 2})])


def works(links):
    links[0].send(PacketBatch.of([(0, ethernet(dst=1))]))
    return list(links[1].receive(10).frames()) == [ethernet(dst=1)]


def stream_call(channel, requests):
    call = channel.stream_stream(
        f"/{schema.SERVICE}/StreamChannel",
        request_serializer=v1.StreamMessageRequest.SerializeToString,
        response_deserializer=v1.StreamMessageResponse.FromString,
    )
    return call(requests)


def primary(number):
    return v1.StreamMessageRequest(arbitration=v1.MasterArbitrationUpdate(election_id=v1.Uint128(low=number)))


def test_memory_is_bounded_while_a_client_does_not_read(start):
    switch, links = start(PROGRAM)
    with Session(switch.address) as session:
        forwarding(session)
        session.insert([session.table_entry("acl", {"hdr.ethernet.src": 9}, "punt", priority=1)])
    done = threading.Event()

    def silent():
        yield primary(2)
        done.wait(60)

    with grpc.insecure_channel(switch.address, [("grpc.max_receive_message_length", -1)]) as channel:
        stream = stream_call(channel, silent())
        assert next(stream).WhichOneof("update") == "arbitration"
        punted = PacketBatch.of([(0, ethernet(dst=1, src=9) + bytes(1400))] * 500)
        before = resident(switch.pid)
        for _ in range(60):  # 42 MB, of which the outbox holds 6
            links[0].send(punted)
        assert works(links)
        assert resident(switch.pid) - before < 30 * MB
        done.set()
        stream.cancel()


def test_a_flood_of_packet_outs_waits_for_the_switch(start):
    switch, links = start(PROGRAM)
    with Session(switch.address) as session:
        before = resident(switch.pid)
        payload = bytes(1400)
        for _ in range(20_000):  # 28 MB
            session.packet_out(payload, {"egress_port": 1, "padding": 0})
        got = 0
        while got < 20_000:
            arrived = len(links[0].receive(10))
            assert arrived, f"{got} frames have arrived"
            got += arrived
        assert resident(switch.pid) - before < 60 * MB


@pytest.mark.slow
def test_ten_thousand_writes_in_flight(start):
    switch, links = start(None)
    source = PROGRAM.read_bytes().replace(b"size = 2048;", b"size = 20000;")
    with Session(switch.address) as session:
        session.push(b"", source)
        forwarding(session)
        make, election = session.make, session._election()
        channels = [grpc.insecure_channel(switch.address, [("grpc.use_local_subchannel_pool", 1)]) for _ in range(4)]
        writes = [
            channel.unary_unary(
                f"/{schema.SERVICE}/Write",
                request_serializer=v1.WriteRequest.SerializeToString,
                response_deserializer=v1.WriteResponse.FromString,
            )
            for channel in channels
        ]
        pending = []
        for n in range(10_000):
            entity = make.table_entry("mac", {"hdr.ethernet.dst": 1 << 20 | n}, "forward", {"port": 1})
            update = v1.Update(type=v1.Update.INSERT, entity=entity)
            pending.append(writes[n % 4].future(v1.WriteRequest(election_id=election, updates=[update]), timeout=120))
        assert works(links)  # while they are under way
        for write in pending:
            write.result()
        assert len(session.read_table("mac")) == 10_001
        for channel in channels:
            channel.close()


def test_no_packet_sees_half_of_a_pipeline(start):
    """Each version stamps packets in ingress and in egress; what is sent comes back whole, once, in order."""
    switch, links = start(STAMPS)
    sources = [STAMPS.read_bytes(), STAMPS.read_bytes().replace(b"VERSION 1", b"VERSION 2")]
    window = 200
    seen: set[bytes] = set()
    gaps: list[float] = []
    failures: list[str] = []
    ending = threading.Event()

    def traffic():
        sent = got = 0
        last = time.monotonic()
        while got < sent or not ending.is_set():
            if not ending.is_set() and sent - got < window:
                frames = [(0, n.to_bytes(4, "big") + bytes(60)) for n in range(sent, sent + 20)]
                links[0].send(PacketBatch.of(frames))
                sent += 20
            for frame in links[1].receive(20).frames():
                if frame[:4] != got.to_bytes(4, "big") or frame[4:6] != frame[6:8]:
                    failures.append(f"frame {got}: {frame[:8].hex()}")
                seen.add(frame[4:6])
                got += 1
            now = time.monotonic()
            gaps.append(now - last)
            last = now
            if failures or gaps[-1] > 20:
                return

    with Session(switch.address) as session:
        thread = threading.Thread(target=traffic)
        thread.start()
        for pushes in range(1, 9):
            session.push(b"", sources[pushes % 2])
        ending.set()
        thread.join()
    assert failures == []
    assert len(seen) == 2
    assert max(gaps) < 20


KILLED = """
import sys, time
from offramp_base.p4rt.session import Session
from offramp_base.p4rt.status import Code
session = Session(sys.argv[1], election_id=int(sys.argv[2])).__enter__()
entries = [session.table_entry("mac", {"hdr.ethernet.dst": n}, "drop") for n in range(1000)]
print("ready", flush=True)
while True:
    session.insert(entries)
    session.delete(entries)
"""


def test_clients_killed_in_the_middle_leave_nothing(start):
    switch, links = start(PROGRAM)
    with Session(switch.address) as session:
        forwarding(session)
    before = descriptors(switch.pid)
    for number in range(2, 5):
        client = subprocess.Popen([sys.executable, "-c", KILLED, switch.address, str(number)], stdout=subprocess.PIPE)
        assert client.stdout.readline() == b"ready\n"
        client.send_signal(signal.SIGKILL)
        client.wait()
        client.stdout.close()
        assert works(links)
    assert settles(lambda: descriptors(switch.pid), before)
    with Session(switch.address, election_id=9) as session:
        session.delete([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)})])


def test_connections_that_come_and_go_leave_nothing(start):
    switch, links = start(PROGRAM)

    def visit(number):
        # The server may not have seen the last visitor leave, so the next one outbids it.
        with Session(switch.address, election_id=number) as session:
            forwarding(session)
            session.delete([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)})])

    for number in range(1, 31):  # whatever is made once, is made now
        visit(number)
    files, memory = descriptors(switch.pid), resident(switch.pid)
    for number in range(31, 181):
        visit(number)
    assert settles(lambda: descriptors(switch.pid), files)
    assert settles(lambda: threads(switch.pid), server.MAX_STREAMS + server.MAX_READS + server.UNARY_THREADS + 40)
    assert resident(switch.pid) - memory < 20 * MB
    with Session(switch.address, election_id=200) as session:
        forwarding(session)
    assert works(links)


def test_there_is_a_limit_to_streams_and_others_still_work(start):
    switch, links = start(PROGRAM)
    done = threading.Event()

    def silent():
        yield v1.StreamMessageRequest(arbitration=v1.MasterArbitrationUpdate())
        done.wait(60)

    with grpc.insecure_channel(switch.address) as channel:
        streams = [stream_call(channel, silent()) for _ in range(server.MAX_STREAMS)]
        for stream in streams:
            assert next(stream).WhichOneof("update") == "arbitration"
        with pytest.raises(grpc.RpcError) as failure:
            next(stream_call(channel, silent()))
        assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        streams[0].cancel()
        deadline = time.monotonic() + 10
        while True:
            try:
                with Session(switch.address) as session:
                    forwarding(session)
                break
            except OfframpError:  # until the server has seen the end of the stream
                assert time.monotonic() < deadline
                time.sleep(0.05)
        assert works(links)
        done.set()
        for stream in streams:
            stream.cancel()


def controller_connects(address, number=1000, seconds=3.0):
    """Whether a controller becomes primary and writes within some seconds."""
    start = time.monotonic()
    with Session(address, election_id=number) as session:
        forwarding(session)
        session.delete([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)})])
    return time.monotonic() - start < seconds


def never(done):
    """Requests that do not come."""
    done.wait(120)
    return
    yield


def answer_or_refusal(stream):
    """The first message of a stream, or the status that it ended with: which streams come first is gRPC's to say."""
    try:
        return next(stream, None)
    except grpc.RpcError as error:
        return error.code()


@pytest.mark.parametrize("said", ["nothing", "no election id", "a low election id", "roles"])
def test_idle_streams_lock_no_controller_out(start, said):
    """Old code refused every stream beyond the first 32, whoever held them."""
    switch, _ = start(PROGRAM)
    done = threading.Event()

    def idle(number):
        if said == "nothing":
            yield from never(done)
        update = v1.MasterArbitrationUpdate()
        if said == "a low election id":
            update.election_id.low = number + 1
        if said == "roles":
            update.election_id.low, update.role.name = 1, f"role{number}"
        yield v1.StreamMessageRequest(arbitration=update)
        yield from never(done)

    with grpc.insecure_channel(switch.address) as channel:
        streams = [stream_call(channel, idle(number)) for number in range(100 if said == "nothing" else 40)]
        if said != "nothing":
            answers = [answer_or_refusal(stream) for stream in streams]
            refused = [each for each in answers if each is grpc.StatusCode.RESOURCE_EXHAUSTED]
            assert len(refused) <= len(streams) - 31
            assert len(answers) - len(refused) == sum(isinstance(each, v1.StreamMessageResponse) for each in answers)
        assert controller_connects(switch.address)
        done.set()
        for stream in streams:
            stream.cancel()


def test_the_primary_is_never_put_out(start):
    switch, _ = start(PROGRAM)
    done = threading.Event()
    with Session(switch.address, election_id=50) as session, grpc.insecure_channel(switch.address) as channel:
        forwarding(session)

        def backup(number):
            yield primary(number + 1)
            yield from never(done)

        streams = [stream_call(channel, backup(number)) for number in range(49)]
        ended = 0
        for stream in streams:
            try:
                next(stream)
            except grpc.RpcError as error:
                ended += error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        session.delete([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)})])
        assert session.stream.status() == (Code.OK, 50)
        done.set()
        for stream in streams:
            stream.cancel()
    assert controller_connects(switch.address)


def test_calls_that_never_send_their_request_lock_nobody_out(start):
    """A request that is announced and does not come: each call held one of 52 threads for good."""
    switch, _ = start(PROGRAM)
    done = threading.Event()
    with grpc.insecure_channel(switch.address) as channel:
        calls = []
        for number in range(400):
            method = ("Write", "Read", "SetForwardingPipelineConfig", "Capabilities")[number % 4]
            call = channel.stream_stream(f"/{schema.SERVICE}/{method}", lambda data: data, lambda data: data)
            calls.append(call(never(done)))
        assert controller_connects(switch.address, seconds=5.0)
        assert controller_connects(switch.address, number=1001, seconds=5.0)
        with pytest.raises(grpc.RpcError):  # they are ended
            list(calls[0])
        done.set()
        for call in calls:
            call.cancel()


def test_silent_connections_lock_nobody_out(start):
    import socket

    switch, _ = start(PROGRAM)
    sockets = []
    for _ in range(300):
        sockets.append(socket.socket(socket.AF_UNIX))
        sockets[-1].connect(switch.address.removeprefix("unix:"))
    assert controller_connects(switch.address)
    before = descriptors(switch.pid)
    assert settles(lambda: descriptors(switch.pid), before - 290)  # their handshakes have taken too long
    for each in sockets:
        each.close()


def test_large_messages_are_refused_and_take_no_memory(start):
    switch, _ = start(PROGRAM)
    before = resident(switch.pid)
    with grpc.insecure_channel(switch.address, [("grpc.max_send_message_length", -1)]) as channel:
        write = channel.unary_unary(f"/{schema.SERVICE}/Write", lambda data: data, lambda data: data)
        calls = [write.future(bytes(100 * MB)) for _ in range(3)]
        for call in calls:
            assert call.exception().code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        largest = write.future(b"\x0a\xff\xff\xff\x01" + bytes(4 * MB - 100))  # no message, but not too long
        assert largest.exception().code() is grpc.StatusCode.INVALID_ARGUMENT
    assert resident(switch.pid) - before < 60 * MB
    assert controller_connects(switch.address)


def test_the_greatest_message_is_a_setting(tmp_path):
    with EmbeddedSwitch(None, [1], workdir=tmp_path / "s", max_message=16 * MB) as switch, Session(switch.address) as s:
        s.push(b"", PROGRAM.read_bytes() + b"// " + b"x" * (5 * MB))
    with EmbeddedSwitch(None, [1], workdir=tmp_path / "t") as switch, Session(switch.address) as s:
        with pytest.raises(OfframpError, match="larger than max"):
            s.push(b"", PROGRAM.read_bytes() + b"// " + b"x" * (5 * MB))
        s.push(b"", PROGRAM.read_bytes())
