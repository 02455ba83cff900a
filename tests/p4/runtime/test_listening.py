# SPDX-License-Identifier: Apache-2.0
"""Addresses at which the P4Runtime server listens, and who may connect."""

from __future__ import annotations

import stat

import pytest

from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session
from offramp_p4.runtime.device import P4Device
from offramp_p4.runtime.server import Server
from offramp_p4.runtime.service import P4RuntimeService
from offramp_p4.settings import Settings
from offramp_p4.switch import Switch


def server(address, **options):
    return Server(P4RuntimeService(P4Device(0, Switch)), address, **options)


def test_the_default_is_loopback():
    assert Settings(program=None, ports={}).address == "127.0.0.1:9559"


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
def test_other_machines_need_certificates_or_a_word(address):
    with pytest.raises(OfframpError, match=r"other machines reach this address; it needs .*client certificates"):
        server(address)
    with server(address, insecure=True) as running:
        assert int(running.address.rpartition(":")[2])


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "x", "unix:", "127.0.0.1:99999", "unix:" + "a" * 200, "no.such.host.invalid:1"]
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(OfframpError, match="address"):
        server(address)


def test_a_unix_socket_is_this_user_s_alone(tmp_path):
    path = tmp_path / "p4runtime"
    with server(f"unix:{path}") as running:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with Session(running.address) as session:
            assert session.capabilities()


@pytest.mark.parametrize("size", [0, 100, 2 << 30])
def test_the_greatest_message_has_bounds(size):
    with pytest.raises(OfframpError, match="expected 1 KB to 1 GB"):
        server("127.0.0.1:0", max_message=size)
