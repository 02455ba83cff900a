# SPDX-License-Identifier: Apache-2.0
"""``offramp token``: a secret that the machines of a job share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def token(
    path: Annotated[Path, typer.Argument(help="New file; nobody else may open it (mode 0600).")],
) -> None:
    """Make a token file. Listeners that other machines reach ask peers to prove that they have the same token.

    Copy it to every machine of the job by a way that you trust (scp) and name it there in the environment variable
    OFFRAMP_TOKEN_FILE.

    Example: offramp token job.token && scp job.token other: && export OFFRAMP_TOKEN_FILE=$PWD/job.token
    """
    from offramp_base.listening.token import FILE_VARIABLE, Token

    Token.random().write(path)
    typer.echo(f"{path}: a new token; name it in {FILE_VARIABLE} on every machine of the job")
