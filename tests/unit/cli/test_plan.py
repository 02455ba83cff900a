# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from offramp.switchgnn.plan_file import load_plan
from offramp_base.errors import OfframpError
from offramp_cli.switchgnn.plan import plan


@pytest.fixture
def invoke():
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(plan)

    def run(*arguments):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})
        if isinstance(result.exception, OfframpError):
            raise result.exception
        return result

    run.app = app
    return run


GRAPH = "sbm:n=600,k=4,degree=20,features=40"


@pytest.mark.full
def test_on_eighty_columns_nothing_is_cut(invoke):
    narrow, wide = (
        CliRunner().invoke(invoke.app, [GRAPH, "--workers", "6", "--memory", "25600B"], env={"COLUMNS": columns}).stdout
        for columns in ("80", "250")
    )
    assert max(map(len, narrow.splitlines())) <= 80
    assert "\N{HORIZONTAL ELLIPSIS}" not in narrow + wide
    row = next(line for line in wide.splitlines() if line.split()[:2] == ["*", "paper"])
    words = narrow.replace("\N{NO-BREAK SPACE}", " ").split("* paper", 1)[1].split()
    assert f"predicted {row.split()[-2]} {row.split()[-1]}" in " ".join(words[:60])


@pytest.mark.full
def test_numbers_and_plan_agree(invoke, tmp_path):
    numbers_path, plan_path = tmp_path / "n.json", tmp_path / "p.npz"
    result = invoke(
        GRAPH, "--workers", 6, "--partition", "hash", "--memory", "25600B", "--json", numbers_path, "--save", plan_path
    )
    assert result.exit_code == 0
    numbers, plan = json.loads(numbers_path.read_text()), load_plan(plan_path)
    assert numbers["settings"]["memory_bytes"] == 25600
    assert (numbers["aggregators"], numbers["chunks"]) == (200, 2)
    for name, value in (("S", plan.uploads), ("B", plan.B), ("C", plan.C), ("R", plan.R), ("passes", plan.passes)):
        assert numbers[name] == value
    assert numbers["blocks"] == len(plan.blocks) > 1
    assert numbers["table_entries"] == {"v2agg": 2 * plan.C, "slots": plan.uploads, "hosts": 6}
    assert numbers["volumes"]["switchgnn"]["wire_bytes"] == plan.uploads * 2 * 202
    assert numbers["volumes"]["unlimited"]["payload_bytes"] == plan.B * 160
    assert numbers["volumes"]["p2p"]["payload_bytes"] == plan.R * 160
    assert f"{plan.uploads:,}".replace(",", "\u202f") in result.stdout


@pytest.mark.full
def test_a_plan_is_updated(invoke, tmp_path):
    plan, numbers = tmp_path / "p.npz", tmp_path / "n.json"
    by_hash = (GRAPH, "--workers", 6, "--partition", "hash", "--memory", "25600B")
    invoke(*by_hash, "--no-compare", "--save", plan)
    blocks = len(load_plan(plan).blocks)
    assert f"blocks kept from the earlier plan {blocks}" in " ".join(invoke(*by_hash, "--update", plan).stdout.split())
    moved = (*by_hash, "--seed", 1, "--no-compare", "--update", plan, "--save", plan, "--json", numbers)
    assert invoke(*moved).exit_code == 0  # the graph of another seed
    result = json.loads(numbers.read_text())
    assert result["kept_blocks"] < blocks
    assert result["C"] == load_plan(plan).C
    with pytest.raises(
        OfframpError, match=r"--update .*: made for 200 aggregators .* packets per vertex, expected 400, 32 and 2"
    ):
        invoke(*by_hash, "--memory", "51200B", "--update", plan)


@pytest.mark.full
def test_blocks_are_those_of_the_scheme_where_none_is_compared(invoke, tmp_path):
    numbers = tmp_path / "n.json"
    given = (GRAPH, "--workers", 6, "--partition", "hash", "--memory", "25600B", "--json", numbers)
    results = {}
    for scheme, compare in (("paper", "--no-compare"), ("balanced", "--no-compare"), ("balanced", "--compare")):
        invoke(*given, "--scheme", scheme, compare)
        results[scheme, compare] = json.loads(numbers.read_text())
    assert [one["cut"] for one in results.values()] == ["paper", "balanced", "paper"]
    assert results["paper", "--no-compare"]["S"] == results["balanced", "--compare"]["S"]
    assert results["balanced", "--no-compare"]["imbalance"] < results["paper", "--no-compare"]["imbalance"]


@pytest.mark.full
def test_says_who_wins(invoke, tmp_path):
    by_hash = (GRAPH, "--workers", 8, "--partition", "hash", "--no-compare")
    slow = tmp_path / "slow.json"
    slow.write_text('{"link_bps": 1e9}')
    assert "The switch wins: it puts" in invoke(*by_hash, "--rates", slow).stdout
    numbers = tmp_path / "n.json"
    assert (
        "p2p wins: it is predicted to take" in invoke(*by_hash, "--json", numbers).stdout
    )  # at the paper's 100 Gbit/s
    result = json.loads(numbers.read_text())
    assert not result["switch_wins"]
    assert result["predicted_seconds"]["p2p"] < result["predicted_seconds"]["switchgnn"]
    assert result["volumes"]["switchgnn"]["wire_bytes"] < result["volumes"]["p2p"]["wire_bytes"]
    tight = invoke(GRAPH, "--workers", 8, "--partition", "hash", "--memory", "2KB", "--no-compare").stdout
    assert "more memory makes fewer blocks" in tight
    assert "even unlimited memory would not help" in invoke(GRAPH, "--workers", 2, "--width", 4, "--no-compare").stdout
    assert "No edge is cut" in invoke(GRAPH, "--workers", 1).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--memory", "4XB"), "--memory 4XB: expected a size such as 4MB, 512KiB or 4096"),
        (
            ("--memory", "100"),
            "--memory 100 B: holds 0 aggregators; an edge needs 2 at each end, expected at least 512 B",
        ),
        (("--workers", "601"), "workers 601: expected 1 to 600, the number of vertices"),
        (("--width", "9000"), "features 9000: expected 1 to 8160"),
        (("--order", "best"), "order 'best': expected one of gamr, degree, bfs, random, id"),
        (("--json", "/gone/n.json"), "--json /gone/n.json: cannot be written: No such file or directory"),
    ],
)
def test_golden_errors(invoke, arguments, message):
    with pytest.raises(OfframpError) as error:
        invoke(GRAPH, "--partition", "chunk", *arguments)
    assert str(error.value) == message


def test_volumes_between_racks(invoke, tmp_path):
    path = tmp_path / "n.json"
    result = invoke(GRAPH, "--workers", 6, "--partition", "hash", "--racks", 3, "--json", path)
    racks = json.loads(path.read_text())["cross_rack"]
    assert racks["racks"] == [0, 0, 1, 1, 2, 2]
    volumes = racks["vectors"]
    assert 0 < volumes["partial"] == volumes["multicast"] < volumes["host"]
    assert "Between racks: " in result.stdout
    with pytest.raises(OfframpError, match=r"--racks 7: expected at most one for each of 6 workers"):
        invoke(GRAPH, "--workers", 6, "--racks", 7)
