# SPDX-License-Identifier: Apache-2.0
"""Time stamps and the header of a response: the specification's golden values (sections 4 and 13)."""

from __future__ import annotations

import pytest

from leo_stamps import Stamps, overhead, pack_delay, unpack_delay
from offramp_base.errors import OfframpError


def test_golden_intra_host_time():
    stamps = Stamps(0, 300, 5000, 5900, 11000, 11250)
    assert stamps.intra == 1450
    assert stamps.remote_delay == 900
    assert stamps.end_to_end == 11250


def test_clocks_of_two_hosts_do_not_meet():
    stamps = Stamps(0, 300, 5000 + 10**12, 5900 + 10**12, 11000, 11250)
    assert stamps.intra == 1450


@pytest.mark.parametrize(
    ("delay", "header"),
    [
        (0, "00000000"),
        (900, "84030000"),
        (2**32 - 1, "ffffffff"),
        (2**32, "ffffffff"),
        (2**40, "ffffffff"),
        (-1, "00000000"),
    ],
)
def test_header_is_little_endian_and_saturates(delay, header):
    assert pack_delay(delay).hex() == header
    assert unpack_delay(pack_delay(delay) + b"value") == min(max(delay, 0), 2**32 - 1)


def test_response_without_a_header():
    with pytest.raises(OfframpError, match="response of 3 bytes: expected 4 of header"):
        unpack_delay(b"abc")


def test_overheads_of_the_thesis():
    assert overhead(64) == pytest.approx(4 / 68)
    assert f"{overhead(64):.3f}" == "0.059"
    assert f"{overhead(256_000):.1e}" == "1.6e-05"
