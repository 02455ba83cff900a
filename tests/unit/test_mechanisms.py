# SPDX-License-Identifier: Apache-2.0
"""Files and tests of the papers' mechanisms exist, and each section of a system's design has a mechanism.

Blind to whether a test tests the mechanism.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from offramp_cli.app import app
from offramp_sim.reproduce.mechanisms import MECHANISMS

ROOT = Path(__file__).parents[2]
DESIGN = {
    "G3": ("4.2.1", "4.3.1", "4.3.2", "4.4.1", "4.4.2", "4.4.3"),
    "DGS": ("3.2.2", "3.2.3"),
    "Sylvie": ("3.4.1", "3.5.1", "3.5.2", "3.5.3"),
    "TorchGT": ("4.3.2", "4.3.3", "4.3.4"),
    "UniTG": ("5.3.2", "5.3.3", "5.3.4"),
}


@pytest.mark.parametrize("system", MECHANISMS)
def test_files_and_tests_exist(system: str) -> None:
    for each in MECHANISMS[system]:
        assert (ROOT / "host" / "offramp" / each.file).is_file(), each
        where, _, name = each.test.partition("::")
        folder, _, file = where.partition("/")
        text = (ROOT / "tests" / "unit" / folder / f"test_{file}.py").read_text(encoding="utf-8")
        assert f"def test_{name}(" in text, each


def test_each_section_of_a_design_has_a_mechanism_in_order() -> None:
    assert MECHANISMS.keys() == DESIGN.keys()
    for system, sections in DESIGN.items():
        described = [each.section for each in MECHANISMS[system]]
        assert described == sorted(described)
        assert {each.section for each in MECHANISMS[system]} >= set(sections)


@pytest.mark.parametrize(
    ("system", "file", "test"),
    [
        ("G3", "workers/reduction.py", "layers_are_summed_last_first_and_weights_wait_for_all"),
        ("G3", "graph/bins.py", "golden_orders"),
        ("DGS", "dgs/sampling.py", "sizes_and_clamps"),
        ("DGS", "dgs/importance.py", "fastgcn_is_the_squared_norm_of_columns"),
        ("Sylvie", "sylvie/widths.py", "figure_3_6"),
    ],
)
def test_several_mechanisms_of_one_section(system: str, file: str, test: str) -> None:
    assert any(each.file == file and each.test.endswith(f"::{test}") for each in MECHANISMS[system])


def test_the_command_prints_them_all() -> None:
    output = CliRunner().invoke(app, ["reproduce", "mechanisms"]).output
    for each in (each for rows in MECHANISMS.values() for each in rows):
        assert each.what in output
    assert max(map(len, output.splitlines())) <= 160
