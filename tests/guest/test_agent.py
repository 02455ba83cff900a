# SPDX-License-Identifier: Apache-2.0
"""The smartNIC's agent on DPDK's poll-mode drivers of PCI cards, behind an IOMMU, in huge pages: its suites on links.

Blind to real cards: both kinds are QEMU's. SwitchGNN's exchanges have one worker on each kind, and the P4 switch at the
other ends by the kernel's drivers; coflows have the agents at both ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import guest
from nic_agent import built

CARDS = {"virtio": ["0000:00:10.0", "0000:00:11.0"], "e1000": ["0000:00:12.0", "0000:00:13.0"]}
FAR = {"virtio": "eth1", "e1000": "eth3"}


def on(out: Path, bound: Sequence[str], links: Sequence[tuple[str, str]], *tests: str) -> guest.Suite:
    """Tests of the agent on links between cards that vfio-pci has and their other ends."""
    built()  # here: in the guest it would take long
    env = {
        "OFFRAMP_NIC_LINKS": " ".join("=".join(link) for link in links),
        "OFFRAMP_NIC_ARGUMENTS": "--huge --memory 128",
    }
    run = guest.suite(out, *tests, before=["ci/guest/with-vfio", " ".join(bound)], env=env)
    for card in bound:
        assert f"{card} vfio-pci, IOMMU group" in run.output
    return run


@pytest.mark.parametrize("kind", CARDS)
def test_coflows_between_two_cards(tmp_path: Path, kind: str) -> None:
    near, far = CARDS[kind]
    tests = "tests/nic/test_coflows.py", "-k", "between_two_agents"
    on(tmp_path, CARDS[kind], [(near, far)], *tests).require(least=2)


def test_switchgnn_through_both_kinds(tmp_path: Path) -> None:
    near = [CARDS[kind][0] for kind in CARDS]
    links = [(CARDS[kind][0], FAR[kind]) for kind in CARDS]
    tests = "tests/nic/test_exchange.py", "-k", "counts_are_those or loss_and_duplicates or killed_and_comes_back"
    on(tmp_path, near, links, *tests).require(least=3)
