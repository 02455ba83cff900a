"""The cache of object files: used, damaged, shared, absent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from offramp_sim.p4.frontend import load_text
from offramp_sim.p4.native import NativeSwitch
from offramp_sim.p4.native.cache import MOST_FILES, ObjectCache, cache_folder
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


def test_the_user_s_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "offramp" / "p4"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "offramp" / "p4"


def test_a_program_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = program("hdr.h.c = 4321; sm.egress_spec = 3;")
    first, second = (NativeSwitch(load_text(text)) for _ in range(2))
    assert (first._code.cached, second._code.cached) == (False, True)
    assert first.process_one(0, bytes(8)) == second.process_one(0, bytes(8))
    for file in cache_folder().iterdir():
        file.write_bytes(b"garbage")
    third = NativeSwitch(load_text(text))
    assert not third._code.cached
    assert third.process_one(0, bytes(8)) == first.process_one(0, bytes(8))
