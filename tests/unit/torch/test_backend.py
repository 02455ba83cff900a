# SPDX-License-Identifier: Apache-2.0
"""The backend with a process for each rank: programs' bits, every form through an offload, faults, our own systems."""

from __future__ import annotations

import re
import shutil

import pytest

torch = pytest.importorskip("torch")
if shutil.which("g++") is None:
    pytest.skip("g++ is missing", allow_module_level=True)

import torch_programs  # noqa: E402
import torch_ranks  # noqa: E402
from offramp.torch import build  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    build.load()  # once for this machine and PyTorch: a minute


def run(work, item=None, ranks=3):
    heard = []
    return run_workers(work, [item] * ranks, heard.append), heard


def test_unmodified_programs_end_with_gloos_bits():
    wrong, heard = run(torch_ranks.programs, (list(torch_programs.PROGRAMS), [1]), ranks=2)
    assert wrong == []
    assert heard == []


@pytest.mark.slow
def test_unmodified_programs_end_with_gloos_bits_over_100_seeds():
    wrong, heard = run(torch_ranks.programs, (list(torch_programs.PROGRAMS), list(range(100))), ranks=2)
    assert wrong == []
    assert heard == []


def test_every_form_goes_through_an_offload_or_by_gloo():
    results, heard = run(torch_ranks.forms, "cpu")
    assert heard == []
    for dtype in ("torch.float32", "torch.int64"):
        for fault in ("", "decline", "open"):
            wrong, kinds, counted = results[f"{dtype} {fault}"]
            assert wrong == []
            carried = {kind for by in counted for kind in counted[by]}
            assert carried == {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "send", "recv"}
            assert len(kinds) == (0 if fault == "open" else 11)
            if fault:
                assert set(counted) == {"gloo"}  # whoever declines or cannot be opened has carried out nothing
            else:
                assert set(counted["gloo"]) == {"all_reduce"}  # MAX, MIN and PRODUCT
                assert counted["gloo"]["all_reduce"]["calls"] == 3


def test_faults_are_one_line_on_every_rank_with_rank_collective_and_number():
    results, _ = run(torch_ranks.faults)
    every = "rank {} does collective {}, {}, rank 0 does collective {}, SUM all_reduce (4,) of float32"
    for number, name, other in (
        (1, "shape", "SUM all_reduce (5,) of float32"),
        (2, "type", "SUM all_reduce (4,) of int32"),
        (3, "another", "all_gather (2,) of float32"),
    ):
        for rank, line in enumerate(results[name]):
            assert re.match(rf"all_\w+ {number} by counting on rank {rank}: ", line)
            assert line.endswith(every.format(1, number, other, number))
    assert results["afterwards"] == ["nothing"] * 3
    assert results["sum"] == ["[3.0, 3.0, 3.0, 3.0]"] * 3
    for rank in range(3):
        assert results["fail"][rank] == f"all_reduce 5 by counting on rank {rank}: the switch has gone"
        assert results["verify"][rank].startswith(f"all_reduce 1 on rank {rank} of group 0: rank 1 does collective 1, ")
    assert results["missing"][1] == "nothing"
    for rank in (0, 2):
        line = results["missing"][rank]
        assert line.startswith(f"all_reduce 1 on rank {rank} of group 0: rank 1 did not take part; ")
        assert "\n" not in line
    assert "0-rank0.json" in results["dump"][0]


def test_what_runs_is_observed_and_what_waits_is_aborted():
    results, _ = run(torch_ranks.observed)
    assert results["ranges"] == [("gloo:broadcast", [[8]]), ("offramp:all_reduce", [[8]])]
    assert results["last"] == [(1, "all_reduce", "counting"), (2, "broadcast", "gloo"), (3, "all_reduce", "counting")]
    assert (results["half"], results["half size"], results["described"], results["sequence"]) == (1, 2, "half", 1)
    assert results["monitored"].startswith("[Rank 0]: Ranks 1 failed to pass monitoredBarrier")
    assert results["aborted"] == "aborted"
    assert results["after"] < 1.5  # gloo itself would wait for the timeout of three seconds


def test_a_signal_dumps_where_every_rank_is_while_one_hangs(tmp_path):
    results, heard = run(torch_ranks.hung, str(tmp_path))
    assert heard == []
    assert results["sum"] == [3.0] * 4  # nobody was disturbed
    for rank, dump in enumerate(results["dumps"]):
        assert (dump["rank"], dump["reason"]) == (rank, "SIGUSR1")
        assert dump["counters"] == {"counting": {"all_reduce": {"calls": 1, "bytes": 16, "failed": 0}}}
        started = [(row["number"], row["by"], row["seconds"] is None) for row in dump["collectives"]]
        assert started == [(1, "counting", False), (2, "counting", True)][: 1 if rank == 1 else 2]
        inner = " ".join(dump["stack"])
        assert ("stays_away" if rank == 1 else "all_reduce") in inner


def test_our_systems_carry_out_what_programs_call(tmp_path):
    dimensions = "".join(f"  - {{type: switch, size: 2, rate: {g}gbit}}\n" for g in (2, 1))
    (tmp_path / "pod.yaml").write_text("dimensions:\n" + dimensions)
    results, _ = run(torch_ranks.systems, str(tmp_path), 4)
    for name, (worst, calls, _) in results.items():
        assert worst < (1e-3 if name.startswith("sylvie") else 1e-6), name
        assert "all_reduce" in calls or name == "hermod pipeline"
    assert results["hermod mixture_of_experts"][1]["all_to_all"] == 5
    assert set(results["hermod pipeline"][1]) == {"send", "recv"} & set(results["hermod pipeline"][1])
    # DSCP 63 - code: DP of the last microbatch (code 28 and more) below EP and PP.
    assert max(results["hermod data_parallel"][2]) < 36 <= max(results["hermod mixture_of_experts"][2])


def test_without_a_compiler_the_backend_is_in_python():
    results, heard = run(torch_ranks.python_only)
    assert heard == []
    assert results["wrong"] == []
    assert results["offloaded"] == ["all_gather", "all_reduce", "all_to_all", "recv", "reduce_scatter", "send"]
