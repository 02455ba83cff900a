# SPDX-License-Identifier: Apache-2.0
"""These tests use the user's cache, where the library of ports stays from run to run."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def cache_home() -> None:
    """In place of the test run's own."""
