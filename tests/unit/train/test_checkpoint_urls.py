# SPDX-License-Identifier: Apache-2.0
"""Checkpoints at URLs: PyTorch reads them, any number of workers resumes, killed writers and strangers do no harm.

Blind spot: stores other than S3, whose uploads may not be atomic.
"""

from __future__ import annotations

import enum
import io
import pickle
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest
import torch
from torch.distributed import checkpoint as dcp
from torch.distributed.checkpoint import FileSystemReader
from torch.distributed.checkpoint.metadata import ChunkStorageMetadata, MetadataIndex

from offramp.models import make_model
from offramp.train.job import layer_widths
from offramp.train.locations import CheckpointLocation
from offramp.train.planned import plan_run
from offramp.train.propagators.channel import open_channel
from offramp.train.settings import TrainSettings
from offramp.train.stored_state import completed_epochs, forget
from offramp.train.trainer import Trainer
from offramp_base.errors import OfframpError

BASE = TrainSettings("random", workers=2, propagator="p2p", hidden=5, epochs=4, partition="hash", dtype="float64")


@pytest.fixture
def url(request):
    where = f"memory://runs/{request.node.nodeid.replace('/', '-')}"
    yield where
    forget(where)


def trained(in_group, graph, settings) -> tuple[list[float], dict[str, torch.Tensor]]:
    """Losses and the model's weights."""
    jobs = plan_run(graph, settings).jobs([])

    def work(group):
        with open_channel(jobs[group.rank], group) as channel:
            trainer = Trainer(jobs[group.rank], group, channel)
            return [epoch.loss for epoch in trainer.run()], trainer.model.state_dict()

    return in_group(settings.workers, work)[0]


def files(where: str) -> dict[str, bytes]:
    system, path = fsspec.core.url_to_fs(where)
    return {name.removeprefix(f"{path}/"): system.cat_file(name) for name in system.find(path)}


def test_a_resumed_run_has_the_same_bits_and_each_rank_wrote_its_part(in_group, graph, url) -> None:
    settings = replace(BASE, checkpoint=url, checkpoint_every=2, dropout=0.2)
    whole, _ = trained(in_group, graph, settings)
    trained(in_group, graph, replace(settings, epochs=3))  # over the checkpoint of another run
    assert completed_epochs(url) == 3
    latest, *parts = sorted(files(url), key=lambda name: name != "latest")
    folder = parts[0].partition("/")[0]
    assert [latest, *sorted(parts)] == [
        "latest",
        *(f"{folder}/{n}" for n in (".metadata", "__0_0.distcp", "__1_0.distcp")),
    ]
    assert trained(in_group, graph, replace(settings, resume=url))[0] == whole[3:]


@pytest.mark.full
@pytest.mark.parametrize("workers", [1, 3])
def test_another_number_of_workers_resumes(in_group, graph, url, workers: int) -> None:
    whole, _ = trained(in_group, graph, replace(BASE, dropout=0.2))
    trained(in_group, graph, replace(BASE, dropout=0.2, epochs=2, checkpoint=url))
    resumed, _ = trained(in_group, graph, replace(BASE, dropout=0.2, workers=workers, resume=url))
    assert resumed == pytest.approx(whole[2:], abs=1e-12)


@pytest.mark.full
@pytest.mark.parametrize("changes", [{"schedule": "stale"}, {"codec": "q8", "dtype": "float32"}, {"sample": 0.5}])
def test_what_depends_on_the_workers_is_not_resumed_by_others(in_group, graph, url, changes) -> None:
    settings = replace(BASE, **({"schedule": "sequential"} | changes))
    trained(in_group, graph, replace(settings, epochs=2, checkpoint=url))
    with pytest.raises(OfframpError) as caught:
        plan_run(graph, replace(settings, workers=3, resume=url))
    assert str(caught.value) == f"resume {url}: its workers is 2, this run's is 3"


def test_pytorch_reads_it(in_group, graph, tmp_path: Path) -> None:
    where = tmp_path / "run"
    _, weights = trained(in_group, graph, replace(BASE, checkpoint=f"file://{where}"))
    folder = where / (where / "latest").read_text()
    model = make_model(BASE, layer_widths(graph, BASE)).double()
    state = {"model": {name: torch.zeros_like(value) for name, value in model.state_dict().items()}}
    dcp.load(state, storage_reader=FileSystemReader(folder), no_dist=True)
    for name, value in state["model"].items():
        assert torch.equal(value, weights[name]), name


@pytest.mark.full
@pytest.mark.parametrize("files_written", range(4))
def test_a_writer_that_ends_at_any_file_leaves_the_checkpoint_before(
    in_group, graph, tmp_path: Path, monkeypatch, files_written: int
) -> None:
    where, write, left = f"file://{tmp_path / 'run'}", CheckpointLocation.write, files_written
    trained(in_group, graph, replace(BASE, workers=1, epochs=2, checkpoint=where))

    def ends(location, name: str, content: bytes) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(28, "No space left on device")
        write(location, name, content)

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointLocation, "write", ends)
        run = replace(BASE, workers=1, epochs=3, checkpoint=where, resume=where)
        if files_written < 3:  # rows, their description, latest
            with pytest.raises(OSError, match="No space left"):
                trained(in_group, graph, run)
        else:
            trained(in_group, graph, run)
    completed = 2 if files_written < 3 else 3
    assert completed_epochs(where) == completed
    whole, _ = trained(in_group, graph, replace(BASE, workers=1))
    resumed, _ = trained(in_group, graph, replace(BASE, workers=1, resume=where, checkpoint=where))
    assert resumed == whole[completed:]
    assert len(list((tmp_path / "run").iterdir())) == 2  # latest and its folder; pieces are removed


class Stranger:
    def __reduce__(self):
        return pytest.fail, ("it was executed",)


def _spoilt(what: str, metadata, rows: bytes) -> tuple[object, bytes]:
    """A description and rows of which one thing is wrong."""
    tensors, storage = metadata.state_dict_metadata, metadata.storage_data
    name = next(iter(tensors))
    index = MetadataIndex(name, tensors[name].chunks[0].offsets)
    if what == "code":
        metadata.planner_data = Stranger()
    elif what == "another object":
        return {"epoch": 3}, rows
    elif what == "a tensor less":
        del tensors[name]
    elif what == "another shape":
        tensors[name].size = torch.Size([1 << 40])
    elif what == "another type":
        tensors[name].properties.dtype = torch.int8
    elif what == "no chunks":
        tensors[name].chunks.clear()
    elif what == "rows twice":
        tensors[name].chunks.append(tensors[name].chunks[0])
    elif what == "chunks of text":
        tensors[name].chunks[0] = ChunkStorageMetadata("a", "b")
    elif what == "a file elsewhere":
        storage[index].relative_path = "../../../etc/passwd"
    elif what == "a long piece":
        storage[index].length = 1 << 50
    elif what == "a short piece":
        storage[index].length = 3
    elif what == "compressed rows":
        packed = io.BytesIO()
        piece = rows[storage[index].offset :][: storage[index].length]
        with zipfile.ZipFile(io.BytesIO(piece)) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
            for member in old.namelist():
                new.writestr(member, old.read(member))
        storage[index].offset, storage[index].length = len(rows), len(packed.getvalue())
        rows += packed.getvalue()
    elif what == "pickled rows":
        packed = io.BytesIO()
        torch.save(Stranger(), packed)
        storage[index].offset, storage[index].length = len(rows), len(packed.getvalue())
        rows += packed.getvalue()
    return metadata, rows


WRONG = (
    "code", "another object", "a tensor less", "another shape", "another type", "no chunks", "rows twice",
    "chunks of text", "a file elsewhere", "a long piece", "a short piece", "compressed rows", "pickled rows",
)  # fmt: skip


def test_strangers_files_are_refused_with_one_line_and_nothing_runs(in_group, graph, url) -> None:
    trained(in_group, graph, replace(BASE, workers=1, epochs=2, checkpoint=url))
    system, path = fsspec.core.url_to_fs(url)
    folder = f"{path}/{system.cat_file(f'{path}/latest').decode()}"
    good = {name: system.cat_file(f"{folder}/{name}") for name in (".metadata", "__0_0.distcp")}
    for what in WRONG:
        metadata, rows = _spoilt(what, pickle.loads(good[".metadata"]), good["__0_0.distcp"])
        system.pipe_file(f"{folder}/.metadata", pickle.dumps(metadata))
        system.pipe_file(f"{folder}/__0_0.distcp", rows)
        with pytest.raises(OfframpError) as caught:
            plan_run(graph, replace(BASE, workers=1, resume=url))
        line = str(caught.value)
        assert line.startswith(f"resume {url}: expected a checkpoint: "), (what, line)
        assert "\n" not in line
    for latest in (b"../elsewhere", b"\xff", b"x" * 100):
        system.pipe_file(f"{path}/latest", latest)
        with pytest.raises(OfframpError, match="latest"):
            plan_run(graph, replace(BASE, workers=1, resume=url))
        assert completed_epochs(url) == 0


class _AsPython311(pickle.Pickler):
    """Pickles enumerations by the names of their members, as Python 3.11.2 does, or by another attribute."""

    attribute = ""

    def reducer_override(self, value):
        if isinstance(value, enum.Enum):
            return getattr, (type(value), self.attribute or value.name)
        return NotImplemented


@pytest.mark.parametrize("attribute", ["", "__init__"])
def test_enumerations_by_name_are_read_and_other_attributes_refused(in_group, graph, url, attribute: str) -> None:
    alone = replace(BASE, workers=1, epochs=2)
    trained(in_group, graph, replace(alone, checkpoint=url))
    system, path = fsspec.core.url_to_fs(url)
    place = f"{path}/{system.cat_file(f'{path}/latest').decode()}/.metadata"
    content = io.BytesIO()
    pickler = _AsPython311(content)
    pickler.attribute = attribute
    pickler.dump(pickle.loads(system.cat_file(place)))
    system.pipe_file(place, content.getvalue())
    if attribute:
        with pytest.raises(OfframpError, match="describes no tensors"):
            plan_run(graph, replace(alone, epochs=3, resume=url))
    else:
        losses = [trained(in_group, graph, replace(alone, epochs=3, resume=where))[0] for where in (url, None)]
        assert losses[0] == losses[1][2:]


def test_what_is_missing_is_one_line(graph, monkeypatch) -> None:
    def line(where: str) -> str:
        with pytest.raises(OfframpError) as caught:
            plan_run(graph, replace(BASE, resume=where))
        return str(caught.value)

    assert line("memory://no-such-run").startswith("resume memory://no-such-run: latest: cannot be read: ")
    assert line("gopher://x").startswith("resume gopher://x: expected a URL that fsspec opens: ")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    assert line("s3://bucket/run").startswith("resume s3://bucket/run: needs the package s3fs: ")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    assert line("memory://x").startswith("resume memory://x: needs the package fsspec: ")


@pytest.mark.slow
def test_a_bucket_of_s3(in_group, graph, monkeypatch) -> None:
    """A server of S3's protocol on loopback keeps the checkpoints of a run that goes on with another number."""
    server = pytest.importorskip("moto.server", reason="needs the package moto: pip install 'moto[server]'")
    s3fs = pytest.importorskip("s3fs", reason="needs the package s3fs")
    moto = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    moto.start()
    try:
        address, port = moto.get_host_and_port()
        for name, value in (
            ("AWS_ENDPOINT_URL", f"http://{address}:{port}"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_DEFAULT_REGION", "us-east-1"),
        ):
            monkeypatch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().mkdir("offramp")
        where = "s3://offramp/runs/one"
        whole, _ = trained(in_group, graph, BASE)
        trained(in_group, graph, replace(BASE, epochs=2, checkpoint=where, checkpoint_every=1))
        assert len(files(where)) == 4
        resumed, _ = trained(in_group, graph, replace(BASE, workers=3, resume=where, checkpoint=where))
        assert resumed == pytest.approx(whole[2:], abs=1e-12)
        assert completed_epochs(where) == 4
        forget(where)
        assert files(where) == {}
        with pytest.raises(OfframpError, match="s3://no-such-bucket/x: cannot be written: "):
            trained(in_group, graph, replace(BASE, workers=1, checkpoint="s3://no-such-bucket/x"))
    finally:
        moto.stop()
        s3fs.S3FileSystem.clear_instance_cache()
