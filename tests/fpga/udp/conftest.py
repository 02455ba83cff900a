# SPDX-License-Identifier: Apache-2.0
"""The card and hosts on one Ethernet."""

import pytest

from namespaces import Namespace, require
from tapped_card import TappedCard

HOSTS = 3


@pytest.fixture
def lan(tmp_path, fast):
    """A bridge that joins the card and three hosts, ``r0`` to ``r2``; its own address is the control plane's.

    Gives the namespace, and what starts the card: over a wire as bad as it is told, with these parameters.
    """
    require()
    with Namespace() as space:
        space.run("ip", "link", "add", "lan", "type", "bridge")
        for rank in range(HOSTS):
            space.veth(f"r{rank}", f"r{rank}-in")
            space.run("ip", "link", "set", f"r{rank}-in", "master", "lan")
        cards = []

        def make(bad=0.0, **parameters):
            cards.append(TappedCard(space, tmp_path, fast, bad, "lan", **parameters))
            return cards[0]

        try:
            yield space, make
        finally:
            for each in cards:
                each.close()
