# SPDX-License-Identifier: Apache-2.0
"""Keys of LEO's store by way of a smartNIC's agent, while others write them by redis' protocol."""

from __future__ import annotations

from store_paths import check_device


def test_the_agent_is_never_behind_what_somebody_knows(agent) -> None:
    check = check_device(f"nic:{agent.path}", seconds=2.0)
    assert check.reads > 100
    assert check.by_copies > 0.3 * check.reads
