# SPDX-License-Identifier: Apache-2.0
"""The build folder in the user's cache is shared by checkouts of the same sources."""

import sys

import pytest

import offramp_cli
from offramp.nic import build as nic_build

pytestmark = pytest.mark.nic


@pytest.mark.smoke
def test_a_second_checkout_builds_in_the_folder_of_the_first(monkeypatch, tmp_path):
    if lacking := nic_build.missing():
        pytest.skip(f"needs {', '.join(lacking)}")
    for checkout in ("first", "second"):
        source = tmp_path / checkout
        source.mkdir()
        source.joinpath("CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(agent NONE)\n"
            "add_custom_target(made ALL COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_CURRENT_BINARY_DIR}/"
            + checkout
            + ")\n"
        )
        monkeypatch.setattr(nic_build, "cpp_sources", lambda source=source: source)
        folder = nic_build.build(tmp_path / "build")
        assert (folder / checkout).exists()


def test_a_folder_that_cannot_be_made_is_one_line(monkeypatch, tmp_path, capsys):
    """Neither in the cache nor where the user wants it."""
    monkeypatch.setattr(nic_build, "missing", lambda *_: [])
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    for words in ([], ["--folder", str(tmp_path / "file" / "build")]):
        monkeypatch.setattr(sys, "argv", ["offramp", "nic", "build", *words])
        with pytest.raises(SystemExit) as ended:
            offramp_cli._run()
        said = capsys.readouterr().err.splitlines()
        assert (ended.value.code, len(said)) == (2, 1), said
        assert str(tmp_path / "file") in said[0]
