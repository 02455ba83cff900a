# SPDX-License-Identifier: Apache-2.0
"""The lock files say the versions of ci/constraints.txt, hash every file, and name no index; so do workflows.

Blind spot: whether the hashes are those of the published files is for pip, which refuses others.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKED = re.search(r"-e \"\$root\[([a-z,]+)\]", (ROOT / "ci/make-venv").read_text("utf-8"))[1].split(",")  # type: ignore[index]
"""The extras that make setup installs."""
ENTRY = re.compile(r"^([a-z0-9.-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def locked(name: str) -> dict[str, str]:
    text = (ROOT / "ci" / name).read_text("utf-8")
    assert "://" not in text
    assert ENTRY.sub("", text).strip() == ""  # nothing stands there without a hash
    return {canonicalize_name(package): version for package, version, _ in ENTRY.findall(text)}


def test_versions_are_those_of_the_constraints() -> None:
    lines = (ROOT / "ci" / "constraints.txt").read_text("utf-8").splitlines()
    fixed = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    wanted = {canonicalize_name(name): version for name, version in fixed.items()}
    lock = locked("requirements.lock")
    assert {name: version for name, version in lock.items() if wanted.get(name, version) != version} == {}
    assert "torch" not in lock
    cuda = locked("cuda.lock")
    assert {"nvidia-cublas", "nvidia-nccl-cu13"} <= cuda.keys()
    assert cuda.keys() & lock.keys() == set()
    assert locked("torch.lock") == {"torch": wanted["torch"]}


def test_everything_that_setup_asks_for_is_locked_but_torch() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [
        *project["dependencies"],
        *(row for name in LOCKED for row in extras[name]),
    ]
    names = {canonicalize_name(Requirement(row).name) for row in asked}
    assert names - locked("requirements.lock").keys() == {"torch"}


@pytest.mark.parametrize("tool", ["uv", "cyclonedx-bom"])
def test_tools_are_locked(tool: str) -> None:
    assert tool in locked("tools.lock")


def test_workflows_name_actions_by_their_commits_and_may_only_read() -> None:
    paths = [*(ROOT / ".github/workflows").glob("*.yml")]
    assert paths
    for path in paths:
        text = path.read_text("utf-8")
        used = re.findall(r"uses: (\S+)(.*)", text)
        assert used
        assert [
            name for name, version in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name) or "# v" not in version
        ] == []
        assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
        assert "github.event" not in text  # what others write in titles and branches is no part of a command


def test_nothing_in_the_repository_is_compiled() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                assert file.read(4) not in (b"\x7fELF", b"MZ\x90\0", b"\xca\xfe\xba\xbe", b"\0asm"), name
