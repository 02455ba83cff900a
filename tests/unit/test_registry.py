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
print("all five")
"""


def test_a_package_outside_adds_one_of_each() -> None:
    paths = [str(ROOT / folder) for folder in ("base", "switch", "host", "sim", "cli")]
    environment = {"PYTHONPATH": ":".join([str(OUTSIDE), *paths]), "PATH": os.environ["PATH"], "HOME": "/tmp"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("all five\n", 0), done.stderr
