# SPDX-License-Identifier: Apache-2.0
"""The wheel holds our own sources, and needs packages only under licences that permit every use.

Blind spot: licences are those that packages declare; nobody reads their sources here.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PERMISSIVE = {
    *("MIT", "BSD", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0", "ISC", "PSF-2.0", "Zlib", "CC0-1.0"),
    *("HPND", "MPL-2.0", "Unlicense"),
}
# What packages without an SPDX expression say.
SPELLINGS = {
    "3-clause bsd license": "BSD-3-Clause",
    "bsd license": "BSD",
    "mit license": "MIT",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "apache software license": "Apache-2.0",
    "python software foundation license": "PSF-2.0",
}


CODE = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-c", CODE, folder], cwd=ROOT, check=True, capture_output=True, timeout=120)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.mark.full
@pytest.mark.parametrize("project", [".", "switch"])
def test_a_wheel_built_again_elsewhere_has_the_same_bytes(project: str, tmp_path: Path) -> None:
    """The second time from a copy, by another umask, in another zone, with another order of hashes."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in listed.decode().split("\0"):
        if name and (ROOT / name).is_file() and not name.startswith(("tests/", "docs/results")):
            (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tmp_path / "copy" / name)
    shutil.copytree(tmp_path / "copy", tmp_path / "another place")
    digests = []
    for place, mask, more in (
        ("copy", 0o022, {"TZ": "UTC", "PYTHONHASHSEED": "1"}),
        ("another place", 0o077, {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2"}),
    ):
        out = tmp_path / f"out of {place}"
        environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"} | more
        words = [sys.executable, "-c", CODE, out]
        where = tmp_path / place / project
        subprocess.run(words, cwd=where, env=environment, umask=mask, check=True, capture_output=True, timeout=120)
        (path,) = out.glob("*.whl")
        digests.append((path.name, hashlib.sha256(path.read_bytes()).hexdigest()))
    assert digests[0] == digests[1]


def needed(name: str, extra: str = "") -> Iterator[str]:
    """Names of the packages that ``name`` needs, with those that they need."""
    seen: set[str] = set()
    pending = [(name, extra)]
    while pending:
        package, wanted = pending.pop()
        try:
            rows = requires(package) or []
        except PackageNotFoundError:  # for another platform or Python
            continue
        for requirement in map(Requirement, rows):
            package_name = canonicalize_name(requirement.name)
            if (
                requirement.marker is None or requirement.marker.evaluate({"extra": wanted})
            ) and package_name not in seen:
                seen.add(package_name)
                pending += [(package_name, part) for part in (requirement.extras or {""})]
    yield from sorted(seen)


def licences(package: str) -> set[str]:
    """The licences that a package declares: SPDX's expression, else its classifiers, else its text."""
    fields = metadata(package)
    if expression := fields.get("License-Expression"):
        return set(re.split(r"\s+(?:AND|OR)\s+", re.sub(r"[()]|\s+WITH\s+\S+", "", expression)))
    rows = [row.rpartition(" :: ")[2] for row in fields.get_all("Classifier") or [] if row.startswith("License :: ")]
    rows = rows or [(fields.get("License") or "none").strip().splitlines()[0]]
    return {SPELLINGS.get(row.lower(), row) for row in rows}


@pytest.mark.full
def test_the_wheel_needs_nothing_but_permissive_packages(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    head = "Requires-Dist: "
    lines = wheel.read(name).decode().splitlines()
    own = [Requirement(line.removeprefix(head)) for line in lines if line.startswith(head)]
    core = {canonicalize_name(r.name) for r in own if r.marker is None or r.marker.evaluate({"extra": ""})}
    assert {"numpy", "scipy", "grpcio", "protobuf"} <= core
    everything = core.union(*(needed(package) for package in core))
    guilty = {package: licences(package) - PERMISSIVE for package in everything if licences(package) - PERMISSIVE}
    assert guilty == {}
    assert {"scapy", "codespell", "peakrdl-ipxact"}.isdisjoint(everything)


@pytest.mark.parametrize("package", ["scapy", "codespell"])
def test_the_check_sees_the_gpl(package: str) -> None:
    """The same question about a tool of developers has the other answer."""
    pytest.importorskip(package if package == "scapy" else "codespell_lib")
    assert licences(package) - PERMISSIVE


@pytest.mark.full
def test_the_wheel_holds_our_sources_and_licence_only(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"offramp", "offramp_base", "offramp_cli", "offramp_p4", "offramp_p4_tools", "offramp_sim"}
    licences_held = [name for name in names if "/licenses/" in name]
    assert {Path(name).name for name in licences_held} == {"LICENSE", "NOTICE"}
    assert "Apache License" in wheel.read(next(n for n in licences_held if n.endswith("LICENSE"))).decode()
    binaries = [name for name in names if name.endswith((".so", ".a", ".o", ".pyd", ".bin"))]
    assert binaries == []


@pytest.mark.full
def test_nothing_in_the_wheel_imports_or_quotes_the_gpl(wheel: zipfile.ZipFile) -> None:
    gpl = re.compile(rb"GNU (Lesser )?General Public|\bA?GPL-[23]|\bGPLv[23]")
    imported, quoted = [], []
    for name in wheel.namelist():
        if name.endswith(".py"):
            for node in ast.walk(ast.parse(wheel.read(name))):
                modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                imported += [f"{name}: {m}" for m in modules if m.split(".")[0] in ("scapy", "codespell_lib")]
        if ".dist-info/" not in name and gpl.search(wheel.read(name)):
            quoted.append(name)
    assert imported == []
    assert quoted == []
