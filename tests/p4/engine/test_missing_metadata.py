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

EXAMPLES = Path(__file__).parents[3] / "p4" / "examples"


def without(program: Path, field: str) -> str:
    text, removed = re.subn(rf"^.*\b{field}\s*;.*$", "", load(program).source, flags=re.MULTILINE)
    assert removed == 1
    return text


@pytest.mark.p4
@pytest.mark.parametrize("engine", [Switch, NativeSwitch])
@pytest.mark.parametrize("field", ["checksum_error", "enq_timestamp", "egress_rid", "mcast_grp", "priority"])
def test_a_field_that_is_not_there_is_named(engine: type, field: str) -> None:
    text = without(EXAMPLES / "reflector.p4", field)
    with pytest.raises(Unsupported, match=f"not supported: standard_metadata_t without the field {field}"):
        engine(load_text(text, "pushed.p4"))


@pytest.mark.p4
@pytest.mark.parametrize("field", ["copy_to_cpu", "icos_for_copy_to_cpu", "ingress_cos", "mcast_grp_b"])
def test_a_field_that_tofino_reads_is_named(field: str) -> None:
    text = without(EXAMPLES / "router_tna.p4", field)
    with pytest.raises(Unsupported, match=rf"not supported: .*_for_tm_t without {field}"):
        Switch(load_text(text, "pushed.p4"))
