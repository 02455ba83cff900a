# SPDX-License-Identifier: Apache-2.0
"""Tests that need a GPU: ``pytest -m gpu``; one is enough, which ranks share."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.gpu)
            item.add_marker(pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))
