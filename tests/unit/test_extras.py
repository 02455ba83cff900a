# SPDX-License-Identifier: Apache-2.0
"""The extras that messages and pages tell users to install exist, are quoted for every shell, and bring the package.

What it does not see: names that are put together at run time, other than those of ``offramp_base.extras``.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from offramp_base import extras
from offramp_base.extras import DISTRIBUTIONS, EXTRAS, install_command, missing_extra, needs

ROOT = Path(__file__).parents[2]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
TEXTS = [
    *(path for folder in ("base", "switch", "host", "sim", "cli") for path in sorted((ROOT / folder).rglob("*.py"))),
    *sorted((ROOT / "docs").rglob("*.md")),
]

NAMED = re.compile(r"(?:(?:offramp|'\.)\[|install_command\([\"'])([a-z,]+)[\]\"']")


def test_extras_that_are_named_exist() -> None:
    named = {
        (extra, str(path.relative_to(ROOT)))
        for path in TEXTS
        for extras in re.findall(
            r"(?:(?:offramp|'\.)\[|install_command\([\"'])([a-z,]+)[\]\"']", path.read_text("utf-8")
        )
        for extra in extras.split(",")
    }
    assert len(named) > 10
    assert [(extra, where) for extra, where in sorted(named) if extra not in DECLARED] == []


def test_commands_are_quoted() -> None:
    """A shell such as zsh takes a bare bracket for a pattern."""
    bare = [path for path in TEXTS if re.search(r"pip install (?:-e )?(?:offramp|\.)\[", path.read_text("utf-8"))]
    assert bare == []


def test_nothing_names_an_index_that_has_offramp() -> None:
    """No index has it: messages ask :func:`needs`, and pages install from the checkout."""
    assert [path for path in TEXTS if re.search(r"install[^\n]*'offramp\[", path.read_text("utf-8"))] == []


@pytest.mark.parametrize("package", EXTRAS)
def test_an_extra_brings_its_package(package: str) -> None:
    brought = {canonicalize_name(Requirement(row).name) for row in DECLARED[EXTRAS[package]]}
    assert canonicalize_name(DISTRIBUTIONS.get(package, package)) in brought
    error = missing_extra(ModuleNotFoundError(f"No module named '{package}'", name=f"{package}.part"))
    assert str(error) == f"this {needs(package)}"
    assert f"[{EXTRAS[package]}]" in str(error)


def _in_environment(monkeypatch: pytest.MonkeyPatch, folder: Path, *, active: bool) -> None:
    (folder / ".venv" / "bin").mkdir(parents=True)
    for name in ("python", "pip"):
        (folder / ".venv" / "bin" / name).write_text("")
        (folder / ".venv" / "bin" / name).chmod(0o755)
    monkeypatch.setattr("sys.executable", str(folder / ".venv/bin/python"))
    monkeypatch.setenv("PATH", f"{folder}/.venv/bin" if active else "/nowhere")


def test_a_checkout_names_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Anybody's: relative in its own folder, and quoted for the shell from elsewhere."""
    checkout = tmp_path / "a b \u00fc"
    (checkout / "base" / "offramp_base").mkdir(parents=True)
    (checkout / "pyproject.toml").write_text('[project]\nname = "offramp"\n')
    monkeypatch.setattr(extras, "__file__", str(checkout / "base/offramp_base/extras.py"))
    _in_environment(monkeypatch, checkout, active=False)
    monkeypatch.chdir(checkout)
    assert needs("sklearn") == "needs the package scikit-learn: ./.venv/bin/python -m pip install -e '.[gnn]'"
    monkeypatch.chdir(tmp_path)
    assert install_command("pyg") == "'./a b \u00fc/.venv/bin/python' -m pip install -e './a b \u00fc[pyg]'"
    monkeypatch.chdir("/")
    assert shlex.split(install_command("gnn"))[-1] == f".{checkout}[gnn]"
    monkeypatch.setenv("PATH", f"{checkout}/.venv/bin")
    monkeypatch.chdir(checkout)
    assert install_command("gnn") == "pip install -e '.[gnn]'"


def test_an_installation_names_what_its_extra_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed = tmp_path / "lib" / "site-packages" / "offramp_base"
    installed.mkdir(parents=True)
    monkeypatch.setattr(extras, "__file__", str(installed / "extras.py"))
    rows = ["numpy>=1.26", 'torch>=2.4; extra == "gnn"', "networkx>=3; extra == 'gnn'", 'pydantic>=2.7; extra == "leo"']
    monkeypatch.setattr("importlib.metadata.requires", lambda name: rows)
    monkeypatch.setattr(extras, "_is_installed", lambda name: name == "networkx")
    _in_environment(monkeypatch, tmp_path, active=True)
    assert needs("torch") == "needs the package torch: pip install 'torch>=2.4'"
    assert install_command("gnn,leo") == "pip install 'torch>=2.4' 'pydantic>=2.7'"


def test_a_switch_by_itself_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The distribution offramp-p4 has no metadata of offramp."""

    def none(name: str) -> list[str]:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "__file__", str(tmp_path / "site-packages/offramp_base/extras.py"))
    monkeypatch.setattr("importlib.metadata.requires", none)
    _in_environment(monkeypatch, tmp_path, active=True)
    assert needs("pygls") == "needs the package pygls: pip install pygls"


def test_the_command_names_this_checkout() -> None:
    words = shlex.split(install_command("gnn"))
    assert words[-2] == "-e"
    assert (Path(words[-1].removesuffix("[gnn]")) / "pyproject.toml").is_file()
