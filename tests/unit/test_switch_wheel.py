# SPDX-License-Identifier: Apache-2.0
"""The P4 switch and its tools as distributions: what they hold, and that they run where nothing else of Offramp is.

Packages that they need are taken from this environment. Blind spot: their oldest versions.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "p4/examples/reflector.p4"
FOLDERS = {"offramp_p4": ROOT / "switch", "offramp_p4_tools": ROOT / "switch/tools"}
"""The folder from which the distribution of each package is built."""
LIBRARY = """
import importlib, pkgutil, sys
sys.path[:0] = sys.argv[2:]
for absent in ("torch", "scipy", "offramp", "offramp_sim", "offramp_cli"):
    try:
        importlib.import_module(absent)
    except ModuleNotFoundError:
        continue
    sys.exit(f"{absent} is here")

def import_all(*packages):
    for package in packages:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                if (module.name, error.name) not in (
                    ("offramp_p4_tools.language.server", "lsprotocol"),  # the extra "lsp"
                    ("offramp_p4.pytest", "pytest"),  # whose plug-in it is
                ):
                    raise

from offramp_base.errors import OfframpError
from offramp_p4 import Settings, load, make_switch
from offramp_p4.extensions import DEBUGGERS, FORMATS, SERVICES, extension
frame = bytes(range(12)) + b"\\x88\\xb5" + bytes(50)
program = load(sys.argv[1])
"""
ALONE = """
import_all("offramp_base", "offramp_p4")
from offramp_p4.runtime.p4info import generate
outputs = [make_switch(program, engine).process_one(3, frame) for engine in ("native", "python")]
assert outputs[0] == outputs[1] != []
print(generate(program).pkg_info.arch, len(outputs[0]), outputs[0][0][0])
assert importlib.util.find_spec("offramp_p4_tools") is None
for registry, name in ((FORMATS, "json"), (SERVICES, "bfrt"), (SERVICES, "gnmi"), (DEBUGGERS, "dap")):
    try:
        extension(registry, name)
    except OfframpError as error:
        print(error)
"""
TOGETHER = """
import_all("offramp_p4_tools")
import offramp_p4_tools
compiled = offramp_p4_tools.bmv2_text(program)
again = extension(FORMATS, "json")(compiled, "reflector.json", None)
assert make_switch(again, "python").process_one(3, frame) == make_switch(program, "python").process_one(3, frame)
from offramp_p4.serve import build
address = {name: "127.0.0.1:0" for name in ("address", "bfrt", "gnmi", "debug")}
running = build(Settings(program=sys.argv[1], **address))
print(*running.servers, running.debugging.address.family.name)
running.stop()
running.forward()
"""


@pytest.fixture(scope="module", params=FOLDERS)
def package(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("wheels")
    code = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    return {
        name: folder
        / subprocess.run(
            [sys.executable, "-c", code, folder], cwd=root, check=True, capture_output=True, text=True
        ).stdout.strip()
        for name, root in FOLDERS.items()
    }


def project(folder: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return table


def requirements(rows: list[str]) -> list[Requirement]:
    return [r for r in map(Requirement, rows) if r.marker is None or r.marker.evaluate({"extra": ""})]


def needed(folder: Path) -> Path:
    """The packages that the switch declares, with those that they need, linked from this environment."""
    folder.mkdir()
    pending, seen = requirements(project(FOLDERS["offramp_p4"])["dependencies"]), set[str]()
    while pending:
        name = canonicalize_name(pending.pop().name)
        if name not in seen:
            seen.add(name)
            dist = distribution(name)
            pending += requirements(dist.requires or [])
            for top in {file.parts[0] for file in dist.files or [] if file.parts[0] not in {"..", "__pycache__"}}:
                (folder / top).symlink_to(str(dist.locate_file(top)))
    return folder


def run(code: str, *paths: Path) -> str:
    command = [sys.executable, "-I", "-S", "-c", LIBRARY + code, PROGRAM, *paths]
    done = subprocess.run(command, env={"HOME": str(paths[0])}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_holds_its_package_and_no_other(package: str, wheels: dict[str, Path]) -> None:
    names = zipfile.ZipFile(wheels[package]).namelist()
    held = {"offramp_p4": (("switch", "offramp_p4"), ("base", "offramp_base"))}.get(package, (("switch", package),))
    sources = {
        path.relative_to(ROOT / floor).as_posix()
        for floor, name in held
        for path in (ROOT / floor / name).rglob("*")
        if path.suffix in {".py", ".p4", ".lua", ".typed"}
    }
    if package == "offramp_p4":
        sources |= {f"offramp_p4/portsrc/{path.name}" for path in (ROOT / "smartnic/ports").iterdir()}
    assert {name for name in names if ".dist-info/" not in name} == sources
    assert {Path(name).name for name in names if "/licenses/" in name} == {"LICENSE", "NOTICE"}


def test_it_needs_no_more_than_the_whole_and_no_other_versions(package: str) -> None:
    whole, own = project(ROOT), project(FOLDERS[package])
    switch = project(FOLDERS["offramp_p4"])
    assert set(own["dependencies"]) - {f"{switch['name']}=={switch['version']}"} < set(whole["dependencies"])
    assert all(own[name] == whole[name] for name in ("version", "license", "requires-python"))
    extras = own.get("optional-dependencies", {})
    assert extras == {name: whole["optional-dependencies"][name] for name in extras}
    points = own.get("entry-points", {})
    assert points == {group: whole["entry-points"][group] for group in points}


def test_the_whole_brings_all_that_the_tools_bring() -> None:
    brought = {group for group in project(ROOT)["entry-points"] if group.startswith("offramp.p4_")}
    assert brought == project(FOLDERS["offramp_p4_tools"])["entry-points"].keys()


@pytest.mark.full
def test_the_switch_runs_a_program_where_nothing_else_is(wheels: dict[str, Path], tmp_path: Path) -> None:
    """Every module is imported, both engines run a program, and each tool that is missing is one line."""
    zipfile.ZipFile(wheels["offramp_p4"]).extractall(tmp_path / "switch")
    first, *lines = run(ALONE, tmp_path / "switch", needed(tmp_path / "needed")).splitlines()
    assert first == "v1model 1 3"
    assert lines == [
        f"{what}: expected an installed package that brings it: offramp-p4-tools"
        for what in (
            "format of programs json",
            "service of the switch bfrt",
            "service of the switch gnmi",
            "debugger dap",
        )
    ]


@pytest.mark.full
def test_the_switch_finds_its_tools_where_they_are_installed(wheels: dict[str, Path], tmp_path: Path) -> None:
    """Every module is imported; bmv2's JSON runs, and one process serves all protocols."""
    for name, wheel in wheels.items():
        zipfile.ZipFile(wheel).extractall(tmp_path / name)
    paths = [*(tmp_path / name for name in wheels), needed(tmp_path / "needed")]
    assert run(TOGETHER, *paths) == "P4Runtime BF-RT gNMI AF_INET\n"
