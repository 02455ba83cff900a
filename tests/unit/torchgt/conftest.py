# SPDX-License-Identifier: Apache-2.0
"""Runs small enough for many of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from offramp.torchgt.settings import TorchGtSettings
from one_thread import one_compute_thread

__all__ = ["one_compute_thread", "settings"]


@pytest.fixture
def settings() -> Callable[..., TorchGtSettings]:
    def make(**changes: Any) -> TorchGtSettings:
        small = {"graph": "sbm:n=61,k=3,degree=6,features=5", "hidden": 16, "heads": 4, "layers": 2, "epochs": 2}
        return TorchGtSettings(**{**small, "dtype": "float64", "clusters": 3, "block": 4, **changes})

    return make
