# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from offramp.nic.link import parse_nic_link
from offramp_base.errors import OfframpError


@pytest.mark.parametrize(
    ("link", "path", "port"),
    [("nic:/run/a.sock#0", "/run/a.sock", 0), ("nic:a#b#12", "a#b", 12), ("nic:nic:#3", "nic:", 3)],
)
def test_a_link_names_a_socket_and_a_port(link: str, path: str, port: int) -> None:
    assert parse_nic_link(link) == (path, port)


@pytest.mark.parametrize("link", ["/run/a.sock#0", "nic:/run/a.sock", "nic:#0", "nic:a#", "nic:a#x", "nic:a#-1", ""])
def test_other_texts_are_refused_whole(link: str) -> None:
    with pytest.raises(OfframpError) as refused:
        parse_nic_link(link)
    assert str(refused.value) == f"link {link!r}: expected nic:SOCKET#PORT, a port of the agent counted from 0"
