# SPDX-License-Identifier: Apache-2.0
"""``offramp switch language-server``: the server that editors start for P4 files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from offramp_base import OfframpError
from offramp_base.extras import needs
from offramp_cli.command import command

if TYPE_CHECKING:
    from offramp_p4.program_source import PreprocessorSettings


@command("offramp_p4.program_source:PreprocessorSettings", example="switch language-server -I include")
def language_server(preprocessor: PreprocessorSettings) -> None:
    """Serve the Language Server Protocol for P4 on standard input and output; editors start this."""
    try:
        from offramp_p4_tools import make_language_server
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        raise OfframpError(f"the language server {needs('pygls')}") from None

    make_language_server([Path(folder) for folder in preprocessor.include], preprocessor.defines).start_io()
