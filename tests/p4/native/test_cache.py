# SPDX-License-Identifier: Apache-2.0
"""The cache of object files: used, damaged, shared, absent."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from offramp_base.native.cache import MOST_FILES, ObjectCache, cache_folder
from offramp_p4.frontend import load_text
from offramp_p4.native import NativeSwitch
from offramp_p4.native.architecture import PacketMode
from p4_programs import program


def test_what_is_put_is_got(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path / "deep" / "folder")
    assert cache.get("key") is None
    cache.put("key", b"object")
    assert cache.get("key") == b"object"
    assert cache.get("other") is None


@pytest.mark.parametrize("damage", [b"", b"x", b"0" * 100])
def test_damaged_files_count_as_absent(tmp_path: Path, damage: bytes) -> None:
    cache = ObjectCache(tmp_path)
    cache.put("key", b"object")
    (file,) = tmp_path.iterdir()
    for content in (damage, file.read_bytes()[:-1], file.read_bytes() + b"x"):
        file.write_bytes(content)
        assert cache.get("key") is None
    cache.put("key", b"object")
    assert cache.get("key") == b"object"


def test_a_file_of_another_key_counts_as_absent(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    cache.put("a", b"object")
    (file,) = tmp_path.iterdir()
    cache.put("b", b"other")
    (other,) = set(tmp_path.iterdir()) - {file}
    other.write_bytes(file.read_bytes())
    assert cache.get("b") is None


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = ObjectCache(tmp_path / "file")
    cache.put("key", b"object")
    assert cache.get("key") is None


def test_many_at_once(tmp_path: Path) -> None:
    caches = [ObjectCache(tmp_path) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda c: [c.put("key", b"x" * 100_000) for _ in range(20)], caches))
        assert all(pool.map(lambda c: c.get("key") == b"x" * 100_000, caches))
    assert len(list(tmp_path.iterdir())) == 1


def test_old_files_go(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    for i in range(MOST_FILES + 10):
        cache.put(str(i), b"object")
    assert len(list(tmp_path.iterdir())) <= MOST_FILES
    assert cache.get(str(MOST_FILES + 9)) == b"object"


def test_what_is_used_stays(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path)
    cache.put("used", b"object")
    (used,) = tmp_path.iterdir()
    os.utime(used, (0, 0))
    for i in range(MOST_FILES - 1):
        cache.put(str(i), b"object")
    for file in set(tmp_path.iterdir()) - {used}:
        os.utime(file, (1, 1))
    assert cache.get("used") == b"object"
    cache.put("one more", b"object")
    assert cache.get("used") == b"object"
    assert len(list(tmp_path.iterdir())) == MOST_FILES


def test_the_user_s_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "offramp" / "p4"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "offramp" / "p4"


@pytest.mark.full
def test_a_program_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = program("hdr.h.c = 4321; sm.egress_spec = 3;")
    first, second = (NativeSwitch(load_text(text)) for _ in range(2))
    assert (first.code(PacketMode.BATCH).cached, second.code(PacketMode.BATCH).cached) == (False, True)
    assert first.process_one(0, bytes(8)) == second.process_one(0, bytes(8))
    for file in cache_folder().iterdir():
        file.write_bytes(b"garbage")
    third = NativeSwitch(load_text(text))
    assert not third.code(PacketMode.BATCH).cached
    assert third.process_one(0, bytes(8)) == first.process_one(0, bytes(8))


NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")


def kept(folder: Path) -> tuple[ObjectCache, Path]:
    """A cache with something for "key", and its file."""
    cache = ObjectCache(folder)
    cache.put("key", b"object")
    (file,) = folder.iterdir()
    return cache, file


def test_the_folder_is_made_for_this_user_alone(tmp_path: Path) -> None:
    cache, file = kept(tmp_path / "cache")
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600
    (tmp_path / "cache").chmod(0o755)  # as an earlier umask would have it
    cache.put("key", b"object")
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


@needs_root
@pytest.mark.parametrize("what", ["file", "folder", "parent"])
def test_what_belongs_to_somebody_else_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture, what: str) -> None:
    cache, file = kept(tmp_path / "parent" / "cache")
    os.chown({"file": file, "folder": file.parent, "parent": file.parent.parent}[what], NOBODY, NOBODY)
    assert cache.get("key") is None
    assert cache.get("key") is None
    assert [r.levelname for r in caplog.records] == ["WARNING"]  # one line, not one for each attempt
    assert "refused" in caplog.text
    assert str(NOBODY) in caplog.text


@pytest.mark.parametrize("what", ["file", "folder", "parent"])
def test_what_others_may_write_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture, what: str) -> None:
    cache, file = kept(tmp_path / "parent" / "cache")
    path = {"file": file, "folder": file.parent, "parent": file.parent.parent}[what]
    path.chmod(0o777 if path.is_dir() else 0o666)
    assert cache.get("key") is None
    assert "other users may write" in caplog.text
    if what != "file":
        cache.put("other", b"object")
        assert list(file.parent.iterdir()) == [file]


def test_a_sticky_parent_is_no_danger(tmp_path: Path) -> None:
    cache, _ = kept(tmp_path / "parent" / "cache")
    (tmp_path / "parent").chmod(0o1777)
    assert cache.get("key") == b"object"


@pytest.mark.parametrize("what", ["file", "folder"])
def test_links_are_refused(tmp_path: Path, what: str) -> None:
    cache, file = kept(tmp_path / "cache")
    path = file if what == "file" else file.parent
    elsewhere = path.rename(tmp_path / "elsewhere")
    path.symlink_to(elsewhere)
    assert cache.get("key") is None
    cache.put("other", b"object")
    assert what == "file" or cache.get("other") is None


@pytest.mark.full
@needs_root
def test_planted_machine_code_is_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = program("hdr.h.c = 1234; sm.egress_spec = 3;")
    NativeSwitch(load_text(text))
    for file in cache_folder().iterdir():
        os.chown(file, NOBODY, NOBODY)
    assert not NativeSwitch(load_text(text)).code(PacketMode.BATCH).cached
