# SPDX-License-Identifier: Apache-2.0
"""Functions of the run-time system from templates are those that are translated for the program itself."""

from __future__ import annotations

import re

import pytest

from offramp_base.native.templates import _TYPES, Templates
from offramp_p4.frontend import load_text
from offramp_p4.native.architecture import PacketMode, architecture
from offramp_p4.native.v1model import module
from p4_programs import program

pytestmark = pytest.mark.p4

SMALL = program("hdr.h.c = 4321; sm.egress_spec = 3;")
LARGE = program("clone(CloneType.E2E, 32w1); hdr.h.c = (bit<16>)big; sm.egress_spec = 3;", local="bit<900> big = 7;")


def functions(text: str) -> dict[str, str]:
    """The functions of a module by their names, with what their metadata says in place of its numbers."""
    metadata = dict(re.findall(r"^(!\d+) = (.*)$", text, re.MULTILINE))

    def said(name: str) -> str:
        return re.sub(r"!\d+", lambda m: said(m.group()), metadata[name])

    parts = re.split(r"^(?=define|declare)", text.partition("\n!")[0], flags=re.MULTILINE)[1:]
    return {
        str(re.search(r'@"?([\w.]+)', part).group(1)): re.sub(r"!\d+", lambda m: said(m.group()), part)  # type: ignore[union-attr]
        for part in parts
    }


def translated(text: str, templates: Templates | None, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(module, "templates", lambda: templates)
    loaded = load_text(text)
    chosen = architecture(loaded)
    return functions(chosen.translate(loaded, chosen.objects(loaded), PacketMode.BATCH).text)


def test_programs_with_other_layouts_share_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    templates = Templates()
    for text in (SMALL, LARGE, SMALL):
        shared = translated(text, templates, monkeypatch)
        assert sum(name.startswith("rt.") for name in shared) > 30
        assert shared == translated(text, None, monkeypatch)
    assert {len(each) for each in templates._known.values()} == {1}


@pytest.mark.parametrize("bits", [1, 8, 16, 32, 64])
def test_types_of_needed_functions_are_known_by_their_text(bits: int) -> None:
    assert _TYPES[f"i{bits}"].width == bits
