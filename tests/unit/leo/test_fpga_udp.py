# SPDX-License-Identifier: Apache-2.0
"""``fpga:udp=…`` against a card on loopback that answers rightly, or lies: short, long, other counts, garbage.

Blind spot: the card here is a model; the RTL is driven in ``tests/fpga/udp``.
"""

import contextlib
import struct
import threading
import time

import numpy as np
import pytest

from fpga_card import CardOnLoopback, HonestEngines, ModelCard, completed
from offramp.device import Status
from offramp.fpga.packets import BEAT
from offramp.fpga.udp import ControlRequest, PacketTarget
from offramp.leo.devices import open_device
from offramp.leo.devices.fpga_udp import UdpLink
from offramp.leo.functions import kvs, reduce, sylvie
from offramp_base.errors import OfframpError
from quantpack_model import COLUMNS

LINES, SECONDS = 64, 20.0


@contextlib.contextmanager
def device(lie=None, lies_to=None, **chosen):
    """A device at a card whose answers to ``lies_to`` go through ``lie``."""
    honest = HonestEngines(LINES, **chosen)

    def engines(target, packet):
        reply = honest(target, packet)
        return reply if lie is None or target != lies_to else lie(reply)

    with CardOnLoopback(ModelCard(8, engines, LINES)) as card:
        opened = open_device(f"fpga:udp={card.at},timeout_s={SECONDS}")
        try:
            yield opened
        finally:
            opened.close()


def outcomes(opened, requests):
    """Completions by request, all of them."""
    for number, (function, message) in enumerate(requests):
        assert opened.submit(function, number, message)
    completions, until = {}, time.monotonic() + SECONDS
    while len(completions) < len(requests):
        assert time.monotonic() < until
        completions |= {done.request: done for done in opened.poll()}
        time.sleep(0.001)
    return [completions[number] for number in range(len(requests))]


def submit_again_and_again(opened):
    """Until the device refuses."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        opened.submit(kvs.NAME, 7, bytes(8))
        opened.poll()
        time.sleep(0.001)


def sum_of(count):
    """A request of two vectors, and its answer."""
    vectors = np.arange(2 * count, dtype="<i4").reshape(2, count)
    message = struct.pack("<BBHI", reduce.ElementType.INT32, 2, 0, count) + vectors.tobytes()
    return message, reduce.total(reduce.ElementType.INT32, vectors).tobytes()


def rows_of(rows, columns, bits=4, seed=1):
    """A request for codes, and one for the values that they mean."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, columns)).astype(np.float32)
    numbers = random.integers(0, 1 << 40, rows)
    message = sylvie.quantise_request(x, numbers, bits, 77, compact=bool(seed % 2))
    return message, sylvie.dequantise_request(sylvie.quantise(message), rows, columns, bits)


LIES = {
    "short": lambda reply: reply[BEAT:],
    "long": lambda reply: bytes(BEAT) + reply,
    "empty": lambda reply: b"",
    "one element more": lambda reply: completed(reply[:-BEAT], struct.unpack_from("<I", reply, len(reply) - 12)[0] + 1),
    "one element less": lambda reply: completed(reply[:-BEAT], struct.unpack_from("<I", reply, len(reply) - 12)[0] - 1),
    "odd": lambda reply: reply + b"x",
    "no status": lambda reply: completed(reply[:-BEAT], 1, 99),
    "noise": lambda reply: bytes(range(160)),
}


def test_look_ups_and_sums_are_the_models():
    with device() as opened:
        index = kvs.KeyIndex(opened.memory(kvs.NAME), LINES)
        for key in range(1, 40):
            index.insert(key, key << 32)
        asked = [(kvs.NAME, struct.pack("<Q", key)) for key in range(1, 60)]
        sums = [sum_of(count) for count in (0, 1, 3, 16, 65, 700)]
        completions = outcomes(opened, asked + [(reduce.NAME, message) for message, _ in sums])
        assert {done.status for done in completions} == {Status.OK}
        assert [done.message for done in completions[:59]] == [
            struct.pack("<Q", index.lookup(key)) for key in range(1, 60)
        ]
        assert [done.message for done in completions[59:]] == [answer for _, answer in sums]


@pytest.mark.parametrize("lie", LIES)
def test_look_ups_of_a_card_that_lies_fail_and_others_go_on(lie):
    with device(LIES[lie], PacketTarget.KVS) as opened:
        message, answer = sum_of(16)
        asked = [(kvs.NAME, struct.pack("<Q", key)) for key in (1, 2, 3)]
        completions = outcomes(opened, [*asked, (reduce.NAME, message)])
        assert [(done.status, done.message) for done in completions] == [(Status.FAILED, b"")] * 3 + [
            (Status.OK, answer)
        ]


@pytest.mark.parametrize("count", [16, 700])
@pytest.mark.parametrize("lie", LIES)
def test_sums_of_a_card_that_lies_fail_whole_and_others_go_on(lie, count):
    with device(LIES[lie], PacketTarget.REDUCE) as opened:
        completions = outcomes(opened, [(reduce.NAME, sum_of(count)[0]), (kvs.NAME, bytes(8))])
        assert [(done.status, done.message) for done in completions] == [(Status.FAILED, b""), (Status.OK, bytes(8))]


@pytest.mark.full
def test_codes_and_values_of_rows_are_the_models_however_many_datagrams_they_take():
    shapes = [(0, 7), (1, 1), (1, 344), (2, 344), (3, 43), (4, 44), (5, 45), (100, 8), (33, 9), (700, 64)]
    cases = [rows_of(*shape, bits, seed) for seed, shape in enumerate(shapes) for bits in (1, 2, 4, 8)]
    asked = [request for pair in cases for request in zip((sylvie.QUANTISE, sylvie.DEQUANTISE), pair, strict=True)]
    with device(quantpack=True) as opened:
        assert {sylvie.QUANTISE, sylvie.DEQUANTISE} < set(opened.functions)
        completions = outcomes(opened, asked)
        assert {done.status for done in completions} == {Status.OK}
        for (message, back), codes, values in zip(cases, completions[::2], completions[1::2], strict=True):
            assert codes.message == sylvie.quantise(message)
            assert values.message == sylvie.dequantise(back)


def test_rows_that_do_not_fit_a_datagram_are_refused_and_faults_keep_their_status():
    message, back = rows_of(2, 40)
    with device(quantpack=True) as opened:
        odd = sylvie.quantise_request(np.full((300, 40), np.nan, np.float32), np.arange(300), 4, 1)
        asked = {
            Status.BAD_LENGTH: [
                (sylvie.QUANTISE, each) for each in (message[:-1], message + b"x", b"", b"\3" + message[1:])
            ] + [(sylvie.DEQUANTISE, each) for each in (back[:-1], back + b"x", b"", back[:1] + b"\1" + back[2:])],
            Status.OUT_OF_BOUNDS: [
                (function, request)
                for columns in (353, COLUMNS, COLUMNS + 1)
                for function, request in zip((sylvie.QUANTISE, sylvie.DEQUANTISE), rows_of(1, columns), strict=True)
            ] + [(sylvie.QUANTISE, rows_of(1, 345)[0])],
            Status.FAILED: [(sylvie.QUANTISE, odd)],
            Status.OK: [(sylvie.QUANTISE, message), (sylvie.DEQUANTISE, rows_of(1, 352)[1])],
        }  # fmt: skip
        for status, requests in asked.items():
            assert {(done.status, bool(done.message)) for done in outcomes(opened, requests)} == {
                (status, status == Status.OK)
            }


def test_a_card_without_quantpack_does_not_offer_it():
    with device() as opened:
        assert sylvie.QUANTISE not in opened.functions
        assert outcomes(opened, [(sylvie.QUANTISE, rows_of(1, 8)[0])])[0].status is Status.UNKNOWN_FUNCTION


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("lie", LIES)
def test_rows_of_a_card_that_lies_fail_whole_and_others_go_on(lie, place):
    target = (PacketTarget.QUANTISE, PacketTarget.DEQUANTISE)[place]
    function = (sylvie.QUANTISE, sylvie.DEQUANTISE)[place]
    with device(LIES[lie], target, quantpack=True) as opened:
        message, answer = sum_of(16)
        for rows in (3, 300):
            completions = outcomes(opened, [(function, rows_of(rows, 20)[place]), (reduce.NAME, message)])
            assert [(done.status, done.message) for done in completions] == [(Status.FAILED, b""), (Status.OK, answer)]


def test_what_an_engine_refuses_keeps_its_status():
    with device(lambda _: completed(b"", 0, Status.BAD_LENGTH), PacketTarget.REDUCE) as opened:
        assert outcomes(opened, [(reduce.NAME, sum_of(700)[0])])[0].status is Status.BAD_LENGTH


def test_a_card_that_garbles_its_control_port_is_gone_and_nobody_waits():
    garbles = False
    honest = HonestEngines(LINES)

    def engines(target, packet):
        set_register = target == PacketTarget.CONTROL and packet[0] == ControlRequest.SET
        return b"garbage" if garbles and set_register else honest(target, packet)

    with CardOnLoopback(ModelCard(8, engines, LINES)) as card:
        opened = open_device(f"fpga:udp={card.at},timeout_s={SECONDS}")
        outcomes(opened, [(kvs.NAME, bytes(8))])  # its table is written
        garbles = True
        opened.reset()
        with pytest.raises(OfframpError, match="is gone"):
            submit_again_and_again(opened)
        opened.close()


def test_requests_are_lost_and_nobody_waits_where_the_reader_fails(monkeypatch):
    """Whatever ends the thread that reads, the device says that the card is gone."""
    with device() as opened:
        outcomes(opened, [(kvs.NAME, bytes(8))])

        def broken(self):
            raise RuntimeError("a fault of ours")

        monkeypatch.setattr(UdpLink, "_receive", broken)
        assert outcomes(opened, [(kvs.NAME, bytes(8))])[0].status is Status.LOST
        with pytest.raises(OfframpError, match="is gone"):
            opened.submit(kvs.NAME, 1, bytes(8))


def test_sums_that_wait_for_the_window_do_not_hold_a_look_up_back():
    goes_on, honest = threading.Event(), HonestEngines(LINES)

    def engines(target, packet):
        assert target == PacketTarget.CONTROL or goes_on.wait(SECONDS)
        return honest(target, packet)

    with CardOnLoopback(ModelCard(8, engines, LINES)) as card:
        opened = open_device(f"fpga:udp={card.at},timeout_s={SECONDS}")
        for number in range(100):
            assert opened.submit(reduce.NAME, number, sum_of(1)[0])
        assert opened.submit(kvs.NAME, 100, bytes(8))
        goes_on.set()
        completions, until = [], time.monotonic() + SECONDS
        while len(completions) <= 100:
            assert time.monotonic() < until
            completions += [done.request for done in opened.poll()]
            time.sleep(0.001)
        opened.close()
    assert completions.index(100) <= 2 * 8


@pytest.mark.parametrize("lines", [0, 3, 0xFFFFFFFF])
def test_a_table_of_no_power_of_two_is_refused(lines):
    refused = pytest.raises(OfframpError, match=f"a table of {lines} lines: expected a power of two")
    with CardOnLoopback(ModelCard(8, HonestEngines(), lines)) as card, refused:
        open_device(f"fpga:udp={card.at}")
