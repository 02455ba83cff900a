# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from offramp.graph.load import load
from offramp_base.errors import OfframpError


@pytest.mark.parametrize("spec", ["digit", "graph.json", "folder/", ""])
def test_unknown_graphs_say_what_is_expected(spec):
    with pytest.raises(OfframpError, match=r"no such graph; expected digits, .* FILE\.npz") as error:
        load(spec)
    assert "\n" not in str(error.value)
