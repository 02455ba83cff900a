# SPDX-License-Identifier: Apache-2.0
"""``offramp hermod`` and ``offramp simulate hermod`` as users type them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offramp.hermod.chakra import load_dag
from offramp_base.errors import OfframpError
from offramp_cli.app import app

_DENSE = """layers: 4
hidden: 1024
heads: 8
vocabulary: 1000
ffn: 4096
gpus: 8
pp: 2
gpus_per_server: 2
nics_per_server: 2
micro_batches: 4
micro_batch: 1
sequence: 512
nic_gbps: 5
"""


@pytest.fixture
def job(tmp_path: Path) -> str:
    path = tmp_path / "job.yaml"
    path.write_text(_DENSE)
    return str(path)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.full
def test_a_job_is_simulated_and_drawn(job: str, tmp_path: Path) -> None:
    numbers, picture = tmp_path / "n.json", tmp_path / "t.png"
    out = run(
        "simulate", "hermod", "--job", job, "--policies", "fifo,fair,hermod", "--queues", "4",
        "--timeline", str(picture), "--json", str(numbers),
    )  # fmt: skip
    assert "pp 2 x tp 1 x dp 4" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    result = json.loads(numbers.read_text())
    rows = result["policies"]
    assert list(rows) == ["fifo", "fair", "hermod"]
    assert rows["fifo"]["speedup"] == 1
    assert rows["hermod"]["iteration_s"] <= rows["fifo"]["iteration_s"]
    tokens = 4 * 4 * 512
    assert rows["fair"]["tokens_per_s"] == pytest.approx(tokens / rows["fair"]["iteration_s"])


@pytest.mark.full
def test_packets_go_through_the_switch_program_beside_the_flow_level(job: str, tmp_path: Path) -> None:
    numbers = tmp_path / "n.json"
    out = run(
        "simulate", "hermod", "--job", job, "--policies", "fair,hermod", "--level", "packet", "--packets", "4000",
        "--iterations", "2", "--engine", "python", "--timeline", str(tmp_path / "t.png"), "--json", str(numbers),
    )  # fmt: skip
    assert "packet level" in out
    assert "bytes stands for" in out
    result = json.loads(numbers.read_text())
    for name, row in result["packets"].items():
        assert row["packets"] > 3900, name
        assert abs(row["difference"]) < 0.05
        assert row["difference"] == result["policies"][name]["iteration_s"] / row["flow_level_iteration_s"] - 1
    assert len(result["packets"]["hermod"]["queues"]) > 3


def test_the_same_seed_gives_the_same_numbers(job: str, tmp_path: Path) -> None:
    texts = []
    for name in ("a", "b"):
        path = tmp_path / name
        run("simulate", "hermod", "--job", job, "--policies", "fair,hermod", "--seed", "3", "--json", str(path))
        texts.append(path.read_bytes())
    assert texts[0] == texts[1]


def test_a_plan_maps_every_code_point(job: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    out = run("hermod", "plan", job, "--json", str(path))
    plan = json.loads(path.read_text())
    assert len(plan["dscp_to_queue"]) == 64
    assert plan["dscp_to_queue"][48] == 7
    assert 48 not in {row["dscp"] for row in plan["priorities"]}
    assert "7 queues for data" in out


def test_a_matrix_is_decomposed(tmp_path: Path) -> None:
    matrix, path = tmp_path / "m.txt", tmp_path / "m.json"
    matrix.write_text("0 10 0\n9, 0, 0\n5 2 0\n")
    assert "3 sub-phases, 14 in all; the bound is 14 (1.000 of it)" in run("hermod", "match", str(matrix))
    out = run("hermod", "match", str(matrix), "--algorithm", "matched_minimum", "--json", str(path))
    assert "16 in all; the bound is 14 (1.143 of it)" in out
    assert [phase["weight"] for phase in json.loads(path.read_text())["phases"]] == [9, 1, 4, 2]


def test_traces_are_written(job: str, tmp_path: Path) -> None:
    out = run("hermod", "export", job, "--out", str(tmp_path / "et"), "--iterations", "2")
    assert "8 traces" in out
    assert load_dag(tmp_path / "et").iterations == 2


def test_traces_are_simulated_like_the_job_that_they_are_of(job: str, tmp_path: Path) -> None:
    folder = tmp_path / "et"
    run("hermod", "export", job, "--out", str(folder), "--iterations", "3")
    Path(job).write_text(_DENSE.replace("server: 2", "server: 1"))  # each rank on a server of its own
    policies = []
    for k, source in enumerate((job, str(folder))):
        path = tmp_path / f"{k}.json"
        run(
            "simulate", "hermod", "--job", source, "--nic-gbps", "5", "--policies", "fifo,hermod",
            "--routing", "spray", "--json", str(path),
        )  # fmt: skip
        policies.append(json.loads(path.read_text())["policies"])
    for policy in ("fifo", "hermod"):
        assert policies[1][policy]["iteration_s"] == pytest.approx(policies[0][policy]["iteration_s"], rel=1e-3)
        assert policies[1][policy]["tokens_per_s"] is None


def test_models_are_listed() -> None:
    assert "gpt3-175b" in run("hermod", "models")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "hermod", "--job", "gpt5"], "model gpt5: expected one of qwen-moe-12l"),
        (["simulate", "hermod", "--job", "gpt3-13b", "--policies", "best"], "--policies best: expected one of fair"),
        (["simulate", "hermod", "--job", "gpt3-13b", "--gpus", "33"], "gpus 33: not divisible by pp x tp = 16"),
        (["simulate", "hermod", "--job", "gpt3-13b", "--queues", "9"], "--queues 9: expected 1 to 8"),
        (["simulate", "hermod", "--job", "gpt3-13b", "--routing", "magic"], "routing magic: expected spray or ecmp"),
        (["simulate", "hermod", "--job", "gpt3-13b", "--level", "bit"], "--level bit: expected one of flow, packet"),
        (
            ["simulate", "hermod", "--job", "gpt3-13b", "--loss", "0.1"],
            "--loss: goes with --level packet only",
        ),
        (
            ["simulate", "hermod", "--job", "gpt3-13b", "--level", "packet", "--pause", "x"],
            "pause x: expected NIC@START",
        ),
        (["simulate", "hermod", "--job", "gpt3-13b", "--iterations", "1"], "--iterations 1: expected at least 2"),
        (["simulate", "hermod", "--job", "."], "--nic-gbps: expected a rate above 0, such as 100, as traces name none"),
        (["simulate", "hermod", "--job", ".", "--nic-gbps", "5"], ".: no files like trace.0.et"),
        (
            ["hermod", "plan", "gpt3-13b", "--classes", "8"],
            "classes 8: the switch has 8 queues, one of them for control",
        ),
        (["hermod", "plan", "gpt3-13b", "--control", "x"], "--control x: expected DSCPs separated by commas"),
        (["hermod", "match", "absent.txt"], "absent.txt: cannot be read"),
        (["hermod", "match", "absent.txt", "--algorithm", "best"], "--algorithm best: expected one of bottleneck, "),
        (["hermod", "export", "gpt3-13b", "--out", "x", "--iterations", "0"], "--iterations 0: expected at least 1"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str) -> None:
    with pytest.raises(OfframpError) as error:
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_text_workload_on_a_network_of_astra_sim(tmp_path) -> None:
    work, network, numbers = tmp_path / "work.txt", tmp_path / "ring.yml", tmp_path / "r.json"
    work.write_text("DATA\n1\na -1 1000000 NONE 0 0 NONE 0 0 ALLREDUCE 1073741824 0\n")
    network.write_text("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 0.0 ]\n")
    base = ["simulate", "hermod", "--job", str(work), "--policies", "fifo,hermod"]
    done = CliRunner().invoke(app, [*base, "--network", str(network), "--json", str(numbers)])
    assert done.exit_code == 0, done.output
    result = json.loads(numbers.read_text())
    ring_s = 2 * 7 / 8 / 50 / 2  # a gibibyte over both of an NPU's links
    assert result["policies"]["fifo"]["iteration_s"] == pytest.approx(1e-3 + ring_s, rel=1e-6)
    assert result["job"]["npus"] == 8
    for arguments, message in (
        ([], "expected the network of a text workload"),
        (["--network", str(network), "--nic-gbps", "5"], "does not go with --network"),
        (["--network", str(network), "--level", "packet"], "does not go with --network"),
    ):
        refused = CliRunner().invoke(app, [*base, *arguments])
        assert refused.exit_code != 0
        assert message in " ".join(refused.output.split()) + str(refused.exception)
    refused = CliRunner().invoke(app, ["simulate", "hermod", "--job", "gpt3-13b", "--network", str(network)])
    assert "goes with traces and text workloads" in " ".join(refused.output.split()) + str(refused.exception)


@pytest.mark.each
@pytest.mark.parametrize(("model", "ends"), [("mixtral-8x22b", {2}), ("", {1})])
def test_a_plan_s_rows_have_ranges_of_layers_and_microbatches(
    job: str, tmp_path: Path, model: str, ends: set[int]
) -> None:
    job, numbers = model or job, tmp_path / "plan.json"
    lines = [line.split() for line in run("hermod", "plan", job, "--queues", "4", "--json", str(numbers)).splitlines()]
    written = json.loads(numbers.read_text())["priorities"]

    def extent(bounds: list[int]) -> str:
        first, last = bounds
        return f"{first}\N{EN DASH}{last}" if first != last else f"{first}"

    assert {len({*row["layers"]}) for row in written} == ends
    assert lines[0] == ["code", "DSCP", "queue", "microbatch", "type", "layers"]
    for line, row in zip(lines[1:], written, strict=False):
        numbers_of_row = [str(row[name]) for name in ("code", "dscp", "queue")]
        assert line == [*numbers_of_row, extent(row["micro_batches"]), *row["types"], extent(row["layers"])]
    queues = len({row["queue"] for row in written})
    said = f"{len(written)} priorities, {queues} queues for data; higher queues go first; control: "
    assert " ".join(lines[1 + len(written)]) == f"{said}48"
    assert run("hermod", "plan", job, "--control", "").endswith("control: none\n")
