# SPDX-License-Identifier: Apache-2.0
"""Results kept between processes: made once, kept only where that saves time, and made again when in doubt."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from offramp_base import remembered as remembering
from offramp_base.extras import fall_back, forget_fallbacks
from offramp_base.kept_files import KeptFiles
from offramp_base.remembered import remembered

Numbers = npt.NDArray[np.int64]


@pytest.fixture(autouse=True)
def everything_is_worth_keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_fallbacks()
    monkeypatch.setattr(remembering, "WORTH_S", -1.0)


class Maker:
    """Makes arrays, and counts how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> Numbers:
        self.calls += 1
        return np.arange(5)


def files(folder: Path, most_bytes: int = 10_000) -> KeptFiles:
    return KeptFiles("numbers", lambda: folder, ".numbers", most_files=4, most_bytes=most_bytes)


def test_made_once(tmp_path: Path) -> None:
    make = Maker()
    for _ in range(3):
        value = remembered(files(tmp_path), "key", Numbers, make)
        assert value.tolist() == [0, 1, 2, 3, 4]
        value[0] = 7  # what is handed out is the caller's
    assert make.calls == 1
    remembered(files(tmp_path), "another", Numbers, make)
    assert make.calls == 2


def test_a_fallback_is_told_each_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def make() -> Numbers:
        fall_back("numbers: the first five", "mtkahypar")
        return np.arange(5)

    for _ in range(2):
        forget_fallbacks()
        remembered(files(tmp_path), "key", Numbers, make)
        assert "numbers: the first five, for the package mtkahypar is missing" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    forget_fallbacks()


def test_what_takes_no_time_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "WORTH_S", 60.0)
    remembered(files(tmp_path), "key", Numbers, Maker())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("spoil", [lambda raw: raw[:-1], lambda raw: b"", lambda raw: raw[:40] + b"x" + raw[41:]])
def test_a_damaged_file_is_made_again(tmp_path: Path, spoil) -> None:
    make = Maker()
    remembered(files(tmp_path), "key", Numbers, make)
    (path,) = tmp_path.iterdir()
    path.write_bytes(spoil(path.read_bytes()))
    assert remembered(files(tmp_path), "key", Numbers, make).tolist() == [0, 1, 2, 3, 4]
    assert make.calls == 2


def test_a_result_of_another_form_is_made_again(tmp_path: Path) -> None:
    files(tmp_path).put("key", b"whole, and of no form that is known")
    make = Maker()
    remembered(files(tmp_path), "key", Numbers, make)
    assert make.calls == 1
    remembered(files(tmp_path), "key", Numbers, make)
    assert make.calls == 1


def test_the_folder_stays_small(tmp_path: Path) -> None:
    kept = files(tmp_path)
    for number in range(8):
        kept.put(str(number), bytes([1]) * 1000)
        os.utime(tmp_path / kept._path(str(number)).name, (number, number))
    assert [number for number in range(8) if kept.get(str(number))] == [4, 5, 6, 7]
    kept.put("large", b"1" * 9000)
    assert kept.get("large")
    assert len(list(tmp_path.iterdir())) == 1
    kept.put("too large", b"1" * 10_001)
    assert kept.get("too large") is None
    assert kept.get("large")
