# SPDX-License-Identifier: Apache-2.0
"""``offramp switch doctor``: whether this machine has what the switch needs."""

from __future__ import annotations

from offramp_cli.check_table import show_checks


def doctor() -> None:
    """Check rights, interfaces, packages and reference tools; exit code 1 if something needed is missing."""
    from offramp_p4.doctor import checks

    show_checks(checks())
