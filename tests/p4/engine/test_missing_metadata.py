# SPDX-License-Identifier: Apache-2.0
"""Programs that declare the architecture themselves, as the output of a preprocessor does, and leave something out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from offramp_p4.frontend import load, load_text
from offramp_p4.native.switch import NativeSwitch
from offramp_p4.source import Unsupported
from offramp_p4.switch import Switch

PROGRAM = Path(__file__).parents[3] / "p4" / "examples" / "reflector.p4"


@pytest.mark.p4
@pytest.mark.parametrize("engine", [Switch, NativeSwitch])
@pytest.mark.parametrize("field", ["checksum_error", "enq_timestamp", "egress_rid", "mcast_grp", "priority"])
def test_a_field_that_is_not_there_is_named(engine: type, field: str) -> None:
    whole = load(PROGRAM).source
    text, found = re.subn(rf"^.*\b{field}\s*;.*$", "", whole, flags=re.MULTILINE)
    assert found == 1
    with pytest.raises(Unsupported, match=f"not supported: standard_metadata_t without the field {field}"):
        engine(load_text(text, "pushed.p4"))
