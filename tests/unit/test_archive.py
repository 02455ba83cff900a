# SPDX-License-Identifier: Apache-2.0
"""Archives of arrays that were written to do harm."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from offramp_base.archive import open_archive, read_array
from offramp_base.errors import OfframpError


def npy(shape: str, descr: str = "'<i8'", body: bytes = b"") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body


def zipped(tmp_path: Path, content: bytes, name: str = "x.npy", method: int = zipfile.ZIP_DEFLATED) -> Path:
    path = tmp_path / "case.npz"
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy("(1000000000000,)"), "x: cannot be read: 80 bytes, where shape (1000000000000,) of int64 needs"),
        (npy("(-1,)"), "x: cannot be read: a negative length"),
        (npy("(1,)", "'|O'", b"cos\nsystem\n."), "x: cannot be read: Object arrays cannot be loaded"),
        (npy("(3,)", "'<f4'", bytes(12)), "x: expected 1 dimensions of kind i/u, got 1 of float32"),
        (npy("()", "'<i8'", bytes(8)), "x: expected 1 dimensions of kind i/u, got 0 of int64"),
        (b"no array", "x: cannot be read: the magic string is not correct"),
        (b"\x93NUMPY\x01\x00\x88\x13" + b"(" * 5000, "x: cannot be read: "),
        (b"\x93NUMPY\x01\x00\x29\x23" + b"-" * 9000 + b"1", "x: cannot be read: "),
        (b"\x93NUMPY\x03\x00\x00\x00\x00\x00", "x: cannot be read: version 3.0"),
    ],
)
def test_a_member_that_is_not_what_it_says_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = zipped(tmp_path, content)
    with open_archive(path) as archive, pytest.raises(OfframpError) as caught:
        archive.integers("x")
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


def test_sizes_that_deflate_cannot_reach_are_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path, npy("(4,)", body=bytes(32)))
    content = bytearray(path.read_bytes())
    at = content.find(b"PK\x01\x02") + 24
    content[at : at + 4] = (1 << 31).to_bytes(4, "little")
    path.write_bytes(content)
    with open_archive(path) as archive, pytest.raises(OfframpError, match="bytes cannot hold 2147483648"):
        archive.integers("x")


@pytest.mark.full
def test_what_memory_cannot_hold_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """A bomb of 300 MB in 300 kB, in a process that may have 200 MB more than it has."""
    path = zipped(tmp_path, npy("(37500000,)", body=bytes(300_000_000)))
    assert path.stat().st_size < 400_000
    code = (
        "import sys, resource\nfrom pathlib import Path\nfrom offramp_base.archive import open_archive\n"
        "pages = int(Path('/proc/self/statm').read_text().split()[0])\n"
        "limit = pages * resource.getpagesize() + (200 << 20)\nresource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "from offramp_base.errors import OfframpError\n"
        "try:\n  with open_archive(Path(sys.argv[1])) as archive: archive.integers('x')\n"
        "except OfframpError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert "x: needs 0.6 GB of memory, 0." in done.stdout, done.stderr
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


def test_a_field_that_is_no_array_and_names_that_lead_elsewhere(tmp_path: Path) -> None:
    path = zipped(tmp_path, b"text", "x")  # without .npy, NumPy gives the bytes
    with open_archive(path) as archive, pytest.raises(OfframpError, match="x: cannot be read"):
        archive.integers("x")
    with (
        open_archive(zipped(tmp_path, b"text", "../../x.npy")) as archive,
        pytest.raises(OfframpError, match="missing"),
    ):
        archive.integers("x")
    assert [path.name for path in tmp_path.iterdir()] == ["case.npz"]


def test_unsigned_numbers_beyond_int64_do_not_wrap(tmp_path: Path) -> None:
    np.savez(tmp_path / "u.npz", x=np.array([2**64 - 1], np.uint64))
    with (
        open_archive(tmp_path / "u.npz") as archive,
        pytest.raises(OfframpError, match=r"x: expected integers below 2\*\*63"),
    ):
        archive.integers("x")


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(OfframpError, match="expected a regular file"), open_archive(path):
            pass
        with pytest.raises(OfframpError, match="expected a regular file"):
            read_array(path)


def test_arrays_that_numpy_writes_are_read(tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(6).reshape(2, 3),
        "b": np.asfortranarray(np.eye(3)),
        "c": np.array("text"),
        "d": np.zeros(0),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", **arrays)
        with open_archive(tmp_path / "x.npz") as archive:
            assert list(archive) == list("abcd")
            for name, array in arrays.items():
                assert np.array_equal(archive.read(name, array.dtype.kind, array.ndim), array)
    out = io.BytesIO()
    np.save(out, arrays["b"])
    (tmp_path / "b.npy").write_bytes(out.getvalue())
    assert np.array_equal(read_array(tmp_path / "b.npy"), arrays["b"])
    (tmp_path / "b.npy").write_bytes(out.getvalue()[:-1])
    with pytest.raises(OfframpError, match=r"b.npy: expected a NumPy .npy file"):
        read_array(tmp_path / "b.npy")


def test_a_single_array_is_named_as_such_and_longer_headers_are_read(tmp_path: Path) -> None:
    array = np.arange(3.0)
    np.save(tmp_path / "x.npy", array)
    with (
        pytest.raises(OfframpError, match=r"expected a NumPy .npz file, found a single array$"),
        open_archive(tmp_path / "x.npy"),
    ):
        pass
    (tmp_path / "y.npy").write_bytes(b"neither of both")
    with pytest.raises(OfframpError, match=r"expected a NumPy .npz file$"), open_archive(tmp_path / "y.npy"):
        pass
    with (tmp_path / "z.npy").open("wb") as file:
        np.lib.format.write_array(file, array, version=(2, 0))
    assert np.array_equal(read_array(tmp_path / "z.npy"), array)


def test_values_are_checked_although_nobody_asked_for_the_header(tmp_path: Path) -> None:
    with open_archive(zipped(tmp_path, npy("(1000000000000,)"))) as archive:
        with pytest.raises(OfframpError, match="x: cannot be read: 80 bytes, where shape"):
            archive.values("x")
        with pytest.raises(OfframpError, match="y: missing"):
            archive.values("y")
