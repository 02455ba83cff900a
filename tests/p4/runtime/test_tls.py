# SPDX-License-Identifier: Apache-2.0
"""TLS and mutual TLS between our server and our client; the certificates are made by openssl for this test."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.session import Session
from offramp_base.p4rt.tls import Tls
from offramp_p4 import serve
from offramp_p4.settings import Settings


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    """A folder with two authorities, and of the first one a server's and a client's certificate."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not on PATH")
    folder = tmp_path_factory.mktemp("pem")
    for name in ("ca", "other"):
        openssl(
            folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj", f"/CN={name}",
        )  # fmt: skip
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for name, authority in (("server", "ca"), ("client", "ca"), ("stranger", "other")):
        openssl(
            folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}",
        )  # fmt: skip
        openssl(
            folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
            "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", f"{name}.pem",
        )  # fmt: skip
    return folder


def files(pem, name):
    return {"cert": str(pem / f"{name}.pem"), "key": str(pem / f"{name}.key")}


@pytest.fixture
def start():
    running = []

    def make(**settings):
        running.append(serve.build(Settings(program=None, ports={}, address="127.0.0.1:0", **settings)))
        return running[-1].address

    yield make
    for switch in running:
        switch.stop()
        switch.forward()


def refused(address, tls=None):
    with pytest.raises(OfframpError) as failure:
        Session(address, timeout_s=3, tls=tls).__enter__()
    return str(failure.value)


@pytest.mark.full
def test_tls(pem, start):
    address = start(grpc_cert=str(pem / "server.pem"), grpc_key=str(pem / "server.key"))
    with Session(address, tls=Tls(ca=str(pem / "ca.pem"))) as session:
        assert session.capabilities().startswith("1.")
    assert "does not answer" in refused(address)
    assert "certificate verify failed" in refused(address, Tls(ca=str(pem / "other.pem")))


@pytest.mark.full
def test_mutual_tls(pem, start):
    address = start(grpc_cert=str(pem / "server.pem"), grpc_key=str(pem / "server.key"), grpc_ca=str(pem / "ca.pem"))
    ca = str(pem / "ca.pem")
    with Session(address, tls=Tls(ca=ca, **files(pem, "client"))) as session:
        assert session.capabilities().startswith("1.")
    for tls in (Tls(ca=ca), Tls(ca=ca, **files(pem, "stranger"))):
        assert "does not answer" in refused(address, tls)


def test_a_name_that_is_not_in_the_address(pem, start, tmp_path):
    address = start(grpc_cert=str(pem / "server.pem"), grpc_key=str(pem / "server.key"))
    wrong = Tls(ca=str(pem / "ca.pem"), server_name="elsewhere")
    assert "does not answer" in refused(address, wrong)
    with Session(address, tls=Tls(ca=str(pem / "ca.pem"), server_name="localhost")) as session:
        session.capabilities()


RUN = "import typer; from offramp_cli.switch.run import run; app = typer.Typer(); app.command()(run); app()"


@pytest.mark.full
def test_the_options_of_switch_run(pem, tmp_path):
    table = tmp_path / "names.json"
    table.write_text('{"sdn_port_t": {"Ethernet0": 1}}')
    program = Path(__file__).with_name("features.p4")
    arguments = ["--grpc-cert", pem / "server.pem", "--grpc-key", pem / "server.key", "--grpc-ca", pem / "ca.pem"]
    command = [str(program), "--grpc-server-addr", "127.0.0.1:0", "--translation", str(table), *map(str, arguments)]
    process = subprocess.Popen([sys.executable, "-c", RUN, *command], stdout=subprocess.PIPE, text=True)
    try:
        address = next(line.split()[1] for line in process.stdout if line.startswith("P4Runtime"))
        with Session(address, tls=Tls(ca=str(pem / "ca.pem"), **files(pem, "client"))) as session:
            entry = session.table_entry("named", {"std.ingress_port": 1, "vrf": 1}, priority=1).table_entry
            entry.action.action.action_id = session.index.actions["to_named"].preamble.id
            entry.action.action.params.add(param_id=1, value=b"Ethernet0")
            session.insert([v1.Entity(table_entry=entry)])
            assert session.read_table("named") == [entry]
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_golden_errors(pem, tmp_path):
    text = tmp_path / "text"
    text.write_text("no certificate")
    server, key = str(pem / "server.pem"), str(pem / "server.key")
    for tls, server_side, message in [
        (Tls(cert=server), True, "TLS: a certificate needs its private key, and the key its certificate"),
        (Tls(ca=server), True, "TLS: a server needs a certificate and its private key"),
        (Tls(ca=f"{tmp_path}/none"), False, f"{tmp_path}/none: No such file or directory"),
        (Tls(ca=str(text)), False, f"{text}: expected certificates in PEM"),
        (
            Tls(server, str(pem / "client.key")),
            True,
            f"{server}, {pem / 'client.key'}: expected a certificate in PEM and its private key, not encrypted",
        ),
        (
            Tls(str(text), key),
            False,
            f"{text}, {key}: expected a certificate in PEM and its private key, not encrypted",
        ),
    ]:
        with pytest.raises(OfframpError) as failure:
            tls.check(server=server_side)
        assert str(failure.value) == message
