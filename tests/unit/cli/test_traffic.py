# SPDX-License-Identifier: Apache-2.0
"""The traffic manager's options of ``offramp switch run``."""

from __future__ import annotations

import pytest

from offramp_base.errors import OfframpError
from offramp_base.settings.units import parse_rate
from offramp_cli.switch.traffic import BUFFER_BYTES, config
from offramp_p4.settings import Settings
from offramp_p4.tm import QueueConfig


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("10mbit", 10**7),
        ("2.5gbit", 2_500_000_000),
        ("2.3Gbit/s", 2_300_000_000),
        ("64000", 64_000),
        ("1tbit", 10**12),
        ("1.001kbit", 1001),
    ],
)
def test_rates(text: str, rate: int) -> None:
    assert parse_rate(text, "--x") == rate


def test_without_options_there_is_no_traffic_manager() -> None:
    assert config() is None


def test_options_make_a_configuration_that_survives_the_way_to_a_child_process() -> None:
    made = config(
        priority_queues=4,
        port_rate=["1=10mbit", "1gbit"],
        queue_weight=["0=3"],
        queue_buffer="64KB",
        queue_packets=9,
        ecn_threshold="30KB",
        recirculation_rate="2gbit",
    )
    assert made is not None
    assert made.buffer_bytes == BUFFER_BYTES
    assert (made.ports[1].rate_bps, made.default.rate_bps, made.recirculation.rate_bps) == (10**7, 10**9, 2 * 10**9)
    assert made.default.queues == (QueueConfig(64_000, 9, 30_000, 3), *[QueueConfig(64_000, 9, 30_000)] * 3)
    settings = Settings(program=None, ports={3: "x"}, tm=made)
    assert Settings.from_json(settings.to_json()) == settings
    plain = Settings(program=None, ports={})
    assert Settings.from_json(plain.to_json()) == plain


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"port_rate": ["1=ten"]}, "--port-rate ten: expected a rate such as 10mbit, 2.5gbit or 64000"),
        ({"port_rate": ["0.1bit"]}, "--port-rate 0.1bit: expected a rate such as 10mbit, 2.5gbit or 64000"),
        ({"port_rate": ["x=1mbit"]}, "--port-rate x=1mbit: expected PORT=RATE or RATE"),
        ({"port_rate": ["511=1mbit"]}, "port 511: expected 0..510"),
        ({"queue_weight": ["3"]}, "--queue-weight 3: expected QUEUE=WEIGHT, such as 0=3"),
        ({"queue_weight": ["8=1"]}, "weight of queue 8: expected a queue of 0..7"),
        ({"queue_weight": ["1=0"]}, "queue weight is 0: expected 1 up"),
        ({"priority_queues": 9}, "--priority-queues 9: expected 1..8, the values of standard_metadata.priority"),
        ({"buffer": "much"}, "--buffer much: expected a size such as 4MB, 512KiB or 4096"),
        ({"buffer": "0"}, "buffer_bytes is 0: expected 1 up"),
        ({"queue_packets": 0}, "queue limit_packets is 0: expected 1 up"),
        ({"recirculation_rate": ""}, "--recirculation-rate : expected a rate such as 10mbit, 2.5gbit or 64000"),
    ],
)
def test_golden_errors(options: dict[str, object], message: str) -> None:
    with pytest.raises(OfframpError) as failure:
        config(**options)  # type: ignore[arg-type]
    assert str(failure.value) == message
