# SPDX-License-Identifier: Apache-2.0
"""Registries: what ships, what a package outside brings, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from offramp_base.registry import Registry

ROOT = Path(__file__).parents[2]
OUTSIDE = ROOT / "tests/support/outside"


def install(folder: Path, package: str, points: str) -> None:
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


def test_a_decorator_registers() -> None:
    things: Registry[object] = Registry("thing", "offramp.test_things")
    first = things.register("first")(object())
    assert things.names() == ["first"]
    assert things.get("first") is first
    assert "first" in things
    assert "second" not in things


def test_an_unknown_name_gets_the_nearest() -> None:
    things: Registry[int] = Registry("thing", "offramp.test_things")
    things.register("sylvie")(1)
    things.register("adaqp")(2)
    with pytest.raises(OfframpError, match=r"^thing silvie: expected one of adaqp, sylvie; nearest: sylvie$"):
        things.get("silvie")
    things.register("silvies")(3)  # of two names as near, only one is said
    with pytest.raises(OfframpError, match=r"; nearest: \w+$"):
        things.get("silvie")


def test_one_name_twice_is_refused() -> None:
    things: Registry[int] = Registry("thing", "offramp.test_things")
    things.register("one")(1)
    with pytest.raises(OfframpError, match=r"^thing one: registered twice$"):
        things.register("one")(2)


def test_two_packages_of_one_name_are_refused_by_both_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "a", "alpha", "[offramp.test_things]\nx = alpha.things:x\n")
    install(tmp_path / "b", "beta", "[offramp.test_things]\nx = beta.things:x\n")
    for folder in ("a", "b"):
        monkeypatch.syspath_prepend(str(tmp_path / folder))
    things: Registry[int] = Registry("thing", "offramp.test_things")
    with pytest.raises(OfframpError, match=r"thing x: both .*things:x of .* and .*things:x of .* bring it") as error:
        things.names()
    assert all(name in str(error.value) for name in ("alpha.things:x of alpha", "beta.things:x of beta"))


def test_a_package_must_not_replace_what_ships(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "alpha", "[offramp.test_things]\nx = alpha.things:x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    things: Registry[int] = Registry("thing", "offramp.test_things")
    things.register("x")(1)
    with pytest.raises(OfframpError, match=r"^thing x: Offramp has one, and alpha.things:x of alpha brings another$"):
        things.get("x")


def test_what_cannot_be_imported_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "alpha", "[offramp.test_things]\nx = alpha_is_not_there:x\ny = json:nothing\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    things: Registry[int] = Registry("thing", "offramp.test_things")
    with pytest.raises(OfframpError, match=r"^thing x: this installation lacks alpha_is_not_there$"):
        things.get("x")
    with pytest.raises(OfframpError, match=r"^thing y: json:nothing of alpha cannot be imported: "):
        things.get("y")


PROGRAM = """
from offramp.graph.load import load as load_graph
from offramp.leo.devices import open_device
from offramp.train.run import train
from offramp.train.settings import TrainSettings
from offramp_p4.externs import find_extern
from offramp_p4.frontend import load
from offramp_p4.lint import lint
from offramp.p4src import p4_source
from offramp_sim.reproduce.catalogue import find, items

settings = TrainSettings("karate", workers=1, propagator="local", model="smooth", epochs=20)
trained = train(load_graph("karate"), settings).as_dict()["per_epoch"]
assert trained[-1]["loss"] < trained[0]["loss"]
open_device("counted:service_us=1", "c").close()
assert "outside/table1" in [item.name for item in items()]
assert find("outside")[0].reproduce(0.5, 1).comparisons[0].ours == "0.5"
assert "many-tables" in {found.rule for found in lint(load(p4_source("switchgnn/v1model.p4")))}
assert find_extern("parity").behaviour(7) == 1
"""

TRAINING = """
from offramp.dgs.run import train_dgs
from offramp.dgs.settings import DgsSettings
from offramp.graph.load import load as load_graph
from offramp.graph.partition import partition
from offramp.torch.offload import OFFLOADS
from offramp.torchgt.run import train as train_transformer
from offramp.torchgt.settings import TorchGtSettings
from offramp.train.run import train
from offramp.train.settings import TrainSettings
from offramp.unitg.run import train_unitg
from offramp.unitg.settings import UnitgSettings

graph = load_graph("karate")


def losses(**changes):
    settings = TrainSettings("karate", **{"workers": 2, "propagator": "p2p", "epochs": 3, **changes})
    result = train(graph, settings)
    return [epoch.loss for epoch in result.epochs], result.traffic.payload_up


def close(found, expected, much):
    return all(abs(a - b) < much for a, b in zip(found, expected, strict=True))


assert partition(graph, 2, "alternating").tolist() == [0, 1] * 17
exact = losses()
assert close(losses(partition="alternating")[0], exact[0], 1e-4)
assert close(losses(propagator="gathered")[0], exact[0], 1e-4)
plain, half = losses(schedule="g3"), losses(schedule="g3", codec="half")
assert 2 * half[1] == plain[1]
assert plain[0] != half[0] and close(plain[0], half[0], 1e-2)
assert OFFLOADS.get("alone").kinds == ("all_reduce",)
result = train_dgs(graph, DgsSettings("karate", workers=2, sampler="first", fanout=(2,), epochs=2, batch=4))
assert result.totals()["edges_sampled"] > 0
smooth = train_dgs(graph, DgsSettings("karate", workers=1, model="smooth", fanout=(2,), epochs=2))
assert smooth.totals()["edges_sampled"] > 0
piped = train_unitg(graph, UnitgSettings("karate", stages=2, model="smooth", layers=2, mode="alone", epochs=3))
assert len(piped.epochs) == 3
narrow = train_transformer(TorchGtSettings("karate", workers=1, model="narrow", epochs=2))
assert narrow.settings['hidden'] == 8
"""

PLANNING = """
from offramp.dgtp.search import Search, search
from offramp.themis.demand import Demand
from offramp.themis.network import Collective
from offramp.themis.plan import make_plan, schedulers
from offramp.themis.topologies import PAPER
from offramp_sim.dgtp.native.machine import FastCluster
from offramp_sim.dgtp.setups import make_setup

network, demands = PAPER["3D-SW_SW_SW_homo"], [Demand(Collective.ALL_REDUCE, 10**8)]
ours, theirs = (make_plan(network, demands, name) for name in ("baseline", "reversed"))
assert schedulers()[-1] == "reversed"
assert theirs.as_json()["scheduler"] == "reversed"
assert theirs.finish_ps > 0 and theirs.digest() != ours.digest()
problem = make_setup("testbed-products-ps", 0).problem
piled, feasible = (search(problem, FastCluster, Search(method=name), processes=1) for name in ("piled", "ifs"))
assert problem.feasible(piled.machine)
assert len(set(piled.machine.tolist())) <= len(set(feasible.machine.tolist()))
"""


LEO = """
import numpy as np

from offramp.device import Status
from offramp.leo.native.batch import RequestBatch
from offramp.leo.native.dataflow import Dataflow, Trip
from offramp.leo.runtime.process import ResponderPlan, ResponderProcess
from offramp.leo.runtime.requester import Requester, RequesterSettings
from offramp.leo.selection import Table, named
from offramp_outside.leo_transport import CountedLink

trips = (Trip("reverse", remote="slow"),), (Trip("reverse", remote="fast"),)
program = Dataflow(Table.disjoint([9e6, 1e3], [9e6, 1e3], paths=("slow", "fast")), (trips,))
devices = {"slow": "model:service_us=1", "fast": "model:service_us=1"}
process = ResponderProcess(ResponderPlan("offramp.leo.runtime.service:prepare", {}, devices, listen="127.0.0.1:0"))
settings = RequesterSettings(rows=64, transport="counted", policy=named("last_path"))
requester = Requester(program, [process], settings=settings)
zero, text = np.zeros(1, np.int64), np.frombuffer(b"abc", np.uint8)
assert requester.admit(RequestBatch(zero, zero, text, zero, zero + 3), zero) == 1
while not (done := requester.collect()).count:
    requester.step()
assert (done.statuses[0], done.answer(0), done.paths[0]) == (Status.OK, b"cba", 1)
requester.selector.set_down([1], 0)
assert requester.selector.choose(5, 0, None, 0) == 0
assert CountedLink.pumps > 0
requester.close()
process.close()
"""


@pytest.mark.full
@pytest.mark.parametrize("program", [PROGRAM, TRAINING, PLANNING, LEO], ids=["more", "training", "planning", "leo"])
def test_a_package_outside_adds_one_of_each(program: str, tmp_path: Path) -> None:
    paths = [str(ROOT / folder) for folder in ("base", "switch", "host", "sim", "cli")]
    script = tmp_path / "script.py"  # a file, as workers of a run import what started them
    script.write_text("if __name__ == '__main__':\n" + "".join(f"    {line}\n" for line in program.splitlines()))
    environment = {"PYTHONPATH": ":".join([str(OUTSIDE), *paths]), "PATH": os.environ["PATH"], "HOME": "/tmp"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
