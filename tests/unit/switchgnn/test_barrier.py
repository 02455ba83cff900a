# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from offramp.switch_groups import SWITCHGNN
from offramp.switchgnn.barrier import group_replicas, host_rows


def test_a_host_for_each_worker() -> None:
    assert [(*key.values(), *param.values()) for key, param in host_rows([4, 9]).entries()] == [
        (0, 0, 4, 2, SWITCHGNN),
        (1, 1, 9, 2, SWITCHGNN),
    ]


def test_the_group_has_every_port_once() -> None:
    assert group_replicas([4, 9]) == [(4, 1), (9, 2)]
