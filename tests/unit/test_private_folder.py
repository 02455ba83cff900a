# SPDX-License-Identifier: Apache-2.0
"""The user's cache: users without a home folder, or whose home cannot be written, are told what to set."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    with pytest.raises(NoHomeFolder, match="has no home folder: set XDG_CACHE_HOME to a folder of yours"):
        user_cache()
    with pytest.raises(NoHomeFolder, match="XDG_STATE_HOME"):
        user_folder("XDG_STATE_HOME", ".local/state")


@pytest.mark.usefixtures("no_home")
def test_machine_code_is_then_not_kept_and_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    cache = ObjectCache()
    cache.put("key", b"payload")
    assert cache.get("key") is None
    assert caplog.records == []


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
