# SPDX-License-Identifier: Apache-2.0
"""The backend's parts in one process: loading, settings, priorities, staging, who is missing, dumps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402

from offramp.hermod.factors import CType, Factors  # noqa: E402
from offramp.torch import build  # noqa: E402
from offramp.torch.agreement import described  # noqa: E402
from offramp.torch.diagnosis import diagnose, said  # noqa: E402
from offramp.torch.dispatcher import BackendDispatcher  # noqa: E402
from offramp.torch.history import write_dump  # noqa: E402
from offramp.torch.offload import OFFLOADS, CollectiveCall, CollectiveRequest, Offload  # noqa: E402
from offramp.torch.place import OffloadGroup  # noqa: E402
from offramp.torch.priorities import Positions, chunk, priority, type_of  # noqa: E402
from offramp.torch.settings import VARIABLE, NetworkSettings  # noqa: E402
from offramp.torch.staging import staged  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402


def request(kind="all_reduce", group="default_pg", size=1 << 20, reduce="SUM", dtype=torch.float32):
    return CollectiveRequest(kind, "single", dtype, reduce, size, group, 4)


def python(code: str, tmp_path: Path, points: str, **env: str) -> str:
    info = tmp_path / "offramp-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: offramp\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(points)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **env},
    )
    return done.stdout + done.stderr


@pytest.mark.full
def test_import_torch_registers_the_backend_and_imports_nothing_heavy(tmp_path):
    points = "[torch.backends]\nofframp = offramp.torch:autoload\n"
    code = (
        "import torch, sys\n"
        "print(torch.distributed.Backend.OFFRAMP, torch.distributed.Backend.backend_capability['offramp'])\n"
        "print(sorted(m for m in sys.modules if m.startswith('offramp')), 'yaml' in sys.modules)"
    )
    out = python(code, tmp_path, points)
    assert "offramp ['cpu', 'cuda']\n" in out
    parts = [f"offramp.torch.{part}" for part in ("gates", "gloo_threads", "names", "registration", "types")]
    modules = ["offramp", "offramp.torch", *parts, "offramp_base", "offramp_base.lazy"]
    assert f"{modules} False" in out


@pytest.mark.full
def test_a_backend_that_cannot_be_registered_is_a_warning_and_torch_is_imported(tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, types\n"
        "class Broken:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'offramp.torch.registration': raise RuntimeError('broken')\n"
        "sys.meta_path.insert(0, Broken())\n"
    )
    out = python("import torch; print('imported')", tmp_path, "[torch.backends]\nofframp = offramp.torch:autoload\n")
    assert "imported" in out
    assert "torch.distributed has no backend offramp: broken" in out


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("lest: 5\n", r"net.yaml:1: lest: no such field; the nearest is least$"),
        ("verify: true\nleast: -1\n", r"net.yaml:2: least -1: expected at least 0$"),
        ("bits: 3\n", r"net.yaml:1: bits 3: expected 1, 2, 4 or 8$"),
        ("devices: [cpu]\n", r"net.yaml:1: devices cpu: expected NAME=DEVICE$"),
    ],
)
def test_a_fault_in_the_network_s_file_is_one_line(tmp_path, monkeypatch, text, line):
    path = tmp_path / "net.yaml"
    path.write_text(text)
    monkeypatch.setenv(VARIABLE, str(path))
    with pytest.raises(OfframpError, match=line):
        NetworkSettings.from_environment()


def test_the_network_s_file_and_its_absence(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert NetworkSettings.from_environment() is None
    path = tmp_path / "net.yaml"
    path.write_text("offloads: [hermod, dp:leo]\nleast: 4KiB\n")
    monkeypatch.setenv(VARIABLE, str(path))
    assert NetworkSettings.from_environment() == NetworkSettings(offloads=("hermod", "dp:leo"), least=4096)


def test_an_unknown_offload_is_answered_with_those_there_are():
    with pytest.raises(OfframpError, match=r"offload hermot: expected one of .*hermod, .*leo, .*nearest: hermod"):
        BackendDispatcher(place(0, 1), NetworkSettings(offloads=("hermot",)))


class Sums(Offload):
    kinds = ("all_reduce",)
    dtypes = (torch.float32,)


def place(rank: int, size: int, store=None) -> OffloadGroup:
    return OffloadGroup(rank, size, tuple(range(size)), f"of {size}", store or dist.HashStore(), timedelta(seconds=1))


def test_a_collective_goes_to_the_first_offload_that_takes_it_by_group_size_type_and_operation():
    OFFLOADS.register("sums-for-test")(Sums)
    chooser = BackendDispatcher(place(0, 4), NetworkSettings(offloads=("dp:sums-for-test",), least=1000))
    assert chooser._choose(request(group="mesh_dp")).name == "sums-for-test"
    assert chooser._choose(request(group="mesh_tp")) is None
    assert chooser._choose(request(group="mesh_dp", size=999)) is None
    assert chooser._choose(request(group="mesh_dp", reduce="MAX")) is None
    assert chooser._choose(request(group="mesh_dp", dtype=torch.int32)) is None
    assert chooser._choose(request("all_gather", "mesh_dp", reduce="")) is None
    assert (chooser.least("all_reduce"), chooser.least("all_gather")) == (1000, None)
    assert BackendDispatcher(place(0, 4), None).least("all_reduce") is None
    assert BackendDispatcher(place(0, 4), NetworkSettings(verify=True)).least("barrier") == 0


@pytest.mark.parametrize(
    ("group", "kind", "expected"),
    [
        ("mesh_dp", "all_reduce", CType.DP),
        ("mesh_ep", "all_reduce", CType.EP),
        ("mesh_pp", "all_gather", CType.PP),
        ("default_pg", "all_to_all", CType.EP),
        ("default_pg", "send", CType.PP),
        ("undefined", "all_reduce", CType.DP),
    ],
)
def test_the_type_follows_from_the_group_or_the_kind(group, kind, expected):
    assert type_of(request(kind, group)) is expected


def backward(positions: Positions, calls: int) -> list[Factors | None]:
    """Factors of collectives that a backward pass calls, as DistributedDataParallel does for its buckets."""
    tags = []
    leaf = torch.ones(1, requires_grad=True)
    middle = leaf * 1
    middle.register_hook(lambda _: tags.extend(positions.of(request(group="mesh_dp"))[1] for _ in range(calls)))
    middle.backward()
    return tags


def test_buckets_of_a_backward_pass_go_from_the_last_layer_to_the_first():
    positions = Positions(NetworkSettings(micro_batches=4, layers=8))
    backward(positions, 4)  # how many there are is known from the second pass on
    positions.of(request("broadcast"))
    assert [f.lid for f in backward(positions, 4)] == [7, 5, 3, 1]
    assert {(f.mid, f.ctype) for f in backward(positions, 4)} == {(3, CType.DP)}


def test_a_pipeline_s_chunk_says_the_microbatch_and_a_program_may_say_all():
    positions = Positions(NetworkSettings(micro_batches=4, layers=8))
    with chunk(2, 5):
        assert positions.of(request("send"))[1] == Factors(2, CType.PP, 5)
    said = Factors(1, CType.EP, 3)
    with priority(said):
        assert positions.of(request())[1] == said
    assert Positions(NetworkSettings()).of(request()) == (0, None)


def test_stages_of_pipelines_tell_their_microbatch():
    from torch.distributed.pipelining.stage import _PipelineStageBase

    from offramp.torch.pipelines import watch_pipelines

    watch_pipelines()
    watch_pipelines()
    assert _PipelineStageBase.forward_one_chunk.__wrapped__.__name__ == "forward_one_chunk"
    assert not hasattr(_PipelineStageBase.forward_one_chunk.__wrapped__, "__wrapped__")


def test_staged_tensors_are_copies_whose_results_come_back():
    values, other = torch.ones(3), torch.zeros(2)
    call = CollectiveCall(request(), 1, [values, other], [values], [], [], -1, 0, None)
    here, bring_back = staged(call, torch.clone)
    assert here.inputs[0] is here.outputs[0]
    here.outputs[0].add_(1)
    here.outputs[1].fill_(5)
    assert values.tolist() == [1, 1, 1]
    bring_back()
    assert (values.tolist(), other.tolist()) == ([2, 2, 2], [5, 5])
    assert staged(call)[0] is call


def record(number=7, shape=(4,), **more):
    known = {"kind": "all_reduce", "form": "single", "dtype": "Float", "reduce": "SUM", "peer": -1}
    return SimpleNamespace(**known | {"number": number, "shape": list(shape)} | more)


def test_a_failure_names_who_is_missing_and_who_does_something_else():
    store = dist.HashStore()
    other = {"number": 7, "doing": described("all_reduce", "single", "float32", (5,), "SUM", -1)}
    store.set("offramp/failed/1/7", json.dumps(other))
    line = diagnose(place(0, 3, store), record(), "Timed out\nwaiting")
    assert line == (
        "all_reduce 7 on rank 0 of group of 3: rank 2 did not take part; rank 1 does SUM all_reduce (5,) of float32 "
        "(number 7), this rank SUM all_reduce (4,) of float32; Timed out waiting"
    )
    assert json.loads(store.get("offramp/failed/0"))["number"] == 7


def test_a_failure_accuses_nobody_of_another_call():
    store = dist.HashStore()
    for rank, number in ((1, 3), (2, 9)):
        store.set(f"offramp/failed/{rank}", json.dumps({"number": number, "doing": "all_to_all of int8"}))
    line = diagnose(place(0, 3, store), record(), "Timed out", done=5)
    assert line.startswith("all_reduce 7 on rank 0 of group of 3: rank 1 did not take part; rank 2 does all_to_all")
    store.set("offramp/failed/1/7", json.dumps({"number": 7, "doing": said(record())}))
    store.set("offramp/failed/2/7", json.dumps({"number": 7, "doing": said(record())}))
    assert diagnose(place(0, 3, store), record(), "no sum") == "all_reduce 7 on rank 0 of group of 3: no sum"
    assert diagnose(place(0, 3, store), record(kind="recv", peer=1), "Timed out") == (
        "recv 7 on rank 0 of group of 3: Timed out"
    )
    assert "rank 1 did not take part or finished before" in diagnose(
        place(0, 2, dist.HashStore()), record(kind="broadcast", peer=0), "Timed out"
    )


def test_types_are_named_as_in_python_and_a_barrier_has_none():
    assert said(record(dtype="Float8_e4m3fn")) == "SUM all_reduce (4,) of float8_e4m3fn"
    assert said(record(dtype="QInt8")) == "SUM all_reduce (4,) of qint8"
    assert said(record(kind="barrier", form="", dtype="", reduce="", shape=())) == "barrier"


def test_a_store_that_has_gone_leaves_what_gloo_said():
    gone = SimpleNamespace(set=lambda *_: (_ for _ in ()).throw(RuntimeError("connection reset")))
    assert diagnose(place(0, 2, gone), record(), "peer closed") == "all_reduce 7 on rank 0 of group of 2: peer closed"


def test_a_dump_holds_the_last_collectives(tmp_path):
    row = record(id=1, bytes=16, route="hermod", error="", started=1.0, seconds=-1.0)
    total = SimpleNamespace(calls=2, bytes=8, failed=1)
    recorder = SimpleNamespace(entries=lambda: [row], totals=lambda: {("gloo", "barrier"): total})
    dispatcher = SimpleNamespace(place=place(1, 2), desc="mesh_dp", recorder=recorder)
    path = write_dump(tmp_path / "new", dispatcher, "asked for")
    assert path.name == "of-2-rank1.json"
    said = json.loads(path.read_text())
    assert said["schema"] == "offramp.torch.collectives/1"
    assert said["counters"] == {"gloo": {"barrier": {"calls": 2, "bytes": 8, "failed": 1}}}
    assert (said["collectives"][0]["by"], said["collectives"][0]["seconds"]) == ("hermod", None)
    (tmp_path / "file").touch()
    with pytest.raises(OfframpError, match=r"dump .*file/of-2-rank1.json: "):
        write_dump(tmp_path / "file", dispatcher, "")


def test_a_compiler_that_is_not_there_or_fails_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delitem(sys.modules, build.NAME, raising=False)
    for compiler, line in (("no-such-compiler", "no compiler no-such-compiler"), ("false", "the compiler failed")):
        monkeypatch.setenv("CXX", compiler)
        with pytest.raises(OfframpError, match=f"the backend's extension: {line}"):
            build.load()
    assert list(tmp_path.rglob("*.so")) == []


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_tensors_of_a_gpu_go_by_pinned_copies():
    values = torch.ones(3, device="cuda")
    here, bring_back = staged(CollectiveCall(request(), 1, [values], [values], [], [], -1, 0, None))
    assert here.inputs[0].is_pinned()
    here.outputs[0].add_(1)
    bring_back()
    assert values.tolist() == [2, 2, 2]
