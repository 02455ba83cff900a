# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate themis``: tables, numbers, pictures, and one line for bad input."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from offramp.hermod.chakra import ChakraNode, ChakraTrace, schema, write_trace
from offramp_base.errors import OfframpError
from offramp_cli.app import app


def simulate(*arguments):
    result = CliRunner().invoke(app, ["simulate", "themis", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.mark.full
def test_a_collective(tmp_path):
    numbers, plot = tmp_path / "n.json", tmp_path / "p.png"
    result = simulate("--size", "100MB", "--json", str(numbers), "--plot", str(plot), "--change", "300=1,1,0.5")
    assert result.exit_code == 0
    assert "linear bound" in result.output
    report = json.loads(numbers.read_text())
    assert report["settings"]["network"]["npus"] == 1024
    seconds = {name: row["seconds"] for name, row in report["schedulers"].items()}
    assert list(seconds) == ["baseline", "themis+fifo", "themis+scf", "balanced"]
    assert seconds["baseline"] > seconds["themis+scf"] > seconds["balanced"] >= report["bound_s"] * (1 - 1e-6)
    assert report["bound_s"] >= report["bound_without_latency_s"] >= report["ideal_s"] * (1 - 1e-9)
    assert report["changes"]["themis+scf"]["adaptive_s"] < report["changes"]["themis+scf"]["static_s"]
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_serial_delays_and_a_system(tmp_path):
    """ASTRA-sim's published regression test: 117,780 ns, with the chunks that its system file says."""
    (tmp_path / "ring.yml").write_text(
        "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"
    )
    (tmp_path / "system.json").write_text('{"endpoint-delay": 10, "preferred-dataset-splits": 4, "local-mem-bw": 50}')
    numbers, ring = tmp_path / "n.json", str(tmp_path / "ring.yml")
    given = ["--network", ring, "--size", "1MiB", "--scheduler", "baseline", "--json", str(numbers)]
    seconds = {}
    for name, more in {
        "system": ["--system", str(tmp_path / "system.json")],
        "serial": ["--delays", "serial", "--chunks", "4"],
        "overlap": ["--chunks", "4"],
    }.items():
        assert simulate(*given, *more).exit_code == 0
        written = json.loads(numbers.read_text())
        assert (written["settings"]["chunks"], written["settings"]["delays"] == "serial") == (4, name != "overlap")
        seconds[name] = written["schedulers"]["baseline"]["seconds"]
    assert seconds["system"] == pytest.approx(117.78e-6, rel=1e-12)
    assert seconds["system"] > seconds["serial"] > seconds["overlap"]


def test_directions_of_rings(tmp_path):
    """One way has half the bandwidth; serial delays have one way unless both are asked for."""
    (tmp_path / "ring.yaml").write_text("name: r\ndimensions:\n  - {type: ring, size: 8, rate: 16gbit}\n")
    given = ["--network", str(tmp_path / "ring.yaml"), "--size", "8MiB", "--chunks", "1", "--scheduler", "baseline"]
    took = []
    for more in (["--bidirectional"], ["--no-bidirectional"], [], ["--delays", "serial"]):
        simulate(*given, *more, "--json", str(tmp_path / "n.json"))
        took.append(json.loads((tmp_path / "n.json").read_text())["schedulers"]["baseline"]["seconds"])
    simulate(*given, "--delays", "serial", "--bidirectional", "--json", str(tmp_path / "n.json"))
    both_ways_s = json.loads((tmp_path / "n.json").read_text())["schedulers"]["baseline"]["seconds"]
    assert took == pytest.approx([took[0], 2 * took[0], took[0], 2 * took[0]])
    assert both_ways_s == pytest.approx(took[0])
    with pytest.raises(OfframpError, match="bidirectional: expected a ring among its dimensions"):
        simulate("--bidirectional")


def test_chakra_traces(tmp_path):
    """A job's exported DAG: 5 us of computation, then an all-reduce of ASTRA-sim's regression test."""
    (tmp_path / "ring.yml").write_text("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n")
    (tmp_path / "system.json").write_text('{"endpoint-delay": 10, "preferred-dataset-splits": 4, "local-mem-bw": 50}')
    for rank in range(8):
        nodes = [
            ChakraNode(1, "compute", schema.COMPUTE, [], 5),
            ChakraNode(2, "sum", schema.COLLECTIVE, [1], 0, {"comm_type": schema.ALL_REDUCE, "comm_size": 1 << 20}),
        ]
        write_trace(ChakraTrace(nodes), tmp_path / f"job.{rank}.et")
    given = ["--network", str(tmp_path / "ring.yml"), "--workload", str(tmp_path / "job"), "--scheduler", "baseline"]
    result = simulate(*given, "--system", str(tmp_path / "system.json"), "--json", str(tmp_path / "n.json"))
    assert "waiting" in result.output
    row = json.loads((tmp_path / "n.json").read_text())["schedulers"]["baseline"]
    assert (row["seconds"], row["compute_s"]) == (pytest.approx(122.78e-6), pytest.approx(5e-6))
    assert row["ended_s"] == [row["seconds"]] * 8
    with pytest.raises(OfframpError, match="--workload: traces go with --delays serial or --system"):
        simulate(*given)


def test_a_workload(tmp_path):
    path = tmp_path / "n.json"
    result = simulate("--workload", "gnmt", "--network", "2D-SW_SW", "--iterations", "2", "--json", str(path))
    assert result.exit_code == 0
    report = json.loads(path.read_text())
    assert report["workload"]["name"] == "gnmt"
    assert list(report["schedulers"]) == ["baseline", "themis+fifo", "themis+scf", "balanced", "ideal"]
    for row in report["schedulers"].values():
        total = row["forward_s"] + row["backward_s"] + sum(row["exposed_s"].values())
        assert row["seconds"] == pytest.approx(total)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--network", "6D"], "network '6D': expected a file or one of 2D-SW_SW"),
        (["--size", "big"], "--size big: expected a size such as 4MB"),
        (["--size", "0"], "plan: expected a collective of at least one byte"),
        (["--collective", "reduce"], "--collective reduce: expected one of reduce-scatter"),
        (["--scheduler", "best"], "--scheduler best: expected one of baseline"),
        (["--chunks", "0"], "--chunks 0: expected at least 1"),
        (["--delays", "late"], "--delays late: expected one of overlap, serial, nccl"),
        (["--system", "none.json"], "system none.json: cannot be read"),
        (["--system", "s.json", "--delays", "overlap"], "--delays: with --system they are serial"),
        (
            ["--delays", "serial", "--change", "5=1,1,1"],
            "--delays: serial delays and NCCL's are only simulated, at constant speeds",
        ),
        (["--threshold", "3"], "threshold 3.0: expected a fraction of a chunk"),
        (["--change", "now"], "--change now: expected microseconds, = and 3 factors"),
        (["--change", "5=1,1"], r"speeds \(1.0, 1.0\): expected 3 factors above 0"),
        (["--namespaces"], "--namespaces: expected --execute too"),
        (["--execute"], "--execute: 1024 processes: expected a network of 2 to 32 NPUs"),
        (["--workload", "gnmt", "--execute"], "--workload: --change, --execute and --plot are for single collectives"),
        (["--workload", "gnmt", "--iterations", "0"], "0 iterations: expected at least 1"),
        (["--json", "/nowhere/n.json"], "--json /nowhere/n.json: cannot be written: No such file"),
        (["--plot", "/nowhere/p.png"], "--plot /nowhere/p.png: cannot be written: No such file"),
        (["--plot", "/"], "--plot /: cannot be written: Is a directory"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(OfframpError, match=message):
        simulate(*arguments)


def test_the_bounds_are_in_the_table_and_in_seconds(tmp_path):
    """Two dimensions as fast as each other: an ideal collective takes as long as its bytes on both together."""
    (tmp_path / "grid.yml").write_text(
        "topology: [ Ring, Ring ]\nnpus_count: [ 2, 2 ]\nbandwidth: [ 50.0, 50.0 ]\nlatency: [ 0.0, 0.0 ]\n"
    )
    numbers = tmp_path / "n.json"
    words = ["simulate", "themis", "--network", str(tmp_path / "grid.yml"), "--size", "1GB", "--chunks", "8"]
    shown = CliRunner().invoke(app, [*words, "--json", str(numbers)], env={"COLUMNS": "160"}).output
    written = json.loads(numbers.read_text())
    assert written["bound_s"] == pytest.approx(written["bound_without_latency_s"])
    assert 0.5 * written["bound_s"] < written["ideal_s"] <= written["bound_s"] * (1 + 1e-9)
    assert 1e9 / 100e9 <= written["bound_s"] <= 4e9 / 50e9
    rows = {line.split("  ")[0].strip(): line.split() for line in shown.splitlines() if line.strip()}
    slowest = written["schedulers"]["baseline"]["seconds"]
    for name, row in written["schedulers"].items():
        shares = [f"{100 * share:.1f}" for share in row["utilisation_by_dimension"]]
        assert rows[name][-2:] == shares
        assert rows[name][3] == f"{slowest / row['seconds']:.2f}"
    for name, seconds in {"linear bound": written["bound_s"], "ideal": written["ideal_s"]}.items():
        words = rows[name][len(name.split()) :]
        assert (float(words[0]), words[1]) == (pytest.approx(1e3 * seconds, rel=0.01), "ms")
        assert words[2] == f"{slowest / seconds:.2f}"
