# SPDX-License-Identifier: Apache-2.0
"""LEO and Hermod over RDMA verbs on soft-RoCE: LEO's transport by UCX, Hermod's queue pairs by libibverbs.

UCX may use verbs alone (``UCX_TLS``), and the card's own counters say that it did. Blind to real cards: ``rdma_rxe`` is
the kernel's software, here on one machine; LEO's packets take the way of its loopback.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import guest


@pytest.mark.parametrize("tls", ["rc", "ud"])
def test_the_transport_passes_its_suite(tmp_path: Path, tls: str) -> None:
    # What the other transports compile, too, is there when UCX connects, which has ten seconds.
    tests = ["tests/unit/leo/test_transports.py", "-k", "tcp or ucx"]
    run = guest.suite(tmp_path, *tests, before=["ci/guest/with-rxe", tls])
    run.require(least=9)
    assert sum("ucx" in name for name in run.passed) == 5
    # Four conversations, the first of 800 messages each way.
    assert run.counters["sent_pkts"] > 1000
    assert run.counters["rcvd_pkts"] > 1000


def test_hermods_classes_over_queue_pairs(tmp_path: Path) -> None:
    tests = ["tests/unit/hermod/endhost/test_roce.py", "--timeout", "3000"]
    run = guest.suite(tmp_path, *tests, before=["ci/guest/with-two-rxe"])
    run.require(least=6)
    assert run.counters["sent_pkts"] > 3000
    assert run.counters["rcvd_pkts"] > 200
