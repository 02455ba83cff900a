# SPDX-License-Identifier: Apache-2.0
"""The option that names a transport, the same wherever links are opened."""

from __future__ import annotations

from typing import Annotated

import typer

Transport = Annotated[
    str,
    typer.Option(help="Opens links that are bare interfaces: auto (af_packet), af_packet or af_xdp."),
]
