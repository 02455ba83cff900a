# SPDX-License-Identifier: Apache-2.0
"""LEO's ``fpga`` device: requests through PYNQ's own drivers, or the stand-in of XRT's, into the RTL and back.

Slow: installs PYNQ once.
"""

import random
import time

import numpy as np
import pytest

from offramp.device import Status
from offramp.leo import dma
from offramp.leo.devices.fpga import FpgaDevice, FpgaOptions, open_device
from offramp.leo.devices.software import EBS_LAYOUT
from offramp.leo.functions import ebs, kvs, reduce, sylvie
from offramp.leo.memory import HostMemory
from offramp_base.errors import OfframpError
from offramp_sim.rtl.build import missing
from rtl.copies import carry_out

pytestmark = pytest.mark.rtl


@pytest.fixture(scope="module", params=["pynq", "xrt"])
def device(request):
    if lacking := missing("icarus"):
        pytest.skip(f"needs {lacking}")
    engines = "kvs_lookup+reduce+ebs_lookup+p2p_dma+quantpack"
    card = open_device(f"shell={request.param},table_bytes=4096,depth=70,copy_bytes=8192,engines={engines}", "card")
    yield card
    card.close()


def finish(device, wanted, seconds=200):
    completions, begun = {}, time.monotonic()
    while len(completions) < wanted and time.monotonic() - begun < seconds:
        completions |= {completion.request: completion for completion in device.poll()}
        time.sleep(0.005)
    assert len(completions) == wanted
    return completions


@pytest.mark.slow
def test_addresses_and_sums_through_pynq_and_rtl(device):
    index = kvs.KeyIndex(device.memory(kvs.NAME), 64)
    for key in range(1, 150):
        index.insert(key * key, key)
    for key in range(1, 60):
        assert device.submit(kvs.NAME, key, (key * key).to_bytes(8, "little"))
    values = np.random.default_rng(1).normal(size=(5, 300)).astype(np.float32)
    message = reduce.request(reduce.ElementType.FLOAT32, values)
    device.submit(reduce.NAME, 100, message)
    device.submit(reduce.NAME, 101, message[:-1])
    device.submit(kvs.NAME, 102, b"short")
    device.submit(kvs.NAME, 103, (3).to_bytes(8, "little"))
    device.submit("no such", 104, b"")
    completions = finish(device, 64)
    assert all(int.from_bytes(completions[key].message, "little") == key for key in range(1, 60))
    assert completions[100].message == reduce.answer(message)
    assert completions[100].busy_ns > 4 * 300 * 5 // 4
    assert completions[103].message == bytes(8)
    statuses = {number: completions[number].status for number in (101, 102, 104)}
    assert statuses == {101: Status.BAD_LENGTH, 102: Status.BAD_LENGTH, 104: Status.UNKNOWN_FUNCTION}


@pytest.mark.slow
def test_vectors_longer_than_the_engines_buffers_go_in_parts(device):
    values = np.arange(2 * 2500, dtype=np.int32).reshape(2, 2500)
    message = reduce.request(reduce.ElementType.INT32, values)
    device.submit(reduce.NAME, 1, message)
    assert finish(device, 1)[1].message == reduce.answer(message)


@pytest.mark.slow
def test_reads_of_volumes_are_the_models(device):
    memories = device.memory(ebs.NAME), HostMemory(ebs.TableLayout(*EBS_LAYOUT).size)
    card, model = (ebs.EbsTables(memory, ebs.TableLayout(*EBS_LAYOUT)) for memory in memories)
    for tables in (card, model):
        tables.add_volume(3, 1024, 1000, 1 << 17)
        tables.map(3, 1, 7, 5, 1 << 30)
    dice = random.Random(7)
    asked = [
        ebs.REQUEST.pack(dice.choice((3, 3, 3, 4, 99)), dice.choice((1, 8)), dice.randrange(1030), n) for n in range(50)
    ]
    for number, message in enumerate(asked):
        assert device.submit(ebs.NAME, number, message)
    completions = finish(device, 50)
    for number, message in enumerate(asked):
        assert (completions[number].status, completions[number].message) == (Status.OK, model.lookup(message)), number
    assert memories[0].read(0, memories[0].size) == bytes(memories[1].view)


@pytest.mark.slow
def test_copies_between_memories_are_the_models(device):
    memory, dice = device.memory(dma.NAME), random.Random(8)
    size = memory.size // 3
    models = [HostMemory(size) for _ in range(3)]
    content = dice.randbytes(memory.size)
    memory.write(0, content)
    for place, model in enumerate(models):
        model.write(0, content[place * size :][:size])
    expected = {}
    for number in range(30):
        places = dice.randrange(3), dice.choice((0, 1, 2, 2, 3))
        wanted = dma.Descriptor(
            dma.COPY, *places, 0, dice.randrange(3000), number, *(dice.randrange(6000) for _ in "ab")
        )
        expected[number] = carry_out(wanted, models)
        assert device.submit(dma.NAME, number, wanted.pack())
    completions = finish(device, 30)
    for number, completion in expected.items():
        status = Status(completion[0])
        assert completions[number].status is status
        assert completions[number].message == (completion if status is Status.OK else b"")
    assert {c.status for c in completions.values()} >= {Status.OK, Status.OUT_OF_BOUNDS}
    assert memory.read(0, memory.size) == b"".join(bytes(model.view) for model in models)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "columns", "bits"), [(9, 41, 4), (3, 70, 1), (0, 5, 2)])
def test_codes_and_values_of_rows_are_the_models(device, rows, columns, bits):
    random = np.random.default_rng(rows)
    x = random.normal(size=(rows, columns)).astype(np.float32)
    message = sylvie.quantise_request(x, random.integers(0, 1 << 40, rows), bits, 77, compact=rows == 3)
    codes = sylvie.quantise(message)
    back = sylvie.dequantise_request(codes, rows, columns, bits)
    device.submit(sylvie.QUANTISE, 1, message)
    device.submit(sylvie.DEQUANTISE, 2, back)
    device.submit(sylvie.QUANTISE, 3, message[:-1])
    completions = finish(device, 3)
    assert (completions[1].status, completions[1].message) == (Status.OK, codes)
    assert (completions[2].status, completions[2].message) == (Status.OK, sylvie.dequantise(back))
    assert completions[3].status is Status.BAD_LENGTH


@pytest.mark.slow
def test_rows_that_cannot_be_quantised_fail_and_others_go_on(device):
    x = np.ones((2, 40), np.float32)
    x[1, 7] = np.nan
    numbers = np.arange(2)
    device.submit(sylvie.QUANTISE, 1, sylvie.quantise_request(x, numbers, 4, 1))
    device.submit(sylvie.QUANTISE, 2, sylvie.quantise_request(x[:1], numbers[:1], 4, 1))
    device.submit(sylvie.QUANTISE, 3, sylvie.quantise_request(np.ones((1, 513), np.float32), numbers[:1], 4, 1))
    completions = finish(device, 3)
    assert [completions[number].status for number in (1, 2, 3)] == [Status.FAILED, Status.OK, Status.OUT_OF_BOUNDS]


@pytest.mark.slow
def test_a_full_queue_refuses_and_a_reset_aborts(device):
    accepted = sum(device.submit(kvs.NAME, 1000 + number, bytes(8)) for number in range(300))
    assert 70 <= accepted < 300
    device.reset()
    completions = finish(device, accepted)
    assert {completion.status for completion in completions.values()} <= {Status.OK, Status.ABORTED}
    device.submit(kvs.NAME, 1, (49).to_bytes(8, "little"))
    assert finish(device, 1)[1].message == (7).to_bytes(8, "little")


@pytest.mark.slow
def test_a_lost_card_completes_with_lost_and_comes_back_with_its_table(device):
    device._link._process.terminate()
    begun = time.monotonic()
    device_gone = False
    while not device_gone and time.monotonic() - begun < 60:
        try:
            device.submit(kvs.NAME, 5, (49).to_bytes(8, "little"))
        except OfframpError as error:
            device_gone = "is gone" in str(error)
        time.sleep(0.05)
    assert device_gone
    assert {completion.status for completion in device.poll()} <= {Status.OK, Status.LOST}
    device.reset()
    device.submit(kvs.NAME, 6, (49).to_bytes(8, "little"))
    assert finish(device, 1)[6].message == (7).to_bytes(8, "little")


def test_bad_options_are_named():
    with pytest.raises(OfframpError, match="expected HOST:PORT"):
        open_device("at=nowhere", "card")
    with pytest.raises(OfframpError, match="depth of at least 1"):
        FpgaDevice(FpgaOptions(depth=0))
    with pytest.raises(OfframpError, match=r"engines nothing: expected some of kvs_lookup"):
        FpgaDevice(FpgaOptions(engines="nothing"))
    with pytest.raises(OfframpError, match="no option width"):
        open_device("width=3", "card")
    with pytest.raises(OfframpError, match="fpga:localhost:1: "):
        open_device("at=localhost:1", "card")
