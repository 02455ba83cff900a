# SPDX-License-Identifier: Apache-2.0
"""The user's cache, of users without a home folder and of those whose home cannot be written as well."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from offramp_base import private_folder
from offramp_base.errors import OfframpError
from offramp_base.native.cache import ObjectCache
from offramp_base.private_folder import NoHomeFolder, make_cache, user_cache, user_folder


@pytest.fixture
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under a number that no user has."""

    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", home)


@pytest.mark.usefixtures("no_home")
def test_a_user_without_a_home_folder_is_told_the_variable() -> None:
    with pytest.raises(NoHomeFolder, match="has no home folder: set XDG_STATE_HOME to a folder of yours"):
        user_folder("XDG_STATE_HOME", ".local/state")


@pytest.mark.usefixtures("no_home")
def test_machine_code_is_then_kept_among_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    cache = ObjectCache()
    cache.put("key", b"payload")
    assert cache.get("key") == b"payload"
    (folder,) = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) & 0o022 == 0


@pytest.mark.usefixtures("no_home")
@pytest.mark.parametrize("trap", ["link", "writable", "file"])
def test_a_folder_that_somebody_laid_in_wait_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trap: str
) -> None:
    """Its name can be guessed, and what is kept in it is executed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / f"offramp-cache-{os.geteuid()}"
    if trap == "link":
        (tmp_path / "theirs").mkdir()
        folder.symlink_to(tmp_path / "theirs")
    elif trap == "file":
        folder.touch()
    else:
        folder.mkdir()
        folder.chmod(0o777)
    with pytest.raises(NoHomeFolder, match="set XDG_CACHE_HOME to a folder of yours"):
        user_cache()
    assert ObjectCache().get("key") is None


def test_so_it_is_where_the_home_folder_takes_no_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    writable = True
    monkeypatch.setattr(os, "access", lambda *_: writable)
    assert user_cache() == tmp_path / "home" / ".cache"
    writable = False
    assert user_cache() == tmp_path / f"offramp-cache-{os.geteuid()}"


def test_a_variable_goes_before_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache() == tmp_path
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the specification says to ignore
    assert user_cache() == Path.home() / ".cache"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OfframpError) as caught:
        make_cache(tmp_path / "file" / "offramp")
    assert str(tmp_path / "file") in str(caught.value)
    assert "Not a directory: set XDG_CACHE_HOME to a folder of yours" in str(caught.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_in_a_user_namespace_folders_of_root_are_remembered(tmp_path, monkeypatch):
    """The owner of a folder above is nobody there, be it root or another user: what was seen outside decides."""
    above = tmp_path / "home"
    cache = above / "cache"
    cache.mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.delenv(private_folder.ROOTS_FOLDERS, raising=False)
    private_folder.remember_roots_folders()
    remembered = os.environ[private_folder.ROOTS_FOLDERS]
    nobody = int(Path("/proc/sys/kernel/overflowuid").read_text())
    os.chown(above, nobody, -1)
    with pytest.raises(OfframpError, match=f"{above} belongs to user {nobody}"):  # nobody without a user namespace
        private_folder.check_way(cache)
    inside = tmp_path / "uid_map"
    inside.write_text("0 1000 1\n")
    monkeypatch.setattr(private_folder, "_UID_MAP", inside)
    private_folder.check_way(cache)
    os.chown(above, 1234, -1)  # another user, who has a number here
    with pytest.raises(OfframpError, match=f"{above} belongs to user 1234"):
        private_folder.check_way(cache)
    os.chown(above, nobody, -1)
    monkeypatch.setenv(private_folder.ROOTS_FOLDERS, remembered.replace(str(above), str(tmp_path / "other")))
    with pytest.raises(OfframpError, match=f"{above} belongs to user {nobody}"):
        private_folder.check_way(cache)
