# SPDX-License-Identifier: Apache-2.0
"""LEO over RDMA verbs: its transport's suite on soft-RoCE, by reliable connections and by datagrams.

UCX may use verbs alone (``UCX_TLS``), and the card's own counters say that it did. Blind to real cards: ``rdma_rxe`` is
the kernel's software, here on one machine, so that packets take the way of its loopback.
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
