# SPDX-License-Identifier: Apache-2.0
"""All tests here boot the guest: minutes each where the processor is emulated."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them, and give them the time that emulation takes."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.guest)
            item.add_marker(pytest.mark.timeout(3600))
