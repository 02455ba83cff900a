# SPDX-License-Identifier: Apache-2.0
"""The P4 switch as a distribution of its own: what it holds, and that it runs where nothing else of Offramp is.

Packages that it needs are taken from this environment. Blind spot: their oldest versions.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "p4/examples/reflector.p4"
RUN = """
import importlib, pkgutil, sys
sys.path[:0] = sys.argv[1:3]
for absent in ("torch", "scipy", "offramp", "offramp_sim", "offramp_cli"):
    try:
        importlib.import_module(absent)
    except ModuleNotFoundError:
        continue
    sys.exit(f"{absent} is here")
for package in ("offramp_base", "offramp_p4"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if (module.name, error.name) != ("offramp_p4_tools.language.server", "lsprotocol"):  # the extra "lsp"
                raise
from offramp_p4 import make_switch
from offramp_p4.frontend import load
from offramp_p4.runtime.p4info import generate

program = load(sys.argv[3])
frame = bytes(range(12)) + b"\\x88\\xb5" + bytes(50)
outputs = [make_switch(program, engine).process_one(3, frame) for engine in ("native", "python")]
assert outputs[0] == outputs[1] != []
print(generate(program).pkg_info.arch, len(outputs[0]), outputs[0][0][0])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    code = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, folder], cwd=ROOT / "switch", check=True, capture_output=True)
    (path,) = folder.glob("offramp_p4-*.whl")
    return zipfile.ZipFile(path)


def requirements(rows: list[str]) -> list[Requirement]:
    found = map(Requirement, rows)
    return [r for r in found if r.marker is None or r.marker.evaluate({"extra": ""})]


def test_it_holds_the_switch_and_what_that_stands_on(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    sources = {
        path.relative_to(ROOT / floor).as_posix()
        for floor, package in (("switch", "offramp_p4"), ("base", "offramp_base"))
        for path in (ROOT / floor / package).rglob("*")
        if path.suffix in {".py", ".p4", ".typed"}
    }
    sources |= {f"offramp_p4/portsrc/{path.name}" for path in (ROOT / "smartnic/ports").iterdir()}
    assert names == sources
    held = {Path(name).name for name in wheel.namelist() if "/licenses/" in name}
    assert held == {"LICENSE", "NOTICE"}


def test_it_needs_no_more_than_the_whole_and_no_other_versions() -> None:
    whole, own = (
        tomllib.loads((ROOT / name).read_text())["project"] for name in ("pyproject.toml", "switch/pyproject.toml")
    )
    assert set(own["dependencies"]) < set(whole["dependencies"])
    assert all(own[name] == whole[name] for name in ("version", "license", "requires-python"))


def test_it_runs_a_program_where_nothing_else_is(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """Every module can be imported from the wheel and the packages that it names, and both engines run a program."""
    wheel.extractall(tmp_path / "wheel")
    (tmp_path / "needed").mkdir()
    metadata = tomllib.loads((ROOT / "switch/pyproject.toml").read_text())
    pending, seen = requirements(metadata["project"]["dependencies"]), set[str]()
    while pending:
        name = canonicalize_name(pending.pop().name)
        if name not in seen:
            seen.add(name)
            found = distribution(name)
            pending += requirements(found.requires or [])
            for top in {file.parts[0] for file in found.files or [] if file.parts[0] not in {"..", "__pycache__"}}:
                (tmp_path / "needed" / top).symlink_to(str(found.locate_file(top)))
    command = [sys.executable, "-I", "-S", "-c", RUN, tmp_path / "wheel", tmp_path / "needed", PROGRAM]
    done = subprocess.run(command, env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("v1model 1 3\n", 0), done.stderr
