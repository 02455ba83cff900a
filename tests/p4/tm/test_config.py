# SPDX-License-Identifier: Apache-2.0
"""What a traffic manager's configuration refuses, and what it makes of queues, weights and shares."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from offramp_base.errors import OfframpError
from offramp_p4.tm import PortConfig, QueueConfig, TmConfig

SHARES = (QueueConfig(least_percent=60), QueueConfig(least_percent=40))


@pytest.mark.each
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TmConfig(buffer_bytes=0), "buffer_bytes is 0: expected 1 up"),
        (lambda: PortConfig(rate_bps=0), "port rate_bps is 0: expected 1 up"),
        (lambda: PortConfig(queues=()), "port without queues: expected 1 up"),
        (lambda: QueueConfig(limit_bytes=0), "queue limit_bytes is 0"),
        (lambda: QueueConfig(limit_packets=0), "queue limit_packets is 0"),
        (lambda: QueueConfig(ecn_bytes=-1), "queue ecn_bytes is -1: expected 0 up"),
        (lambda: QueueConfig(weight=1, least_percent=1), "a weight and a guaranteed share"),
        (lambda: PortConfig(queues=(*SHARES, QueueConfig())), "guaranteed 100 %"),
        (lambda: TmConfig.uniform(queues=2, weights={2: 1}), r"weight of queue 2: expected a queue of 0\.\.1"),
        (lambda: TmConfig.uniform(queues=2, weights={-1: 1}), "weight of queue -1"),
        (lambda: TmConfig.uniform(queues=2, shares={2: 1}), "share of queue 2"),
        (lambda: TmConfig.uniform(queues=0), "queues is 0"),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        make()


def test_shares_below_the_whole_line_are_taken() -> None:
    free, most = QueueConfig(), QueueConfig(least_percent=99)
    assert PortConfig(queues=(free, most)).queues == (free, most)
    assert QueueConfig(ecn_bytes=0).ecn_bytes == 0


def test_uniform_ports_differ_in_their_rate() -> None:
    base = QueueConfig(limit_packets=9)
    config = TmConfig.uniform(
        queues=3,
        rate_bps=100,
        rates={4: 50},
        weights={0: 2},
        shares={2: 30},
        queue=base,
        buffer_bytes=7,
        recirculation_bps=11,
    )
    queues = (
        QueueConfig(limit_packets=9, weight=2),
        base,
        QueueConfig(limit_packets=9, least_percent=30),
    )
    assert config.default == PortConfig(100, queues)
    assert config.ports == {4: PortConfig(50, queues)}
    assert (config.buffer_bytes, config.recirculation.rate_bps) == (7, 11)
