# SPDX-License-Identifier: Apache-2.0
"""``offramp token``: a secret that the machines of a job share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from offramp_base import Field
from offramp_cli.command import command


@dataclass(frozen=True)
class TokenSettings:
    """The file for the token."""

    path: Annotated[Path, Field("New file, which only its owner may read (mode 0600)", position=True)]


@command(
    TokenSettings,
    example="token job.token && scp job.token other: && export OFFRAMP_TOKEN_FILE=$PWD/job.token",
)
def token(settings: TokenSettings) -> None:
    """Make a token file. Listeners that other machines can reach ask peers to prove that they have the same token.

    Copy it to every machine of the job over a channel that you trust (scp), and set the environment variable
    OFFRAMP_TOKEN_FILE to its path there.
    """
    from offramp_base.listening.token import FILE_VARIABLE, Token

    Token.random().write(settings.path)
    typer.echo(f"{settings.path}: a new token; name it in {FILE_VARIABLE} on every machine of the job")
