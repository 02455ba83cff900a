# SPDX-License-Identifier: Apache-2.0
"""A user of Debian has no folder of system tools on PATH; the command finds ``tc`` there all the same."""

from __future__ import annotations

import os
import shutil

import pytest

import offramp_cli
from offramp_base.system_tools import SYSTEM_FOLDERS, search_system_folders


@pytest.fixture(autouse=True)
def user_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/games")


def test_the_command_searches_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offramp_cli, "allow_forks", lambda: None)
    monkeypatch.setattr(offramp_cli, "supervised", lambda _: None)
    offramp_cli.main()
    assert os.environ["PATH"].endswith(":/usr/games:" + ":".join(SYSTEM_FOLDERS))
    assert shutil.which("chroot"), "coreutils has it in /usr/sbin"


def test_folders_that_are_there_keep_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/sbin:/usr/bin")
    search_system_folders()
    assert os.environ["PATH"] == "/usr/sbin:/usr/bin:/usr/local/sbin:/sbin"
    search_system_folders()
    assert os.environ["PATH"] == "/usr/sbin:/usr/bin:/usr/local/sbin:/sbin"


def test_without_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders that the system searches by default come first, as they would without the variable."""
    monkeypatch.delenv("PATH")
    search_system_folders()
    assert os.environ["PATH"] == ":".join([*os.defpath.split(":"), *(f for f in SYSTEM_FOLDERS)])
