# SPDX-License-Identifier: Apache-2.0
"""The programming interface of table 6.2, and tenants."""

from __future__ import annotations

import numpy as np
import pytest

from leo_lab import batch, lab, program, serve_while
from offramp.device import Status
from offramp.leo.devices import open_device
from offramp.leo.functions import reduce
from offramp.leo.native.dataflow import Dataflow, Trip
from offramp.leo.native.functions import READ, WRITE
from offramp.leo.runtime.context import Context
from offramp.leo.runtime.requester import RequesterSettings
from offramp.leo.runtime.tenants import Tenants
from offramp.leo.selection import RequestDependency, Table
from offramp_base.errors import OfframpError


def test_registering_twice_and_calling_what_nobody_registered():
    context = Context()
    context.reg_app_func(bytes.upper, "shout", "cpu")
    context.reg_app_func(bytes.lower, "shout", "acc")
    assert context.handle(b"Hi", "cpu", "shout") == b"HI"
    assert context.handle(b"Hi", "acc", "shout") == b"hi"
    with pytest.raises(OfframpError, match="application function shout of role cpu: registered already"):
        context.reg_app_func(bytes.lower, "shout", "cpu")
    with pytest.raises(OfframpError, match="application function whisper of role cpu: not registered"):
        context.handle(b"", "cpu", "whisper")
    with pytest.raises(OfframpError, match="role gpu: expected cpu or acc"):
        context.reg_mem_func(bytearray, "malloc", "gpu")
    context.reg_ts_func(lambda: 1, "now")
    with pytest.raises(OfframpError, match="time stamp function now of role cpu: registered already"):
        context.reg_ts_func(lambda: 2, "now")
    with pytest.raises(OfframpError, match="call init first"):
        context.send(b"")


@pytest.mark.full
def test_both_sides_of_an_application():
    responder, requester = Context(), Context()
    responder.reg_app_func(lambda m: b"cpu:" + m, "work", "cpu")
    responder.reg_app_func(lambda m: b"acc:" + m, "work", "acc")
    ticks = iter(range(0, 10**9, 1000))
    requester.reg_ts_func(lambda: next(ticks), "now")
    flows = ((Trip("work"),), (Trip("work", remote="acc"),))
    one_sided = [((Trip(f),), None) for f in (READ, WRITE)]
    base = [[2e4, 1e4], [1e4, np.nan], [1e4, np.nan]]
    table = Table.disjoint(base, base, types=("WORK", READ, WRITE), paths=("cpu", "acc"))
    try:
        served = responder.serve()
        asked = Dataflow(table, (flows, *one_sided))
        serve_while(
            served, lambda: requester.init(asked, [served.listener.address], settings=RequesterSettings(stride=64))
        )

        def talk():
            number = requester.send(b"x", "WORK")
            reply = requester.recv(timeout_s=10)
            requester.write(b"persistent", 40)
            return number, reply, requester.read(38, 12), requester.recv(timeout_s=0)

        number, reply, content, nothing = serve_while(served, talk)
        assert (reply.number, reply.status, reply.path) == (number, Status.OK, "acc")
        assert reply.message == b"acc:x"
        assert reply.jct_ns > 0
        assert content == b"\0\0persistent"
        assert nothing is None
        with pytest.raises(OfframpError, match=r"memory\.read: out of bounds"):
            serve_while(served, lambda: requester.read(1 << 30, 1))
        with pytest.raises(OfframpError, match=r"send: no type PLAY: expected WORK"):
            requester.send(b"", "PLAY")
    finally:
        requester.close()
        responder.close()


def test_devices_of_either_side_compute_for_an_application():
    """The same sum by an FPGA's model at the requester and at the responder, and by a device that the test opened."""
    own = open_device("model:service_us=1", "model")
    vectors = np.arange(12, dtype=np.int32).reshape(3, 4)
    message = reduce.request(reduce.ElementType.INT32, vectors)
    flows = ((Trip(remote="fpga", function=reduce.NAME),), (Trip("echo", local="near", local_function=reduce.NAME),))
    flows += ((Trip(remote="model", function=reduce.NAME),),)
    nan = np.nan
    base = [[1e4, nan, nan], [nan, 1e4, nan], [nan, nan, 1e4]]
    types, paths = ("FAR", "NEAR", "OWN"), ("fpga", "near", "model")
    program_ = Dataflow(
        Table.disjoint(base, base, types=types, paths=paths),
        tuple(tuple(trips if i == j else None for j in range(3)) for i, trips in enumerate(flows)),
    )
    responder, requester = Context(), Context()
    try:
        served = responder.serve(devices={"fpga": "fpga-model:", "model": own})
        near = {"near": "fpga-model:"}
        serve_while(served, lambda: requester.init(program_, [served.listener.address], devices=near))
        for kind, path in zip(types, paths, strict=True):
            serve_while(served, lambda kind=kind: requester.send(message, kind))
            reply = serve_while(served, lambda: requester.recv(timeout_s=10))
            assert (reply.status, reply.path) == (Status.OK, path)
            np.testing.assert_array_equal(np.frombuffer(reply.message, np.int32), vectors.sum(axis=0))
    finally:
        requester.close()
        responder.close()
    assert not own.closed, "the context closes only the devices that it has opened"


def test_a_device_that_cannot_be_opened():
    context = Context()
    with pytest.raises(OfframpError, match="device warp: expected one of"):
        context.serve(devices={"fpga": "warp:"})
    context.close()


def test_tenants_share_by_weight_and_leave_nothing_idle():
    with lab(program([[(Trip("echo"),)]]), rows=8) as laboratory:
        tenants = Tenants(laboratory.requester, limit=4000)
        for name, weight in (("a", 3.0), ("b", 1.0), ("c", 1.0)):
            tenants.add(name, weight)
        messages = batch([b"x"] * 5000)
        for name in "ab":
            assert tenants.submit(name, messages, np.arange(5000)) == 4000
        ended = []
        while len(ended) < 1600:
            tenants.admit()
            ended += tenants.owner(laboratory.step().users).tolist()
        counts = np.bincount(ended, minlength=3)
        assert counts[0] / counts[1] == pytest.approx(3, rel=0.1)
        assert counts[2] == 0
        assert tenants.submit("c", messages.part(0, 500), np.arange(500)) == 500  # late: no credit for its absence
        ended = []
        while len(ended) < 1000:
            tenants.admit()
            ended += tenants.owner(laboratory.step().users).tolist()
        counts = np.bincount(ended, minlength=3)
        assert counts[2] / counts[1] == pytest.approx(1, rel=0.25)
        while tenants.waiting("a") + tenants.waiting("b") + tenants.waiting("c"):
            tenants.admit()
            laboratory.step()
        with pytest.raises(OfframpError, match="tenant a: there is one already"):
            tenants.add("a")
        with pytest.raises(OfframpError, match="weight 0: expected one above 0"):
            tenants.add("d", 0)
        with pytest.raises(OfframpError, match="tenant z: expected one of a, b, c"):
            tenants.submit("z", messages, np.arange(5000))


def test_tables_and_trips_must_agree():
    table = Table.disjoint([[1e4, np.nan]], [[1.0, 1.0]], dependency=(RequestDependency.NONE,))
    with pytest.raises(OfframpError, match="type r0, path p1: times and trips do not agree"):
        Dataflow(table, (((Trip("echo"),), (Trip("echo"),)),))
    with pytest.raises(OfframpError, match="type r0, path p0: no link 2"):
        Dataflow(table, (((Trip("echo", link=2),), None),))
    with pytest.raises(OfframpError, match="5 round trips, expected 1 to 4"):
        Dataflow(table, (((Trip("echo"),) * 5, None),))
