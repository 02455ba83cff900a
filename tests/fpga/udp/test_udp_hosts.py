# SPDX-License-Identifier: Apache-2.0
"""The host's own sockets and LEO's device against the card at its RGMII pins, through a TAP device in a namespace.

Two tests drive the pins with cocotbext-eth, the others with a program of our own that is fast enough for many requests.

Blind spot: the machine's network stack is faster than simulated time, so nothing here is a rate.
"""

import json
import random
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from offramp_pynq.registers import KVS_LOOKUP_REGS, KVS_LOOKUP_REGS_VERSION

from namespaces import Namespace, require
from offramp.device import Status
from offramp.fpga.card import CardEngine, CardRegisters, with_card
from offramp.leo.devices import open_device
from offramp.leo.devices.software import EBS_LAYOUT
from offramp.leo.functions import ebs, kvs, sylvie
from offramp.leo.memory import HostMemory
from tapped_card import TappedCard

pytestmark = [pytest.mark.rtl, pytest.mark.netns]
pytest.importorskip("cocotbext.eth")
HERE = Path(__file__).parent


@pytest.fixture
def card(tmp_path):
    require()
    with Namespace() as space:
        cards = []

        def make(simulator, **options):
            cards.append(TappedCard(space, tmp_path, simulator, **options))
            return cards[0]

        try:
            yield make
        finally:
            for each in cards:
                each.close()


def drive(card, requests):
    return json.loads(card.host(sys.executable, str(HERE / "drive_card.py"), str(requests), "1", timeout=3000))


def check_over_a_bad_wire(running, requests):
    """Every answer is right, and each request is carried out once."""
    outcome = drive(running, requests)
    wire = running.finish()
    assert outcome["wrong"] == 0, outcome
    assert outcome["requests"] == wire["executed"] >= requests
    assert wire["lost"]
    assert wire["twice"]
    assert wire["overtaken"]
    assert outcome["resent"] >= wire["lost"] / 2 - 5  # some are ARP's, and one answer's loss may follow another's
    # The question for the counters is doubled like others, and overtakes what is on its way: eight at most.
    assert 0 <= wire["duplicate"] - outcome["counters"]["DUPLICATE"] <= 16


def test_requests_over_a_bad_wire_are_carried_out_once(card, fast):
    """Loss, duplicates and overtaking of five percent each, both ways."""
    check_over_a_bad_wire(card(fast, bad=0.05), 400)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_100_000_requests_over_a_bad_wire(card, fast):
    check_over_a_bad_wire(card(fast, bad=0.03), 100_000)


def test_a_card_is_given_back_over_a_bad_wire(card, fast):
    """Otherwise it would serve nobody else for five seconds, which take five minutes here."""
    running = card(fast, bad=0.1)
    hold = partial(CardRegisters, "192.168.1.50", CardEngine.KVS_LOOKUP, KVS_LOOKUP_REGS_VERSION, 8.0)

    def read_a_register():
        return with_card("card", hold, lambda registers: registers.read(KVS_LOOKUP_REGS["MASK"]), 20.0)

    for _ in range(20):
        assert running.space.call(read_a_register) == 0
    assert running.finish()["lost"] > 20


_PING = """
import socket, struct, sys
from rtl.ethernet import checksum
with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as line:
    line.settimeout(60)
    for number in range(3):
        content = struct.pack(">HH", 77, number) + bytes(range(200)) * 2
        line.sendto(struct.pack(">BBH", 8, 0, checksum(bytes([8, 0, 0, 0]) + content)) + content, ("192.168.1.50", 0))
        found, (sender, _) = line.recvfrom(2048)
        assert sender == "192.168.1.50" and found[20:22] == bytes(2) and found[24:] == content, found
print("answered")
"""


def test_the_machines_own_stack_resolves_the_card_and_hears_its_echoes(card, simulator):
    running = card(simulator)
    assert running.host(sys.executable, "-c", _PING).strip() == "answered"
    assert "02:4f:c0:a8:01:32" in running.host("ip", "neighbour")


def leo_runs(application, running, tmp_path, *words):
    """A closed loop through the card, in which every value is checked; returns what the report says."""
    command = ["leo", "run", application, "--policy", "uniform", "--seconds", "0.5", "--rounds", "1", "--paths", "fpga"]
    command += ["--device", "fpga=fpga:udp=192.168.1.50,timeout_s=60", "--json", str(tmp_path / "numbers.json"), *words]
    running.host(sys.executable, "-c", "from offramp_cli import main; main()", *command)
    row = json.loads((tmp_path / "numbers.json").read_text())["rows"][0]
    assert (row["paths"], row["wrong"]) == (["fpga"], 0)
    assert sum(loop["by_path"]["fpga"] for loop in row["closed_loop"]) > 0


def test_leo_runs_the_store_through_the_card(card, simulator, tmp_path):
    """Every value is checked against what the store holds, whichever path found its address."""
    running = card(simulator)
    leo_runs("kvs", running, tmp_path, "--keys", "40")
    assert running.finish()["executed"] > 4  # the table and its mask, then look-ups


@pytest.mark.slow
def test_leo_runs_block_storage_through_the_card(card, fast, tmp_path):
    running = card(fast, EBS_LINES=1024)
    leo_runs("ebs", running, tmp_path)
    assert running.finish()["executed"] > 30  # requests with 576 lines of tables, then reads


@pytest.mark.slow
def test_reads_of_volumes_over_a_bad_wire_are_the_models(card, fast):
    """In the order of requests, since each leaves its volume's bucket changed; so are the tables in the end."""
    running = card(fast, bad=0.05, EBS_LINES=1024)
    layout = ebs.TableLayout(*EBS_LAYOUT)

    def look_up():
        device, model = open_device("fpga:udp=192.168.1.50,timeout_s=20"), HostMemory(layout.size)
        memory = device.memory(ebs.NAME)
        both_tables = [ebs.EbsTables(memory, layout), ebs.EbsTables(model, layout)]
        for tables in both_tables:
            tables.add_volume(3, 1024, 1000, 1 << 17)
            tables.map(3, 1, 7, 5, 1 << 30)
        for number in range(160):
            blocks, start = dice.choice((1, 8)), dice.randrange(1030)
            message = ebs.REQUEST.pack(dice.choice((3, 3, 3, 4, 99)), blocks, start, number)
            expected[number] = both_tables[1].lookup(message)
            while not device.submit(ebs.NAME, number, message):
                completions.extend(device.poll())
        while len(completions) < len(expected):
            completions.extend(device.poll())
            time.sleep(0.001)
        assert memory.read(0, layout.size) == bytes(model.view)
        device.close()

    dice, expected, completions = random.Random(7), {}, []
    running.space.call(look_up)
    assert {done.request: done.message for done in completions} == expected
    assert {done.status for done in completions} == {Status.OK}
    assert running.finish()["lost"] > 5


def rows_to_quantise(dice):
    """A request for codes, of one datagram or several, and one for the values that they mean."""
    rows, columns = dice.choice([(1, 344), (60, 9), (dice.randrange(12), dice.randrange(1, 120))])
    random, bits = np.random.default_rng(dice.getrandbits(32)), dice.choice(sylvie.BITS)
    x = (random.normal(size=(rows, columns)) * 10.0 ** random.integers(-30, 30, (rows, 1))).astype(np.float32)
    numbers = random.integers(0, 1 << 62, rows)
    message = sylvie.quantise_request(x, numbers, bits, dice.getrandbits(64), compact=dice.random() < 0.5)
    return message, sylvie.dequantise_request(sylvie.quantise(message), rows, columns, bits)


def check_rows_over_a_bad_wire(running, requests):
    """Among look-ups, every row is the model's to the bit, and each request is carried out once."""

    def quantise():
        device = open_device("fpga:udp=192.168.1.50,timeout_s=60")
        for number in range(requests):
            message, back = rows_to_quantise(dice)
            several = [(sylvie.QUANTISE, message, sylvie.quantise(message))]
            several += [(sylvie.DEQUANTISE, back, sylvie.dequantise(back)), (kvs.NAME, bytes(8), bytes(8))]
            for place, (function, request, wanted) in enumerate(several):
                expected[3 * number + place] = wanted
                while not device.submit(function, 3 * number + place, request):
                    completions.extend(device.poll())
        while len(completions) < len(expected):
            completions.extend(device.poll())
            time.sleep(0.001)
        session = device._link._session
        sent.extend((session.requests, session.resent))
        device.close()

    dice, expected, completions, sent = random.Random(8), {}, [], []
    running.space.call(quantise)
    assert {done.status for done in completions} == {Status.OK}
    assert {done.request: done.message for done in completions} == expected
    wire = running.finish()
    assert wire["executed"] == sent[0] > 2 * requests
    assert min(wire[each] for each in ("lost", "twice", "overtaken", "duplicate")) > 5
    assert sent[1] >= wire["lost"] / 2 - 5  # some are ARP's, and one answer's loss may follow another's


@pytest.mark.slow
def test_rows_over_a_bad_wire_are_the_models(card, fast):
    """Loss, duplicates and overtaking of five percent each, both ways."""
    check_rows_over_a_bad_wire(card(fast, bad=0.05, QUANTPACK_DEPTH=64), 60)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_2_000_requests_of_rows_beside_volumes_tables(card, fast):
    check_rows_over_a_bad_wire(card(fast, bad=0.05, QUANTPACK_DEPTH=64, EBS_LINES=1024), 2000)


def test_a_card_that_is_not_there_or_stops_answering_is_one_line(card, fast):
    require()
    running = card(fast)
    gone = [sys.executable, "-c", _GONE]
    said = running.host(*gone, "192.168.1.51").splitlines()
    assert said == ["device fpga:udp=192.168.1.51: no answer in 1 s"]
    said = running.host(*gone, "192.168.1.50", str(running.end)).splitlines()
    assert said == ["LOST", "device fpga is gone"]


_GONE = """
import sys, time
from pathlib import Path
from offramp.leo.devices import open_device
from offramp_base.errors import OfframpError
try:
    patience = "" if len(sys.argv) < 3 else ",timeout_s=20"
    device = open_device(f"fpga:udp={sys.argv[1]}{patience}")
    device.poll()
    while not device._link._session.idle:
        time.sleep(0.01)
    Path(sys.argv[2]).touch()
    device._link._timeout_s = 3
    time.sleep(3)
    device.submit("kvs.lookup", 1, bytes(8))
    found = []
    while not found:
        found = device.poll()
        time.sleep(0.01)
    print(found[0].status.name)
    while True:
        device.submit("kvs.lookup", 2, bytes(8))
except OfframpError as error:
    print(error)
"""
