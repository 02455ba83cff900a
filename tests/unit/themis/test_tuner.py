# SPDX-License-Identifier: Apache-2.0
"""The tuner plug-in, built with the system's compiler and asked by a host through every version of NCCL's interface.

Blind to: NCCL itself. The host declares the interface as NCCL's public headers do (2.21 to 2.30).
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offramp.themis import Dimension, Network, load_network
from offramp.themis.kinds import DimensionTopology
from offramp.themis.nccl import GpuGeneration, Nccl
from offramp.themis.tuner import TunerChoice, tuner_choices, tuner_source
from offramp.themis.tuner.source import ALGORITHMS, FUNCTIONS, PROTOCOLS
from offramp_base.errors import OfframpError
from offramp_cli.app import app

HOST = Path(__file__).parents[2] / "support" / "nccl_tuner_host.c"
NETWORK = load_network("2D-SW_SW").by_nccl(GpuGeneration.HOPPER, 24)
OPEN = "1 2 0"
"""The host's own choice: ring, Simple, and no number of channels."""


def choices() -> list[TunerChoice]:
    return tuner_choices(NETWORK)


@pytest.mark.parametrize("sums", [False, True])
def test_every_size_has_the_models_best_choice(sums: bool) -> None:
    dimensions = (
        Dimension(DimensionTopology.SWITCH, 8, 3.6e12, 300),
        Dimension(DimensionTopology.IN_NETWORK if sums else DimensionTopology.SWITCH, 12, 4e11, 2000),
    )
    network = Network("pod", dimensions).by_nccl(GpuGeneration.HOPPER)
    draw = random.Random(1)
    models = {d.size: d.messages for d in network.dimensions}
    seen = set()
    for row, following in zip(rows := tuner_choices(network), [*rows[1:], None], strict=True):
        model = models[row.ranks]
        assert isinstance(model, Nccl)
        last = row.most if row.most < 1 << 50 else 1 << 49
        for size in (row.least, last, *(draw.randint(row.least, last) for _ in range(20))):
            best = min(model.choices(row.collective, size, row.ranks))
            assert best[1:] == row[5:], (row, size)
        if following is not None and following[:3] == row[:3]:
            assert following.least == row.most + 1
            assert following[5:] != row[5:]
        seen.add(row.algorithm.value)
    assert seen == {"ring", "nvls", *(("collnet-chain", "collnet-direct") if sums else ("tree",))}


Ask = Callable[..., list[str]]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: cc is not on the path")
    folder = tmp_path_factory.mktemp("tuner")
    source, library, host = folder / "themis.c", folder / "libnccl-tuner-themis.so", folder / "host"
    source.write_text(tuner_source(choices()))
    strict = [compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]
    subprocess.run([*strict, "-shared", "-fPIC", "-o", library, source], check=True)
    subprocess.run([*strict, "-o", host, HOST, "-ldl"], check=True)

    def answers(version: int, ranks: int, nodes: int, questions: list[tuple[int, int]], ignored: int = -1) -> list[str]:
        words = [host, library, *map(str, (version, ranks, nodes, ignored))]
        text = "".join(f"{collective} {size}\n" for collective, size in questions)
        done = subprocess.run(list(map(str, words)), input=text, capture_output=True, text=True, check=True)
        *lines, name = done.stdout.splitlines()
        assert name == "themis"
        return lines

    return answers


@pytest.mark.full
@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_every_version_of_the_interface_gives_the_tables_choices(ask: Ask, version: int) -> None:
    for ranks, nodes in {(choice.ranks, choice.nodes) for choice in choices()}:
        rows = [choice for choice in choices() if (choice.ranks, choice.nodes) == (ranks, nodes)]
        questions = [(FUNCTIONS[row.collective], size) for row in rows for size in {row.least, min(row.most, 2**62)}]
        wanted = [
            f"{ALGORITHMS[row.algorithm]} {PROTOCOLS[row.protocol]} {row.channels}"
            for row in rows
            for _ in {row.least, min(row.most, 2**62)}
        ]
        assert ask(version, ranks, nodes, questions) == wanted


@pytest.mark.full
@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_what_the_table_does_not_have_stays_nccls_choice(ask: Ask, version: int) -> None:
    all_reduce, broadcast = FUNCTIONS[choices()[-1].collective], 0
    assert ask(version, 5, 1, [(all_reduce, 1024)]) == [OPEN]
    assert ask(version, 16, 2, [(all_reduce, 1024)]) == [OPEN]
    assert ask(version, 16, 1, [(broadcast, 1024)]) == [OPEN]
    nvls = next(row for row in choices() if row.algorithm == "nvls")
    question = [(all_reduce, nvls.least)]
    assert ask(version, nvls.ranks, nvls.nodes, question) == [f"4 2 {nvls.channels}"]
    assert ask(version, nvls.ranks, nvls.nodes, question, ignored=4) == [OPEN]


def test_networks_without_choices() -> None:
    with pytest.raises(OfframpError, match="expected a network of NCCL calls"):
        tuner_choices(load_network("2D-SW_SW"))
    two = Network("two", (*load_network("2D-SW_SW").dimensions, Dimension(DimensionTopology.SWITCH, 64, 1e9)))
    with pytest.raises(OfframpError, match="two dimensions of 64 GPUs: a tuner cannot tell"):
        tuner_choices(two.by_nccl())


def test_by_command(tmp_path: Path) -> None:
    out, numbers = tmp_path / "themis.c", tmp_path / "t.json"
    words = ["themis", "export", "tuner", "--network", "2D-SW_SW", "--gpu", "hopper", "--channels", "24"]
    done = CliRunner().invoke(app, [*words, "--out", str(out), "--json", str(numbers)])
    assert done.exit_code == 0, done.output
    assert out.read_text() == tuner_source(choices())
    written = json.loads(numbers.read_text())
    assert written["schema"] == "offramp.themis.export/1"
    assert [row["least"] for row in written["choices"]] == [row.least for row in choices()]
