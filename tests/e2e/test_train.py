# SPDX-License-Identifier: Apache-2.0
"""``offramp train`` from its options to its JSON, through real worker processes and a real P4 switch."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from offramp_base import OfframpError
from offramp_cli.train import train

GRAPH = "sbm:n=150,k=3"
TINY = {"graph": GRAPH, "workers": 3, "partition": "hash", "hidden": 8, "epochs": 20}
KEYS = {
    "test_accuracy", "epochs", "bytes_up", "bytes_down", "wire_bytes_up", "wire_bytes_down", "packets", "passes",
    "recirculations", "aggregators_peak", "overflows", "seconds", "settings", "per_worker", "per_epoch",
}  # fmt: skip


def run(folder: Path, propagator: str, **options: object) -> dict:
    path = folder / f"{propagator}{len(list(folder.iterdir()))}.json"
    train(propagator=propagator, json=path, **{**TINY, **options})
    return json.loads(path.read_text())


def losses(result: dict) -> np.ndarray:
    return np.array([epoch["loss"] for epoch in result["per_epoch"]])


def children(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for thread in threads for child in (thread / "children").read_text().split()]


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> dict:
    return run(tmp_path_factory.mktemp("local"), "local")


@pytest.mark.smoke
def test_local(local: dict) -> None:
    assert local.keys() >= KEYS
    assert local["epochs"] == len(local["per_epoch"]) == 20
    assert local["settings"]["processes"] == len(local["per_worker"]) == 1
    for key in ("bytes_up", "bytes_down", "wire_bytes_up", "wire_bytes_down", "packets", "passes", "overflows"):
        assert local[key] == 0
    assert losses(local)[-1] < losses(local)[0]


def test_the_program_for_tofino_gives_the_same_bits(tmp_path: Path) -> None:
    v1model, tna = (run(tmp_path, "switch", epochs=3, target=target) for target in ("v1model", "tna"))
    assert np.array_equal(losses(tna), losses(v1model))
    assert tna["test_accuracy"] == v1model["test_accuracy"]
    for key in ("passes", "recirculations", "bytes_up", "bytes_down", "overflows"):
        assert tna[key] == v1model[key]
    assert tna["passes"] > 0
    assert tna["aggregators_peak"] is None


@pytest.mark.slow
@pytest.mark.p4
def test_replication_and_racks_give_the_same_bits(tmp_path: Path) -> None:
    one = run(tmp_path, "switch", epochs=3)
    copies = run(tmp_path, "switch", epochs=3, target="v1model-replicated")
    racks = run(tmp_path, "switch", epochs=3, racks=2, spines=2)
    for other in (copies, racks):
        assert np.array_equal(losses(other), losses(one))
        assert other["test_accuracy"] == one["test_accuracy"]
        assert (other["bytes_up"], other["bytes_down"]) == (one["bytes_up"], one["bytes_down"])
    assert copies["passes"] == one["passes"]
    rounds = copies["recirculations"]  # GO of each passes twice; no upload does
    assert 0 < rounds < one["recirculations"]
    assert racks["passes"] > one["passes"]  # partial sums are contributions, too


def test_p2p(local: dict, tmp_path: Path) -> None:
    result = run(tmp_path, "p2p", report=tmp_path / "r.html", compare=True)
    np.testing.assert_allclose(losses(result), losses(local), rtol=1e-4)
    assert result["test_accuracy"] == local["test_accuracy"]
    assert result["bytes_up"] == result["bytes_down"] == sum(w["bytes_up"] for w in result["per_worker"])
    assert len(result["per_worker"]) == 3
    assert result["settings"]["graph"] == GRAPH
    assert result["passes"] == 0
    assert "Training with features sent" in (tmp_path / "r.html").read_text("utf-8")
    runs = json.loads((tmp_path / "r.json").read_text("utf-8"))["runs"]
    assert {"schema": "offramp.train/1", **runs[0]["result"]} == result
    assert [way["name"] for way in runs] == ["p2p", "local"]
    assert np.array_equal(losses(runs[1]["result"]), losses(local))


@pytest.mark.p4
@pytest.mark.parametrize(
    ("propagator", "options"),
    [
        ("switch", {}),
        ("switch", {"memory": "8KB", "layers": 3, "hidden": 40, "epochs": 4}),
        ("strawman", {"memory": "8KB", "epochs": 6}),
    ],
    ids=["one block", "many blocks of wide features", "strawman"],
)
def test_the_switch_trains_with_the_bits_of_quantised_p2p(local: dict, tmp_path: Path, propagator, options) -> None:
    result = run(tmp_path, propagator, **options)
    host = run(tmp_path, "p2p", codec="fixed", **options)
    assert [{**e, **_no_times()} for e in result["per_epoch"]] == [{**e, **_no_times()} for e in host["per_epoch"]]
    single = run(tmp_path, "local", **options)
    np.testing.assert_allclose(losses(result), losses(single), rtol=1e-4)
    settings = result["settings"]
    assert result["passes"] > 0
    assert result["recirculations"] > 0
    assert 0 < result["aggregators_peak"] <= settings["memory"] // 128
    assert 0 < result["bytes_up"] < result["wire_bytes_up"]
    assert result["bytes_up"] < host["bytes_up"] or "memory" in options
    if propagator == "switch":
        assert result["bytes_up"] == result["bytes_down"]
        assert result["overflows"] == 0
        assert (max(settings["blocks"]) > 1) == ("memory" in options)
    else:
        assert result["overflows"] > 0
        assert result["bytes_down"] > result["bytes_up"]


@pytest.mark.p4
@pytest.mark.parametrize(
    ("schedule", "model"), [("sequential", "gcn"), ("g3", "gcn"), ("g3", "gat"), ("intra", "sage")]
)
def test_messages_in_bins_between_processes(tmp_path: Path, schedule: str, model: str) -> None:
    settings = {"model": model, "dtype": "float64", "epochs": 5, "bins": 3}
    alone = run(tmp_path, "local", **settings, schedule="sequential")
    result = run(tmp_path, "p2p", **settings, schedule=schedule, link="50mbit")
    np.testing.assert_allclose(losses(result), losses(alone), rtol=1e-12)
    widths = {"gcn": 3, "sage": 3, "gat": 3}[model]  # of the second layer: it narrows to the classes
    assert result["bytes_up"] == result["bytes_down"] == 5 * 2 * 8 * widths * result["settings"]["remote_copies"]


def test_a_link_is_as_slow_as_it_says(tmp_path: Path) -> None:
    settings = {"schedule": "sequential", "epochs": 3, "layers": 3, "hidden": 32}
    slow = run(tmp_path, "p2p", **settings, link="1mbit")
    busiest = max(worker["bytes_up"] for worker in slow["per_worker"])
    waited = sum(epoch["communication_seconds"] for epoch in slow["per_epoch"])
    assert waited > 0.9 * 8 * busiest / 1e6
    assert losses(slow).tolist() == losses(run(tmp_path, "p2p", **settings)).tolist()


@pytest.mark.parametrize("how", [[], ["--priorities", "hermod"]], ids=["gloo", "coflows"])
def test_a_worker_that_is_killed_ends_the_run_with_one_line(how: list[str]) -> None:
    command = [sys.executable, "-m", "offramp", "train", "--graph", GRAPH, "--workers", "3", "--propagator", "p2p"]
    command += ["--schedule", "g3", "--link", "1M", "--epochs", "100000", "--hidden", "32", *how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        while "epoch" not in running.stdout.readline():
            pass
        parents = children(running.pid)
        workers = [worker for parent in parents for server in children(parent) for worker in children(server)]
        os.kill(workers[-1], signal.SIGKILL)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 2
    assert "was killed by SIGKILL; the run has ended" in errors


def test_a_plan_of_another_graph_partition_or_memory_is_refused(tmp_path: Path) -> None:
    from offramp_cli.switchgnn.plan import plan

    file = tmp_path / "plan.npz"
    plan(graph=GRAPH, workers=3, partition="hash", memory="64KB", width=8, save=str(file))
    wanted = {"plan": file, "memory": "64KB", "epochs": 2}
    assert (
        losses(run(tmp_path, "switch", **wanted)).tolist()
        == losses(run(tmp_path, "p2p", codec="fixed", epochs=2)).tolist()
    )
    for options, message in (
        ({"memory": "32KB"}, r"made for a switch of 500 aggregators, expected 250 \(32000 B\)"),
        ({"seed": 1}, "made for another graph or partition: fingerprint [0-9a-f]{12}, expected [0-9a-f]{12}"),
        ({"partition": "chunk"}, "made for another graph or partition"),
        ({"hidden": 40}, r"made for features of 1 packets, the layers take \[1, 2\]"),
    ):
        with pytest.raises(OfframpError, match=f"--plan .*: {message}"):
            run(tmp_path, "switch", **{**wanted, **options})


@pytest.mark.p4
def test_a_carried_scale_trains_alike(local: dict, tmp_path: Path) -> None:
    result = run(tmp_path, "switch", scale="carried", epochs=6)
    np.testing.assert_allclose(losses(result), losses(local)[:6], rtol=1e-4)


@pytest.mark.p4
def test_links_that_lose_and_double_packets_change_no_bit(tmp_path: Path) -> None:
    options = {"epochs": 3, "memory": "8KB"}
    lossy = run(tmp_path, "switch", loss=0.05, duplicate=0.05, retry=0.05, **options)
    host = run(tmp_path, "p2p", codec="fixed", **options)
    assert losses(lossy).tolist() == losses(host).tolist()
    assert lossy["test_accuracy"] == host["test_accuracy"]


@pytest.mark.p4
@pytest.mark.parametrize(
    "network",
    [
        {},
        pytest.param({"loss": 0.05, "duplicate": 0.05, "retry": 0.05}, marks=pytest.mark.slow),
        pytest.param({"racks": 2}, marks=pytest.mark.slow),
        {"target": "tna"},
    ],
    ids=["star", "faults", "racks", "tna"],
)
def test_acknowledged_sums_are_the_same_sums(network: dict, tmp_path: Path) -> None:
    options = {"epochs": 3, "memory": "8KB"}
    acknowledged = run(tmp_path, "switch", acks=True, **options, **network)
    plain = run(tmp_path, "p2p", codec="fixed", **options)
    assert losses(acknowledged).tolist() == losses(plain).tolist()
    assert acknowledged["test_accuracy"] == plain["test_accuracy"]
    if not network:
        quiet = run(tmp_path, "switch", **options)
        assert losses(quiet).tolist() == losses(plain).tolist()
        assert acknowledged["wire_bytes_down"] > quiet["wire_bytes_down"]
        assert acknowledged["bytes_down"] == quiet["bytes_down"]


@pytest.mark.slow
@pytest.mark.p4
@pytest.mark.parametrize("faults", [{}, {"loss": 0.05, "duplicate": 0.05, "retry": 0.05}], ids=["marks", "faults"])
def test_a_switch_that_marks_all_packets_changes_times_alone(faults: dict, tmp_path: Path) -> None:
    """With acknowledgements and without: the marks slow the workers down, and every sum stays what it was."""
    from offramp.p4src import p4_text
    from offramp_p4 import EmbeddedSwitch

    info, program = tmp_path / "none.txtpb", tmp_path / "marking.p4"
    info.write_bytes(b"")  # the embedded switch describes its program itself
    program.write_text(p4_text("switchgnn/v1model.p4", {"ECN_DEPTH": 0}))
    with EmbeddedSwitch(None, [1, 2, 3]) as switch:
        ports = ",".join(f"{n}@{s}" for n, s in zip(switch.port_numbers, switch.port_specs, strict=True))
        live = {"switch": switch.address, "ports": ports, "p4info": info, "device_config": program}
        options = {"epochs": 2, "memory": "8KB"}
        marked = [run(tmp_path, "switch", acks=acks, **options, **live, **faults) for acks in (False, True)]
    plain = run(tmp_path, "p2p", codec="fixed", **options)
    for each in marked:
        assert losses(each).tolist() == losses(plain).tolist()
        assert each["test_accuracy"] == plain["test_accuracy"]


def _no_times() -> dict[str, None]:
    return dict.fromkeys(("seconds", "communication_seconds", "reduction_seconds", "processor_seconds"))


@pytest.mark.p4
def test_a_live_switch_serves_one_run_after_another(local: dict, tmp_path: Path) -> None:
    from offramp_p4 import EmbeddedSwitch

    with EmbeddedSwitch(None, [4, 9, 2]) as switch:
        ports = ",".join(f"{n}@{s}" for n, s in zip(switch.port_numbers, switch.port_specs, strict=True))
        live = {"switch": switch.address, "ports": ports, "epochs": 3}
        first, second = (run(tmp_path, "switch", **live) for _ in range(2))
    assert losses(first).tolist() == losses(second).tolist()
    assert first["passes"] == second["passes"]
    np.testing.assert_allclose(losses(first), losses(local)[:3], rtol=1e-4)


def test_torchrun_starts_the_workers(local: dict, tmp_path: Path) -> None:
    settings = {**TINY, "workers": 2, "epochs": 5, "schedule": "g3", "bins": 2, "link": "50mbit"}
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\nfrom offramp_cli.train import train\n"
        f"train(propagator='p2p', json=Path(sys.argv[1]), **{settings})\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    out = tmp_path / "out.json"
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(script), str(out)], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("epoch 5/5") == 1
    result = json.loads(out.read_text())
    assert len(result["per_worker"]) == 2
    np.testing.assert_allclose(losses(result), losses(local)[:5], rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 151}, "--workers 151: the graph has 150 vertices, expected at most one worker for each"),
        (
            {"memory": "100"},
            "--memory 100 B: holds 0 aggregators; an edge needs 1 at each end, expected at least 256 B",
        ),
        ({"memory": "lots"}, "--memory lots: expected a size such as 4MB, 512KiB or 4096"),
        ({"switch": "127.0.0.1:1"}, "--ports: expected 3 links, one for each worker, got 0"),
        ({"loss": 1.0}, "--loss 1: expected at least 0 and below 1"),
        ({"duplicate": 0.1, "propagator": "p2p"}, "--duplicate 0.1: goes with --propagator switch only"),
        ({"acks": True, "propagator": "p2p"}, "--acks: goes with --propagator switch only"),
        ({"retry": 0.0}, "--retry 0: expected more than 0"),
        ({"ports": "a,b,c"}, "--ports: goes with --switch ADDRESS only"),
        ({"switch": "x", "propagator": "p2p"}, "--switch: goes with --propagator switch or strawman only"),
        (
            {"switch": "x:1", "ports": "a,b,c", "p4info": Path("p")},
            "--p4info: goes with --device-config only, and vice versa",
        ),
    ],
)
def test_golden_errors(options: dict, message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        train(**{**TINY, "propagator": "switch", **options})
    assert str(caught.value) == message


def test_a_switch_that_does_not_answer_is_named_at_once() -> None:
    with pytest.raises(OfframpError, match=r"switch 127\.0\.0\.1:1 does not answer: connection refused"):
        train(**TINY, switch="127.0.0.1:1", ports="lo,lo,lo")


def test_a_json_path_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OfframpError, match=r"^--json .*x.json: cannot be written: "):
        train(**{**TINY, "epochs": 1}, propagator="local", json=tmp_path / "file" / "x.json")


@pytest.mark.p4
def test_a_switch_that_dies_ends_the_run_with_one_line() -> None:
    from offramp_p4 import EmbeddedSwitch

    with EmbeddedSwitch(None, [1, 2, 3]) as switch:
        ports = ",".join(switch.port_specs)
        killer = threading.Timer(6.0, os.kill, (switch.pid, signal.SIGKILL))
        killer.start()
        with pytest.raises(OfframpError) as caught:
            train(**{**TINY, "epochs": 100_000}, switch=switch.address, ports=ports)
        killer.join()
    assert "\n" not in str(caught.value)
    assert not multiprocessing.active_children()
