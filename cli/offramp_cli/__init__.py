# SPDX-License-Identifier: Apache-2.0
"""The ``offramp`` command: one line and exit code 2 for every fault that a user can fix."""

from __future__ import annotations

import sys

from offramp_base import OfframpError
from offramp_base.ending.early_fork import allow_forks
from offramp_base.ending.supervisor import supervised
from offramp_base.system_tools import search_system_folders


def main() -> None:
    """Entry point of the ``offramp`` script."""
    search_system_folders()
    allow_forks()
    supervised(_run)


def _run() -> None:
    try:
        _command()
    except SystemExit as error:
        if "torch" in sys.modules:
            from offramp.workers.leave import leave_as_rank

            leave_as_rank(error.code)
        raise


def _command() -> None:
    from offramp_cli.kept_help import help_kept

    try:
        with help_kept(sys.argv) as kept:
            if not kept:
                from offramp_cli.app import app

                app()
    except OfframpError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    except ModuleNotFoundError as error:
        from offramp_base.extras import missing_extra

        lacking = missing_extra(error)
        if lacking is None:
            raise
        sys.stderr.write(f"{lacking}\n")
        sys.exit(2)
    except BrokenPipeError:  # the reader of a pipe went away (``offramp … | head``)
        sys.stderr.close()
        sys.exit(141)
