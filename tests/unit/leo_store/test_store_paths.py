# SPDX-License-Identifier: Apache-2.0
"""Keys of the store over every path of LEO, while others write them by redis' protocol.

Blind to: how fast it is. The agent of a smartNIC is a path in ``tests/nic/test_store_paths.py``.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import pytest

from offramp.leo.applications.remote import open_responder
from offramp.leo.applications.store import COPIES, application
from offramp.leo.native.call import Arguments
from offramp.leo.native.copies import MOST_VALUE, read_copy
from offramp.leo.native.machine import machine
from offramp.leo.native.serve import ELSEWHERE
from offramp.leo.store.client import StoreClient
from offramp_base.errors import OfframpError
from offramp_base.listening import Token
from store_lab import a_store, a_token
from store_paths import Reader, check_against_writers, key_of, value_of

DEVICES = {
    "model": "model:service_us=2,table_bytes=4194304",
    "fpga": "fpga-model:",
    "cpu2": "cpu:1",
}


@pytest.fixture(scope="module", autouse=True)
def token() -> Iterator[Token]:
    """Token that every store, responder and client here has."""
    with a_token() as shared:
        yield shared


@pytest.fixture(scope="module")
def served(token):
    """A store, and a responder whose paths reach it."""
    with a_store(listen="127.0.0.1:0") as store:
        app = application({"cpu": f"store:{store.addresses['listen']}", **DEVICES})
        process = open_responder(app, "127.0.0.1:0", requesters=8, restarts=3, insecure=False)
        try:
            yield store, app, process
        finally:
            process.close()


@pytest.mark.full
@pytest.mark.parametrize("path", ["cpu", *DEVICES])
def test_no_path_is_ever_behind_what_somebody_knows(served, path) -> None:
    store, app, process = served
    with Reader(app, process.address, (path,)) as reader:
        check = check_against_writers(reader, store.addresses["listen"], seconds=1.0)
    assert check.reads > 100
    assert check.writes > 20
    assert check.by_copies > 0.3 * check.reads


@pytest.mark.full
def test_all_paths_together(served) -> None:
    store, app, process = served
    with Reader(app, process.address, app.paths) as reader:
        check = check_against_writers(reader, store.addresses["listen"], seconds=1.0)
    assert check.by_copies > 0.3 * check.reads
    assert {"cpu", "model"} <= set(check.paths)


def test_values_that_are_long_short_gone_or_end(served) -> None:
    store, app, process = served
    with (
        StoreClient(store.addresses["listen"], Token.from_environment()) as client,
        Reader(app, process.address, ("model",)) as reader,
    ):
        key = key_of(77)
        for value in (b"", b"x", b"y" * MOST_VALUE, b"z" * (MOST_VALUE + 1), b"a", None, b"b"):
            if value is None:
                client.delete([key])
            else:
                client.set({key: value})
            for _ in range(30):  # from the store, then from a copy where there can be one
                assert reader.read([77]) == [value]
                time.sleep(1e-3)
        client.set({key: b"ends"}, expiry_ms=150)
        assert reader.read([77]) == [b"ends"]
        time.sleep(0.2)
        assert reader.read([77]) == [None]


def test_writes_of_requesters_are_what_everybody_sees(served) -> None:
    store, app, process = served
    with (
        StoreClient(store.addresses["listen"], Token.from_environment()) as client,
        Reader(app, process.address, app.paths) as reader,
    ):
        for version in range(20):
            reader.write({key: value_of(version) for key in range(100, 110)})
            assert reader.read(list(range(100, 110))) == [value_of(version)] * 10
            assert client.get([key_of(key) for key in range(100, 110)]) == [value_of(version)] * 10


@pytest.mark.full
def test_a_responder_that_is_killed_and_a_store_that_is_away(tmp_path) -> None:
    with a_store(listen=f"unix:{tmp_path}/s", folder=tmp_path / "data") as store:
        address = store.addresses["listen"]
        app = application({"cpu": f"store:{address}", "model": DEVICES["model"]})
        process = open_responder(app, "127.0.0.1:0", requesters=4, restarts=9, insecure=False)
        try:
            with Reader(app, process.address, ("model",)) as reader:
                with StoreClient(address, Token.from_environment()) as client:
                    client.set({key_of(1): b"1"})
                    for _ in range(50):
                        assert reader.read([1]) == [b"1"]
                    process.signal(signal.SIGKILL)
                    client.set({key_of(1): b"2"})  # nobody guards it any more
                    while process.alive():
                        time.sleep(0.01)
                    while process.revive():
                        time.sleep(0.01)
                    for _ in range(50):
                        assert reader.read([1]) == [b"2"]
                store.kill()
                store.start()
                with StoreClient(address, Token.from_environment()) as client:
                    client.set({key_of(1): b"3"})
                    assert client.get([key_of(1)]) == [b"3"]
                until = time.monotonic() + 20
                while (value := reader.read([1])[0]) != b"3":
                    assert value is None  # the store was not reached again yet; never what it was
                    assert time.monotonic() < until
        finally:
            process.close()


@pytest.mark.full
def test_more_keys_than_copies_and_keys_that_come_later(served) -> None:
    store, app, process = served
    count = COPIES + 2000
    with (
        StoreClient(store.addresses["listen"], Token.from_environment()) as client,
        Reader(app, process.address, ("model",)) as reader,
    ):
        for start in range(0, count, 1000):
            client.set({key_of(1000 + key): value_of(key) for key in range(start, min(start + 1000, count))})
        for _ in range(2):
            for start in range(0, count, 250):
                keys = range(start, min(start + 250, count))
                assert reader.read([1000 + key for key in keys]) == [value_of(key) for key in keys]


@pytest.mark.parametrize("length", [-1, -(1 << 63), MOST_VALUE + 1, 1 << 62])
def test_a_place_that_is_no_copy_is_left_to_the_store(length) -> None:
    memory = np.zeros(64, np.int64)
    memory[3:6] = 7, length, 1  # at byte 24: key, length, there
    message, reply, words = np.array([24, 7], np.int64), np.zeros(16, np.int64), np.zeros(Arguments.WORDS, np.int64)
    fields = Arguments(words)
    fields.message, fields.message_bytes = message.ctypes.data, 16
    fields.reply, fields.reply_bytes = reply.ctypes.data, 1 << 40
    fields.host, fields.host_bytes = memory.ctypes.data, memory.nbytes
    assert machine(read_copy)["read_copy"](words) == ELSEWHERE


@pytest.mark.full
@pytest.mark.parametrize(
    ("devices", "line"),
    [
        ({"cpu": "cpu:1"}, "expected the store, as cpu=store:ADDRESS"),
        ({"cpu": "store:127.0.0.1:9", "model": DEVICES["model"]}, "127.0.0.1:9: Connection refused"),
    ],
)
def test_what_cannot_be_served(devices, line) -> None:
    with pytest.raises(OfframpError, match=line):
        open_responder(application(devices), "127.0.0.1:0", requesters=1, restarts=0, insecure=False)


@pytest.mark.full
def test_the_commands(tmp_path) -> None:
    offramp = [sys.executable, "-m", "offramp", "leo"]
    with a_store(listen="127.0.0.1:0") as store:
        device = ["--device", f"cpu=store:{store.addresses['listen']}", "--device", f"acc={DEVICES['model']}"]
        words = [*offramp, "serve", "store", "--listen", "127.0.0.1:0", *device]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            try:
                address = process.stdout.readline().split(" at ")[1].split()[0]
                more = ["--to", address, *device, "--requests", "20000", "--json", str(tmp_path / "n.json")]
                words = [*offramp, "connect", "store", *more]
                done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=120)
                assert done.returncode == 0, done.stderr
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(30)
        numbers = json.loads((tmp_path / "n.json").read_text())
        assert numbers["wrong"] == 0
        with StoreClient(store.addresses["listen"], Token.from_environment()) as client:
            assert client.get([b"\1" + bytes(7)]) != []
