# SPDX-License-Identifier: Apache-2.0
"""``offramp switch shell``: p4runtime-shell on a running switch."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from offramp_base import Field, SettingsError
from offramp_base.numerals import whole_number
from offramp_cli.command import command

REQUIREMENT = "p4runtime-shell==0.0.6"


@dataclass(frozen=True)
class ShellSettings:
    """The switch that the shell connects to, and how."""

    args: Annotated[tuple[str, ...], Field("Further arguments for p4runtime-shell", position=True)] = ()
    address: Annotated[str, Field("P4Runtime server: HOST:PORT or unix:PATH")] = "127.0.0.1:9559"
    device_id: Annotated[int, Field("P4Runtime device")] = 0
    election_id: Annotated[str, Field("HIGH,LOW; the highest controller is primary")] = "0,1"
    p4info: Annotated[Path | None, Field("P4Info of the pipeline to push, with --pipeline")] = None
    pipeline: Annotated[Path | None, Field("Pipeline to push: P4 source for this switch, JSON for bmv2")] = None
    grpc_ca: Annotated[str | None, Field("TLS: CA certificates that sign the server's, PEM")] = None
    grpc_cert: Annotated[str | None, Field("TLS: certificate to show the server, PEM")] = None
    grpc_key: Annotated[str | None, Field("TLS: private key of that certificate, PEM")] = None
    environment: Annotated[
        Path | None,
        Field("Virtual environment of the shell; created at first use", shown_default="in the user's cache"),
    ] = None

    def __post_init__(self) -> None:
        if (self.p4info is None) != (self.pipeline is None):
            raise SettingsError("p4info", "goes with {pipeline}, and vice versa")
        high, comma, low = self.election_id.partition(",")
        if not comma or any(part is None for part in map(whole_number, (high, low))):
            raise SettingsError("election_id", "expected HIGH,LOW", self.election_id)


@command(ShellSettings, example="switch shell --address 127.0.0.1:9559", ignore_unknown_options=True)
def shell(settings: ShellSettings) -> None:
    """Open p4runtime-shell on a running switch; commands may come from standard input.

    The shell needs other packages than Offramp, so it has its own virtual environment.
    """
    from offramp_base import Session
    from offramp_base.p4rt.tls import Tls
    from offramp_base.tools import default_folder, ensure

    files = {"--cacert": settings.grpc_ca, "--cert": settings.grpc_cert, "--private-key": settings.grpc_key}
    tls_files = {flag: path for flag, path in files.items() if path is not None}
    address, pipeline = settings.address, settings.pipeline
    tls = Tls(settings.grpc_cert, settings.grpc_key, settings.grpc_ca) if tls_files else None
    probe = Session(address, device_id=settings.device_id, tls=tls)
    try:
        probe.capabilities()
        if pipeline is None:
            probe.pipeline()  # the shell needs a P4Info
    finally:
        probe.close()
    python = ensure(settings.environment or default_folder("p4runtime-shell"), REQUIREMENT)
    words = [str(python), "-I", "-m", "p4runtime_sh", "--grpc-addr", address, "--device-id", str(settings.device_id)]
    words += ["--election-id", settings.election_id]
    if pipeline is not None:
        words += ["--config", f"{settings.p4info},{pipeline}"]
    if tls_files:
        words += ["--ssl", *(word for pair in tls_files.items() for word in pair)]
    # IPython warns of an environment that is active but not its own, as the one of this command may be.
    surroundings = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    status = subprocess.run([*words, *settings.args], check=False, env=surroundings).returncode
    if status:
        raise typer.Exit(status)
