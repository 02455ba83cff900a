# SPDX-License-Identifier: Apache-2.0
"""What ``offramp fpga build`` says of what was built; the tools themselves run in ``tests/fpga``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from offramp.fpga import boards
from offramp.fpga.boards import Built
from offramp.fpga.synth import ClockTiming, Timing
from offramp_cli.app import app

TIMING = Timing(61.25, {"TRELLIS_COMB": 1234}, {"TRELLIS_COMB": 24000}, (ClockTiming("clk", 61.25, 50.0),))


def build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, board: str, *words: str, **built: Any) -> Any:
    """A build that ends at once with a file of 2,000 bytes; what it was asked for comes back as well."""
    file, asked = tmp_path / "card.bit", []
    file.write_bytes(bytes(2000))
    monkeypatch.setattr(boards, "build", lambda *given: asked.append(given) or Built([file], **built))
    words = ("fpga", "build", "--board", board, "--out", str(tmp_path), "--json", str(tmp_path / "n.json"), *words)
    done = CliRunner().invoke(app, list(words))
    return done, asked


def test_sizes_resources_and_clocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun: list[str] = []

    @contextmanager
    def stages(console: Any) -> Iterator[Callable[[str], None]]:
        assert console.stderr  # lines on the standard output are results
        yield begun.append

    monkeypatch.setattr("offramp_cli.fpga.build.stages", stages)
    done, asked = build(monkeypatch, tmp_path, "ulx3s", "--seed", "7", timing=TIMING)
    assert begun == [f"ulx3s: {boards.BOARDS['ulx3s'].what}"]
    assert done.stdout.splitlines() == [
        f"{tmp_path}/card.bit: 2,000 bytes",
        "  TRELLIS_COMB:  1,234 of 24,000 (5 %)",
        "ulx3s: clk: 61.2 MHz, needs 50",
    ]
    assert asked == [(boards.BOARDS["ulx3s"], tmp_path / "ulx3s", 7, None, {})]
    written = json.loads((tmp_path / "n.json").read_text())
    assert written["clocks"] == {"clk": [61.25, 50.0]}
    assert (written["used"], written["fmax_mhz"], written["project_only"]) == ({"TRELLIS_COMB": 1234}, 61.25, False)


@pytest.mark.parametrize(
    ("board", "then"), [("ulx3s", "vivado -mode batch -source {}/card.bit"), ("u50", "make -C {}/u50")]
)
def test_a_project_says_what_makes_a_bitstream_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, board: str, then: str
) -> None:
    done, _ = build(monkeypatch, tmp_path, board, project_only=True)
    assert done.stdout.splitlines() == [
        f"{tmp_path}/card.bit",
        f"{board}: vivado is not on PATH; run: {then.format(tmp_path)}",
    ]
    assert json.loads((tmp_path / "n.json").read_text())["project_only"]


def test_an_address_is_one_of_ipv4(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done, asked = build(monkeypatch, tmp_path, "ulx3s", "--address", "10.0.0.300")
    assert str(done.exception) == "--address 10.0.0.300: expected an IPv4 address"
    assert asked == []
