# SPDX-License-Identifier: Apache-2.0
"""The list of laboratories beside processes that remove their temporary folders meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from offramp_base.ending.owner import PREFIX
from offramp_sim.lab.state import running

if TYPE_CHECKING:
    import pytest


def test_a_folder_that_is_gone_since_it_was_listed_is_no_laboratory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "glob", lambda self, _: [self / f"{PREFIX}gone"])
    assert running() == []
