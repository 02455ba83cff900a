# SPDX-License-Identifier: Apache-2.0
"""``offramp switch shell``: p4runtime-shell on a running switch."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated

import typer

from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number

REQUIREMENT = "p4runtime-shell==0.0.6"
CONTEXT = {"ignore_unknown_options": True, "help_option_names": ["-h", "--help"]}


def shell(
    args: Annotated[
        list[str] | None, typer.Argument(help="Further arguments for p4runtime-shell.", show_default=False)
    ] = None,
    address: Annotated[str, typer.Option(help="P4Runtime server: HOST:PORT or unix:PATH.")] = "127.0.0.1:9559",
    device_id: Annotated[int, typer.Option(help="P4Runtime device.")] = 0,
    election_id: Annotated[str, typer.Option(help="HIGH,LOW; the highest controller is primary.")] = "0,1",
    p4info: Annotated[
        Path | None, typer.Option(help="P4Info of the pipeline to push, with --pipeline.", show_default=False)
    ] = None,
    pipeline: Annotated[
        Path | None,
        typer.Option(help="Pipeline to push: P4 source for this switch, JSON for bmv2.", show_default=False),
    ] = None,
    grpc_ca: Annotated[
        Path | None, typer.Option(help="TLS: certificates that sign the server's, PEM.", show_default=False)
    ] = None,
    grpc_cert: Annotated[
        Path | None, typer.Option(help="TLS: certificate to show the server, PEM.", show_default=False)
    ] = None,
    grpc_key: Annotated[Path | None, typer.Option(help="TLS: its private key, PEM.", show_default=False)] = None,
    environment: Annotated[
        Path | None,
        typer.Option(help="Virtual environment of the shell; made at first use.  [default: in the user's cache]"),
    ] = None,
) -> None:
    """Open p4runtime-shell on a running switch; commands may come from standard input.

    The shell needs other packages than Offramp, so it lives in a virtual environment of its own.
    """
    from offramp_base.p4rt.session import Session
    from offramp_base.p4rt.tls import Tls
    from offramp_base.tools import default_folder, ensure

    if (p4info is None) != (pipeline is None):
        raise OfframpError("switch shell: --p4info and --pipeline go together")
    high, comma, low = election_id.partition(",")
    if not comma or any(part is None for part in map(whole_number, (high, low))):
        raise OfframpError(f"--election-id {election_id}: expected HIGH,LOW")
    files = {"--cacert": grpc_ca, "--cert": grpc_cert, "--private-key": grpc_key}
    given = {flag: str(path) for flag, path in files.items() if path is not None}
    tls = Tls(given.get("--cert"), given.get("--private-key"), given.get("--cacert")) if given else None
    probe = Session(address, device_id=device_id, tls=tls)
    try:
        probe.capabilities()
        if pipeline is None:
            probe.pipeline()  # the shell needs a P4Info
    finally:
        probe.close()
    python = ensure(environment or default_folder("p4runtime-shell"), REQUIREMENT)
    command = [str(python), "-I", "-m", "p4runtime_sh", "--grpc-addr", address, "--device-id", str(device_id)]
    command += ["--election-id", election_id]
    if p4info is not None:
        command += ["--config", f"{p4info},{pipeline}"]
    if given:
        command += ["--ssl", *(word for pair in given.items() for word in pair)]
    status = subprocess.run([*command, *(args or [])], check=False).returncode
    if status:
        raise typer.Exit(status)
