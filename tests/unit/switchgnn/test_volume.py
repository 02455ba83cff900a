# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from offramp.graph.boundary import Boundary
from offramp.graph.csr import symmetric_csr
from offramp.switchgnn.plan import make_plan
from offramp.switchgnn.volume import host_volume, plan_volume, unlimited_volume


def complete(parts, each):
    """Every vertex joined to every vertex of the other workers."""
    n = parts * each
    owner = np.repeat(np.arange(parts), each)
    u, v = np.nonzero(owner[:, np.newaxis] != owner)
    indptr, indices = symmetric_csr(n, u, v)
    return Boundary(SimpleNamespace(indptr=indptr, indices=indices), owner)


def test_fully_connected_workers_send_m_times_less_through_the_switch():
    """Paper section 2.3.2: E·M² against E·M, here with M-1 remote workers."""
    boundary = complete(4, 5)
    assert host_volume(boundary, 32).vectors == 4 * 5 * 3
    assert unlimited_volume(boundary, 32).vectors == 4 * 5
    assert plan_volume(make_plan(boundary, 1, 20 * 128), 32).vectors == 4 * 5


def test_bytes():
    boundary = complete(3, 16)
    host = host_volume(boundary, 40)
    # 6 pairs of workers, each a stream of 16 features of 160 bytes: 2560 bytes in 3 packets.
    assert (host.payload_bytes, host.packets, host.wire_bytes) == (6 * 2560, 18, 6 * 2560 + 18 * 82)
    switch = unlimited_volume(boundary, 40)  # two packets for a vertex, the second one filled with zeros
    assert (switch.payload_bytes, switch.packets, switch.wire_bytes) == (48 * 160, 96, 96 * 202)


def test_full_packets_cost_1106_bytes():
    host = host_volume(complete(2, 8), 256)
    assert host.wire_bytes == 16 * 1106


def test_little_memory_uploads_more_than_once():
    boundary = complete(4, 5)
    plan = make_plan(boundary, 1, 6 * 128)
    assert plan_volume(plan, 32).vectors == plan.uploads > boundary.B
