# SPDX-License-Identifier: Apache-2.0
"""``ipsec:``: authentication codes of many messages at once against RFC 4493's and OpenSSL's, one at a time."""

from __future__ import annotations

import random
import time

import pytest

from offramp.device import Status
from offramp.leo.devices import ipsec, open_device
from offramp.leo.functions.mac import MAC, cmac
from offramp_base.errors import OfframpError

KEY = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
CONTENT = bytes.fromhex(
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)
VECTORS = {
    0: "bb1d6929e95937287fa37d129b756746",
    16: "070a16b46b4d4144f79bdd9dd04a287c",
    40: "dfa66747de9ae63030ca32611497c827",
    64: "51f0bebf7e3b9d92fc49741779363cfe",
}
"""RFC 4493, section 4."""


def test_one_at_a_time_is_what_the_standard_says() -> None:
    for length, tag in VECTORS.items():
        assert cmac(KEY + CONTENT[:length]).hex() == tag
    with pytest.raises(OfframpError, match="expected a key of 16"):
        cmac(KEY[:15])


@pytest.fixture
def device():
    try:
        opened = open_device("ipsec:")
    except OfframpError as error:
        pytest.skip(str(error))
    yield opened
    opened.close()


def answers(device, messages, function=MAC):
    """The answers to all messages, in the order of the messages."""
    sent, answered, until = 0, {}, time.monotonic() + 30
    while len(answered) < len(messages):
        while sent < len(messages) and device.submit(function, sent, messages[sent]):
            sent += 1
        answered |= {done.request: (done.status, done.message) for done in device.poll()}
        assert time.monotonic() < until
    return [answered[number] for number in range(len(messages))]


def test_many_at_a_time_are_the_same(device) -> None:
    rng = random.Random(2)
    lengths = [*VECTORS, *range(1, 40), 65_519, 65_520, 65_521, 200_000, *(rng.randrange(70_000) for _ in range(300))]
    messages = [rng.randbytes(16 + length) for length in lengths]
    assert answers(device, messages) == [(Status.OK, cmac(message)) for message in messages]


def test_what_is_no_message_and_what_others_compute(device) -> None:
    assert answers(device, [b"", KEY[:15], KEY]) == [
        (Status.BAD_LENGTH, b""),
        (Status.BAD_LENGTH, b""),
        (Status.OK, bytes.fromhex(VECTORS[0])),
    ]
    assert answers(device, [b"abc"], "digest")[0][0] is Status.OK
    assert answers(device, [b"abc"], "gold")[0][0] is Status.UNKNOWN_FUNCTION


def test_a_reset_in_the_middle(device) -> None:
    messages = [bytes(60_000)] * 200
    for number, message in enumerate(messages):
        device.submit(MAC, number, message)
    device.reset()
    assert {done.status for done in device.poll()} <= {Status.OK, Status.ABORTED}
    assert answers(device, [KEY]) == [(Status.OK, bytes.fromhex(VECTORS[0]))]


def test_a_machine_without_the_library(monkeypatch) -> None:
    ipsec.library.cache_clear()
    monkeypatch.setattr(ipsec, "_NAME", "libnowhere.so.1")
    with pytest.raises(OfframpError, match="apt-get install libipsec-mb1"):
        open_device("ipsec:")
    ipsec.library.cache_clear()
