# SPDX-License-Identifier: Apache-2.0
"""Plans in files: the arrays of all blocks, concatenated, in one ``.npz``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray, rows_of
from offramp.switchgnn.chunks import MAX_CHUNKS, WIDTHS
from offramp.switchgnn.plan import MAX_BLOCKS, MAX_NEED, BlockPlan, Plan
from offramp_base.archive import open_archive
from offramp_base.ending.files import written
from offramp_base.errors import OfframpError

_SCALARS = ("workers", "chunks", "aggregators", "R", "B", "C", "first_block_id", "lanes")
_PER_VERTEX = ("vertices", "owner", "need", "order")


def save_plan(plan: Plan, path: Path) -> None:
    """Write ``plan`` to a file that :func:`load_plan` reads.

    Raises:
        OfframpError: ``path`` cannot be written.
    """
    blocks = plan.blocks
    fields: dict[str, Any] = {name: np.int64(getattr(plan, name)) for name in _SCALARS}
    fields["sizes"] = np.array([len(block.vertices) for block in blocks], np.int64)
    fields["level"] = np.array([block.level for block in blocks], np.int64)
    for name in (*_PER_VERTEX, "neighbours"):
        parts = [getattr(block, name) for block in blocks]
        fields[name] = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    try:
        with written(path) as file:
            np.savez_compressed(file, **fields)
    except OSError as error:
        raise OfframpError(f"{path}: cannot be written: {error.strerror}") from None


def load_plan(path: Path) -> Plan:
    """Read a plan and check that a switch can run it.

    Raises:
        OfframpError: a missing or malformed field, a block beyond the memory or not of cut edges.
    """
    with open_archive(path) as archive:
        header = {name: archive.scalar(name) for name in _SCALARS}
        sizes, level = archive.integers("sizes"), archive.integers("level")
        arrays = {name: archive.integers(name) for name in (*_PER_VERTEX, "neighbours")}
    _check_header(path, header, sizes, level)
    _check_vertices(path, header, sizes, arrays)
    ends = np.cumsum(sizes)
    parts = {name: np.split(arrays[name], ends[:-1]) for name in _PER_VERTEX}
    edge_ends = np.concatenate([[0], np.cumsum(arrays["need"])])[ends] if len(sizes) else ends
    neighbours = np.split(arrays["neighbours"], edge_ends[:-1])
    blocks = []
    for i in range(len(sizes)):
        indptr = np.concatenate([[0], np.cumsum(parts["need"][i])])
        block = BlockPlan(
            header["first_block_id"] + i,
            parts["vertices"][i],
            parts["owner"][i].astype(np.int32),
            indptr,
            neighbours[i],
            parts["order"][i],
            int(level[i]),
        )
        _check_block(path, block)
        blocks.append(block)
    plan = Plan(blocks=blocks, **header)
    _check_edges(path, plan)
    return plan


def _wrong(path: Path, field: str, expected: str) -> OfframpError:
    return OfframpError(f"{path}: {field}: expected {expected}")


def _check_header(path: Path, header: dict[str, int], sizes: IntArray, level: IntArray) -> None:
    for name, least, most in (
        ("workers", 1, 1 << 31),
        ("chunks", 1, MAX_CHUNKS),
        ("aggregators", 0, 1 << 40),
    ):
        if not least <= header[name] <= most:
            raise _wrong(path, name, f"{least} to {most}, got {header[name]}")
    if header["lanes"] not in WIDTHS:
        raise _wrong(path, "lanes", f"{', '.join(map(str, WIDTHS))}, got {header['lanes']}")
    if not 0 <= header["first_block_id"] <= MAX_BLOCKS - len(sizes):
        raise _wrong(path, "first_block_id", f"0 to {MAX_BLOCKS - len(sizes)}, got {header['first_block_id']}")
    limit = header["aggregators"] // header["chunks"]
    if len(sizes) and (sizes.min() < 2 or sizes.max() > limit):
        raise _wrong(path, "sizes", f"blocks of 2 to {limit} vertices, as {header['aggregators']} aggregators hold")
    if len(level) != len(sizes) or (len(level) and level.min() < 0):
        raise _wrong(path, "level", f"{len(sizes)} entries of at least 0, one per block")


def _check_vertices(path: Path, header: dict[str, int], sizes: IntArray, arrays: dict[str, IntArray]) -> None:
    total = int(sizes.sum())
    for name in _PER_VERTEX:
        if len(arrays[name]) != total:
            raise _wrong(path, name, f"{total} entries, the sum of sizes, got {len(arrays[name])}")
    if not total:
        return
    if arrays["vertices"].min() < 0 or arrays["vertices"].max() >= 0xFFFFFFFF:
        raise _wrong(path, "vertices", "ids from 0 to 2**32 - 2")
    if arrays["owner"].min() < 0 or arrays["owner"].max() >= header["workers"]:
        raise _wrong(path, "owner", f"workers from 0 to {header['workers'] - 1}")
    if arrays["need"].min() < 1 or arrays["need"].max() > MAX_NEED:
        raise _wrong(path, "need", f"1 to {MAX_NEED} contributions")
    if arrays["need"].sum() != len(arrays["neighbours"]):
        raise _wrong(path, "neighbours", f"{int(arrays['need'].sum())} entries, the sum of need")


def _check_block(path: Path, block: BlockPlan) -> None:
    k = len(block.vertices)
    where = f"of block {block.block_id}"
    if (np.diff(block.vertices) <= 0).any():
        raise _wrong(path, "vertices", f"ascending ids {where}")
    if not np.array_equal(np.sort(block.order), np.arange(k)):
        raise _wrong(path, "order", f"a permutation of the {k} ranks {where}")
    u, v = rows_of(block.indptr), block.neighbours
    if v.min() < 0 or v.max() >= k:
        raise _wrong(path, "neighbours", f"ranks from 0 to {k - 1} {where}")
    keys = u * k + v
    if (np.diff(keys) <= 0).any() or not np.array_equal(np.sort(v * k + u), keys):
        raise _wrong(path, "neighbours", f"ascending rows with both directions of every edge {where}")
    if (block.owner[u] == block.owner[v]).any():
        raise _wrong(path, "neighbours", f"edges between different owners only {where}")


def _check_edges(path: Path, plan: Plan) -> None:
    """Check that every cut edge is in one block, and that counts agree with the header."""
    pairs: list[npt.NDArray[np.int64]] = [
        np.stack([block.vertices[rows_of(block.indptr)], block.vertices[block.neighbours]]) for block in plan.blocks
    ]
    u, v = np.concatenate(pairs, axis=1) if pairs else np.zeros((2, 0), np.int64)
    keys = u << 32 | v  # compared for equality only, so the sign bit does no harm
    if len(np.unique(keys)) != len(keys):
        raise _wrong(path, "neighbours", "every cut edge in one block only")
    for name, count in (("B", len(np.unique(u))), ("C", len(keys) // 2)):
        if getattr(plan, name) != count:
            raise _wrong(path, name, f"{count}, as the blocks hold, got {getattr(plan, name)}")
    if not plan.B <= plan.R <= 2 * plan.C:
        raise _wrong(path, "R", f"{plan.B} to {2 * plan.C}, got {plan.R}")
    owners = np.concatenate([block.owner for block in plan.blocks]) if plan.blocks else np.zeros(0, np.int32)
    ids = np.concatenate([block.vertices for block in plan.blocks]) if plan.blocks else owners
    if len(np.unique(np.stack([ids, owners]), axis=1).T) != plan.B:
        raise _wrong(path, "owner", "the same owner of a vertex in every block")
