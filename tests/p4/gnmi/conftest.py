# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gnmi_lab import Bench, Whole, whole


@pytest.fixture
def bench() -> Bench:
    """Three ports, without a wire."""
    return Bench()


@pytest.fixture
def switch(tmp_path: Path) -> Iterator[Whole]:
    """A switch with two ports that serves gNMI."""
    with whole(tmp_path) as running:
        yield running
