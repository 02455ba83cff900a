# SPDX-License-Identifier: Apache-2.0
"""The links that ranks open: one name and one transport for all of them, since one file tells it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from offramp.cluster.model import Cluster
from offramp.job.network import check_links, link_on_interface
from offramp_base.errors import OfframpError


def test_a_host_opens_what_its_switch_takes(racks: Cluster) -> None:
    bundles = replace(racks, switches=tuple(replace(each, transport="bundle") for each in racks.switches))
    assert {link_on_interface(racks, host).partition(":")[0] for host in racks.hosts} == {"af_packet"}
    assert {link_on_interface(bundles, host).partition(":")[0] for host in bundles.hosts} == {"bundle"}
    check_links(bundles, bundles.hosts)


def test_switches_of_several_transports_are_named(racks: Cluster) -> None:
    """A switch that knows no bundles would drop them without a word."""
    first, *others = racks.switches
    mixed = replace(racks, switches=(replace(first, transport="bundle"), *others))
    with pytest.raises(OfframpError, match=r"expected switches of one transport: h1 bundle:\S+, .*af_packet:"):
        check_links(mixed, mixed.hosts)
