# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from switch_targets import Target, make_target, target_pool

__all__ = ["make_target", "target_pool"]

PROGRAM = Path(__file__).with_name("conformance.p4")


@pytest.fixture
def target(make_target) -> Target:
    """Each kind of switch with ``conformance.p4`` and ports 1 to 4."""
    return make_target(PROGRAM, ports=4)


@pytest.fixture
def session(target):
    return target.session()
