# SPDX-License-Identifier: Apache-2.0
"""Every offload against its model: in the test program, and in the agent through socket and rings.

Blind to what a device of DPDK's other than zlib's and ISA-L's does.
"""

from __future__ import annotations

import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

from nic_agent import Vector, write_vectors
from nic_vectors import all_vectors
from offramp.device import Completion, Status
from offramp.leo.devices.nic import FUNCTIONS, NicDevice
from offramp.leo.functions import compress, ebs, kvs
from offramp.nic.process import AgentProcess
from offramp.nic.wire import NicFunction
from offramp_base.errors import OfframpError

pytestmark = pytest.mark.nic
NAMES = {number: name for name, number in FUNCTIONS.items()}


def call(device: NicDevice, function: str, message: bytes) -> Completion:
    assert device.submit(function, 7, message)
    device.wait(10)
    (done,) = device.poll()
    assert done.request == 7
    return done


def run_program(programs: Path, vectors: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([programs / "offramp-nic-vectors", vectors], capture_output=True, text=True, check=False)


def test_vectors_in_the_test_program(programs: Path, tmp_path: Path) -> None:
    write_vectors(tmp_path / "vectors", all_vectors(1))
    done = subprocess.run(
        [programs / "offramp-nic-vectors", tmp_path / "vectors"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_vector_is_seen(programs: Path, tmp_path: Path) -> None:
    (first, *_) = all_vectors(1)
    write_vectors(tmp_path / "vectors", [first._replace(answer=bytes(8)[:-1] + b"\1")])
    done = subprocess.run(
        [programs / "offramp-nic-vectors", tmp_path / "vectors"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == "vector 0: wrong\n"


@pytest.fixture
def device(agent: AgentProcess) -> NicDevice:
    nic = NicDevice(agent.path, kvs_buckets=16, ebs_layout=ebs.TableLayout(5, 40, 30), feature_shape=(30, 20))
    yield nic
    nic.close()


def run_vector(device: NicDevice, vector: Vector) -> None:
    name = NAMES[vector.function]
    if vector.table:
        device.memory(name).write(0, vector.table)
    done = call(device, name, vector.message)
    assert (done.status, done.message) == (vector.status, vector.answer)
    if vector.table:
        assert device.memory(name).read(0, len(vector.after)) == vector.after


def test_vectors_through_the_queue(device: NicDevice) -> None:
    for vector in all_vectors(2):
        if vector.status not in (Status.UNKNOWN_FUNCTION, Status.OUT_OF_BOUNDS):
            run_vector(device, vector)


def test_look_ups_need_tables(agent: AgentProcess) -> None:
    device = NicDevice(agent.path)
    assert call(device, kvs.NAME, bytes(8)).status is Status.OUT_OF_BOUNDS
    assert call(device, ebs.NAME, bytes(24)).status is Status.OUT_OF_BOUNDS
    with pytest.raises(OfframpError, match=r"kvs\.lookup has no tables here"):
        device.memory(kvs.NAME)
    device.close()


@pytest.mark.parametrize("name", ["zlib", "isal"])
def test_compression(programs: Path, name: str) -> None:
    rng = np.random.default_rng(3)
    with AgentProcess(program=programs / "offramp-nic-agent", compression=name) as agent:
        device = NicDevice(agent.path)
        for size in (0, 1, 100, 61440, 61441, 262144, 1 << 20):
            for alphabet in (1, 8, 256):
                data = rng.integers(0, alphabet, size, dtype=np.uint8).tobytes()
                packed = call(device, compress.COMPRESS, data)
                assert compress.decompress(packed.message) == data
                for level in (0, 1, 9):
                    back = call(device, compress.DECOMPRESS, zlib.compress(data, level))
                    assert (back.status, back.message) == (Status.OK, data)
        device.close()


@pytest.mark.parametrize("name", ["zlib", "isal"])
def test_what_does_not_decompress(programs: Path, name: str) -> None:
    data = np.random.default_rng(4).integers(0, 8, 70000, dtype=np.uint8).tobytes()
    packed = zlib.compress(data, 1)
    engine = zlib.compressobj(1)
    unfinished = engine.compress(data) + engine.flush(zlib.Z_FULL_FLUSH) + zlib.adler32(data).to_bytes(4, "big")
    dictionary = zlib.compressobj(1, zlib.DEFLATED, 15, 8, 0, b"01234567")
    with AgentProcess(program=programs / "offramp-nic-agent", compression=name) as agent:
        device = NicDevice(agent.path)
        bad = [b"", b"x\x9c", packed[:-1], packed + b"x", packed[:-4] + 2 * packed[-4:], unfinished, data]
        bad += [packed[:9] + bytes([packed[9] ^ 1]) + packed[10:], packed[:-1] + bytes([packed[-1] ^ 1])]
        bad += [dictionary.compress(data) + dictionary.flush(), zlib.compress(bytes(compress.MOST + 1))]
        for message in bad:
            with pytest.raises(OfframpError):
                compress.decompress(message)
            assert call(device, compress.DECOMPRESS, message).status is Status.FAILED
        most = call(device, compress.DECOMPRESS, zlib.compress(bytes(compress.MOST)))
        assert most.message == bytes(compress.MOST)
        device.close()


def test_functions_have_the_numbers_of_the_agent(agent: AgentProcess) -> None:
    device = NicDevice(agent.path)
    assert set(device.functions) == set(FUNCTIONS)
    assert device.submit("fly", 1, b"")
    assert device.poll() == [Completion(1, Status.UNKNOWN_FUNCTION, b"", 0)]
    assert device._client.submit(99, 5, b"", 8)
    (reply,) = device._client.wait(5)
    assert reply.status == Status.UNKNOWN_FUNCTION
    assert NicFunction.KVS_LOOKUP == 0
    device.close()
