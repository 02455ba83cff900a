# SPDX-License-Identifier: Apache-2.0
"""Pairs of paths that are comparable: both answer alike. What they gain is the bench's to say (``leo/gain``)."""

from __future__ import annotations

import pytest

from offramp.leo.applications import gains
from offramp.leo.applications.compare import running
from offramp.leo.devices import isal
from offramp.leo.devices.ipsec import IpsecState
from offramp.leo.selection import Policy
from offramp.nic.build import missing
from offramp_base.errors import OfframpError


def _agent() -> None:
    if lacking := missing():
        raise OfframpError(f"the agent needs {', '.join(lacking)}")


NEEDS = {"scrub": isal.library, "cmac": IpsecState, "compress": _agent}


@pytest.mark.full
@pytest.mark.parametrize("name", gains.PAIRS)
def test_two_paths_answer_alike(name):
    """Every answer is compared, over each path and both."""
    try:
        NEEDS.get(name.partition(",")[0], lambda: None)()
    except OfframpError as error:
        pytest.skip(str(error))
    with gains.application(name) as application, running(application) as run:
        assert application.paths == ("cc", "ca")
        outcome, _ = run(application.paths, {}, Policy.UNIFORM, 1, None, 0.3)
    assert outcome.wrong == 0
    assert (outcome.by_path > 0).all()


def test_a_pair_that_is_none():
    with pytest.raises(OfframpError, match="expected one of scrub"), gains.application("gold"):
        pass
