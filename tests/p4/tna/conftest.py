# SPDX-License-Identifier: Apache-2.0
"""Every test of TNA runs on both engines."""

from __future__ import annotations

import pytest

import tna_programs


@pytest.fixture(autouse=True)
def _engine(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tna_programs, "engine", engine)
