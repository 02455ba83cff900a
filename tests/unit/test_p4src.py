# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from offramp.p4src import p4_source, p4_text
from offramp_base.errors import OfframpError


def test_a_source_is_found() -> None:
    assert p4_source("switchgnn/v1model.p4").is_file()


def test_a_missing_source_is_named() -> None:
    with pytest.raises(OfframpError, match=r"P4 source switchgnn/nothing\.p4: no such file"):
        p4_source("switchgnn/nothing.p4")


@pytest.mark.parametrize("program", ["switchgnn/v1model.p4", "switchgnn/strawman_v1model.p4"])
def test_a_text_of_its_own_includes_only_what_the_system_has(program: str) -> None:
    text = p4_text(program, {"AGGREGATORS": 12})
    assert text.startswith("#define AGGREGATORS 12\n")
    includes = [line for line in text.splitlines() if line.startswith("#include")]
    assert includes == ["#include <core.p4>", "#include <v1model.p4>"]
    assert "header switchgnn_t" in text
