# SPDX-License-Identifier: Apache-2.0
"""Origin of a report: version, commit and date."""

from __future__ import annotations

from datetime import UTC, datetime

from offramp_base import __version__
from offramp_base.commit import commit


def origin() -> str:
    """``Offramp 0.1.0, commit 0123abcd4567, 2026-01-31``; without the commit if it is unknown."""
    known = commit()
    parts = [f"Offramp {__version__}", *([f"commit {known}"] if known else []), datetime.now(UTC).date().isoformat()]
    return ", ".join(parts)
