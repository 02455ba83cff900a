# SPDX-License-Identifier: Apache-2.0
"""Arrays in ``.npz`` and ``.npy`` files: graphs, SwitchGNN's plans, checkpoints, masks."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fuzzing import mutate
from offramp.dgs.mask_file import load_masks
from offramp.graph import load as graphs
from offramp.graph.npz import save_npz
from offramp.switchgnn.plan_file import load_plan, save_plan
from offramp.train import checkpoint
from offramp_base.archive import read_array

NAME = "archives of arrays"
MEMORY_MIB = 1024
_FACTS = {"model": "gcn", "workers": 2, "dtype": "float32"}
_SHAPES = [(3, 2), (2,)]
_FIELDS: dict[str, dict[str, Any]] = {}


def prepare() -> None:
    """One valid file of each kind, as its fields."""
    import torch

    from offramp.graph.boundary import Boundary
    from offramp.graph.partition import partition
    from offramp.switchgnn.plan import make_plan

    graph = graphs.load("sbm:n=40,k=2,degree=4,features=3", split="0.5/0.25/0.25")
    save_npz(graph, Path("graph.npz"))
    owner = partition(graph, 3, "hash")
    save_plan(make_plan(Boundary(graph, owner, 3), 1, 64 * 128), Path("plan.npz"))
    arrays = {f"array{n}": np.ones(_SHAPES[n // 3], np.float32) for n in range(6)}
    np.savez("check.npz", facts=np.array(json.dumps(_FACTS)), epoch=2, history=np.ones((2, 2)), **arrays)
    parts = {"nodes": 4, "features": 3}
    np.savez("masks.npz", **{f"{k}_{w}": np.ones(n, np.float32) for k, n in parts.items() for w in (0, 1)})
    for name in ("graph", "plan", "check", "masks"):
        with np.load(f"{name}.npz") as held:
            _FIELDS[name] = dict(held)
    shapes = [torch.Size(shape) for shape in _SHAPES]
    readers: dict[str, Callable[[Path], Any]] = {
        "graph": graphs.load,
        "plan": load_plan,
        "check": lambda path: checkpoint.load(path, _FACTS, shapes),
        "masks": lambda path: load_masks(str(path), 2),
    }
    _READERS.update(readers)
    for name, reader in readers.items():
        reader(Path(f"{name}.npz"))


_READERS: dict[str, Callable[[Path], Any]] = {}


def run(rng: random.Random) -> None:
    """One file, whole or damaged."""
    name = rng.choice(list(_FIELDS))
    if rng.random() < 0.1:
        path = Path("case.npy")
        path.write_bytes(_npy(rng, rng.choice(list(_FIELDS[name].values()))))
        read_array(path)
        return
    content = _zip(rng, _FIELDS[name])
    if rng.random() < 0.3:
        content = mutate.raw(rng, content)
    path = Path("case.npz")
    path.write_bytes(content)
    _READERS[name](path)


def _zip(rng: random.Random, fields: dict[str, Any]) -> bytes:
    chosen = dict(fields)
    for _ in range(rng.randrange(3)):
        field = rng.choice(list(chosen))
        chosen[field] = _other(rng, chosen[field])
    broken = rng.choice(list(chosen)) if rng.random() < 0.4 else None
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as file:
        for field, array in chosen.items():
            content = _npy(rng, array) if field == broken else _plain(array)
            file.writestr(zipfile.ZipInfo(f"{field}.npy" if rng.random() < 0.99 else mutate.WORDS[18]), content)
            if rng.random() < 0.02:
                file.writestr(f"../{field}.npy", content)
    content = bytearray(whole.getvalue())
    if rng.random() < 0.15:  # what the central directory says of sizes
        at = content.find(b"PK\x01\x02")
        for offset in rng.sample((20, 24, 28, 42), 2):
            struct.pack_into("<I", content, at + offset, rng.choice((0, 1, 2**31, 2**32 - 1, rng.getrandbits(16))))
    return bytes(content)


def _plain(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def _other(rng: random.Random, array: Any) -> Any:
    kind = rng.randrange(8)
    if kind == 0:
        dtype = rng.choice(("f4", "i1", "u8", "b", "S3", "U2", "c8", "O", "M8[s]", ">i8", "V3", "f2", "U0"))
        return np.zeros(array.shape, dtype) if array.dtype.kind not in "fiub" else array.astype(dtype)
    if kind == 1 and array.dtype.kind in "iuf" and array.size:
        changed = array.copy()
        limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.finfo(array.dtype)
        value = rng.choice((limits.max, limits.min, -1, 0, 1, array.size, limits.max // 2))
        changed.flat[rng.randrange(array.size)] = np.array(value).astype(array.dtype)
        return changed
    if kind == 2 and array.dtype.kind == "f" and array.size:
        changed = array.copy()
        changed.flat[rng.randrange(array.size)] = rng.choice((np.nan, np.inf, -np.inf))
        return changed
    if kind == 3:
        return np.asfortranarray(np.atleast_2d(array))
    if kind == 4:
        return array[: rng.randrange(len(array) + 1)] if array.ndim else np.reshape(array, 1)
    if kind == 5 and array.ndim:
        return np.concatenate([array, array])
    if kind == 6 and array.size:
        return array.flat[0]
    return np.zeros(rng.choice(((0,), (1,), (), (0, 5), (1000,), (2, 2, 2))), array.dtype)


def _npy(rng: random.Random, array: Any) -> bytes:
    """An array's file whose header says something else."""
    shape = rng.choice(
        ("()", "(0,)", "(1000000000000,)", "(-1,)", "(3, 4)", "(2**40,)", "(1,)*9", "(10**400,)", "(True,)")
    )
    descr = rng.choice(
        ("'<f4'", "'<i8'", "'|O'", "'<U1000000000'", "[('a', '<i4')]", "'(9999,9999)f8'", "'|V0'", "None")
    )
    order = rng.choice(("True", "False", "1", "None"))
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    if rng.random() < 0.2:
        header = rng.choice(("(" * 5000, "-" * 9000 + "1", "{" * 300, "[1," * 3000, header * 90, "", "\x00" * 50))
    version = rng.choice(((1, 0), (2, 0), (3, 0), (9, 9)))
    encoded = header.encode() + b"\n"
    length = rng.choice((len(encoded), len(encoded), len(encoded), 2**16 - 1, 2**31))
    size = struct.pack("<H", length & 0xFFFF) if version == (1, 0) else struct.pack("<I", length)
    return b"\x93NUMPY" + bytes(version) + size + encoded + array.tobytes()
