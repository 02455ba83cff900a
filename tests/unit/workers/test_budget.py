# SPDX-License-Identifier: Apache-2.0
"""A memory budget's control group, in a folder that stands for the kernel's. Blind spot: that it is enforced."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from offramp.workers import budget
from offramp.workers.budget import LEAST, exceeded, open_budget
from offramp_base.ending.owner import owned_name, owner_of
from offramp_base.errors import OfframpError


def test_without_a_budget_nothing_is_limited() -> None:
    with open_budget(None) as limit:
        assert limit is None


def test_too_small_a_budget_is_refused() -> None:
    with pytest.raises(OfframpError, match="expected at least"), open_budget(LEAST - 1):
        pass


@pytest.mark.parametrize(("limit", "peak"), budget._FILES.items())
def test_a_group_has_the_limit_this_process_and_a_peak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, peak: str
) -> None:
    parent = tmp_path / "memory" if limit == "memory.limit_in_bytes" else tmp_path
    parent.mkdir(exist_ok=True)
    group = parent / f"{owned_name()}memory"
    group.mkdir()  # as the kernel does: a new folder has its files
    for name in (limit, peak):
        (group / name).write_text("12345")
    monkeypatch.setattr(budget, "_own", lambda root, controller, mount: mount)
    with open_budget(LEAST, tmp_path) as limited:
        assert limited is not None
        assert limited.by == f"control group ({limit})"
        assert limited.peak() == 12345
        assert (group / limit).read_text() == str(LEAST)
        assert (group / "cgroup.procs").read_text() == str(os.getpid())
    assert (parent / "cgroup.procs").read_text() == str(os.getpid())  # it has left


@pytest.mark.each
@pytest.mark.parametrize(
    ("limit", "events"), [("memory.limit_in_bytes", "memory.oom_control"), ("memory.max", "memory.events")]
)
@pytest.mark.parametrize(("kills", "budget_of_it"), [("1", 100), ("0", None), ("?", None)])
def test_a_process_that_the_kernel_killed_for_its_memory_is_told_from_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, events: str, kills: str, budget_of_it: int | None
) -> None:
    parent = tmp_path / "memory" if limit == "memory.limit_in_bytes" else tmp_path
    group = parent / f"offramp-{owner_of(77)}-memory"
    group.mkdir(parents=True)
    (group / limit).write_text("100\n")
    (group / events).write_text(f"low 0\noom {kills}\noom_kill {kills}\n")
    monkeypatch.setattr(budget, "_own", lambda root, controller, mount: mount)
    assert exceeded(77, tmp_path) == budget_of_it
    assert exceeded(7, tmp_path) is None


def test_a_process_that_ended_before_its_group_had_a_limit_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (group := tmp_path / f"offramp-{owner_of(77)}-memory").mkdir()
    monkeypatch.setattr(budget, "_own", lambda root, controller, mount: mount)
    assert exceeded(77, tmp_path) is None
    assert not group.exists()


def test_groups_of_processes_that_have_ended_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    left, own = tmp_path / f"offramp-{owner_of(process.pid)}-memory", tmp_path / f"{owned_name()}memory"
    left.mkdir()
    monkeypatch.setattr(budget, "_own", lambda root, controller, mount: mount)
    with open_budget(LEAST, tmp_path):
        assert left.exists()
    process.communicate(b"\n")
    with open_budget(LEAST, tmp_path):
        assert not left.exists()
    assert not own.exists()


_LIMITED = """
import resource, sys
from pathlib import Path
from offramp.workers.budget import open_budget
before = resource.getrlimit(resource.RLIMIT_DATA)
with open_budget(64 << 20, Path(sys.argv[1])) as limit:
    assert limit.by.startswith("RLIMIT_DATA")
    try:
        bytearray(256 << 20)
        raise SystemExit("256 MiB of 64")
    except MemoryError:
        pass
    kept = b"1" * (48 << 20)
    assert limit.peak() >= len(kept) // 2, limit.peak()
assert resource.getrlimit(resource.RLIMIT_DATA) == before
bytearray(256 << 20)
"""


def test_without_groups_private_memory_is_limited(tmp_path: Path) -> None:
    """In a process of its own: from a large one the kernel may take cold pages back while it is measured."""
    done = subprocess.run([sys.executable, "-c", _LIMITED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
