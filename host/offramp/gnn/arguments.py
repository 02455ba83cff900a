# SPDX-License-Identifier: Apache-2.0
"""Arguments of a distributed model, and its outputs: which of them have rows of this rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from offramp.gnn.parts import HOMOGENEOUS
from offramp.gnn.row_layout import RowLayout
from offramp.gnn.tags import EDGES, PAIRS, VERTICES, Tag, mark, tag_of
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from offramp.gnn.mode import Distribution
    from offramp.gnn.parts import EdgeSet, Partition


def tag_fields(part: Partition) -> None:
    """Tag the graph's own tensors, which a module may hold without being given them."""
    for vertices in part.vertices.values():
        for each in (vertices.ids, *vertices.data.values()):
            if isinstance(each, torch.Tensor):
                mark(each, Tag(VERTICES, vertices))
    for edges in part.edges.values():
        mark(edges.index, Tag(PAIRS, edges, 1))
        for each in (edges.ids, *edges.data.values()):
            if isinstance(each, torch.Tensor):
                mark(each, Tag(EDGES, edges))


def rank_rows(mode: Distribution, out: Any, key: Any = None) -> Any:
    """This rank's rows of outputs that all ranks have whole, with one row for each vertex."""
    if isinstance(out, dict):
        return type(out)({name: rank_rows(mode, each, name) for name, each in out.items()})
    if isinstance(out, tuple) and hasattr(out, "_fields"):
        return type(out)(*(rank_rows(mode, each, key) for each in out))
    if isinstance(out, list | tuple) and type(out) in (list, tuple):
        return type(out)(rank_rows(mode, each, key) for each in out)
    if not isinstance(out, torch.Tensor) or tag_of(out) is not None or not out.dim() or out.is_sparse:
        return out
    vertices = mode.part.vertices
    sets = [vertices[key]] if isinstance(key, str) and key in vertices else list(vertices.values())
    fits = [each for each in sets if each.layout.total == len(out) > 1]
    return mode.own_of(out, Tag(VERTICES, fits[0]), 0) if len(fits) == 1 else out


def tag_input(part: Partition, name: str, value: Any, key: Any = None) -> Iterator[tuple[int, float]]:
    """Tag the rows of an argument of a model by its kind, its name and its shape; yields what was guessed."""
    if isinstance(value, dict):
        for each, inner in value.items():
            yield from tag_input(part, name, inner, each)
    elif isinstance(value, torch.Tensor):
        tag = _known(part, value)
        if tag is None:
            tag = _guess(part, name, value, key)
            kind = 0 if tag is None else 1 + (VERTICES, EDGES, PAIRS).index(tag.role)
            yield kind, _content(value) if kind in (1, 2) else 0.0
        if tag is not None:
            mark(value, tag)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from tag_input(part, name, inner, key)


def agree(part: Partition, guesses: list[tuple[int, float]]) -> None:
    """Compare guesses of all ranks.

    Raises:
        OfframpError: ranks take an argument for rows of different kinds, or for rows what is the same on all of them.
    """
    if not guesses or part.comm.size == 1:
        return
    numbers = torch.tensor(guesses, dtype=torch.float64).flatten()
    most = part.comm.max(torch.cat([numbers, -numbers])).view(2, -1, 2)
    for place, (kind, content) in enumerate((most[0] != -most[1]).tolist()):
        if kind:
            raise OfframpError(
                f"argument {place + 1} that is not the partition's: has as many rows as this rank has vertices or "
                f"edges on some ranks only; take it from the partition, or name it edge_…"
            )
        if guesses[place][0] and not content and guesses[place][1]:
            raise OfframpError(
                f"argument {place + 1} that is not the partition's: is the same on all ranks, and has as many rows as "
                f"each has vertices or edges; make it a buffer of the module"
            )


def _content(value: torch.Tensor) -> float:
    """A number that two tensors rarely share; 0 where all rows are equal, or none is expected to differ."""
    if value.dtype == torch.bool or not len(value) or bool((value == value[:1]).all()):
        return 0.0
    return float(value.detach().double().nan_to_num().abs().sum())


def _known(part: Partition, value: torch.Tensor) -> Tag | None:
    for edges in part.edges.values():
        if value is edges.index:
            return Tag(PAIRS, edges, 1)
        if any(value is each for each in edges.data.values()):
            return Tag(EDGES, edges)
    for vertices in part.vertices.values():
        if value is vertices.ids or any(value is each for each in vertices.data.values()):
            return Tag(VERTICES, vertices)
    tag = tag_of(value)
    if tag is None:
        return None
    base = getattr(tag.of, "source", tag.of)  # of pairs that are no edges of the graph: their vertices
    return tag if any(base is each for each in part.vertices.values()) else None


def _guess(part: Partition, name: str, value: torch.Tensor, key: Any) -> Tag | None:
    pairs = not value.is_floating_point() and value.dim() == 2 and len(value) == 2
    if isinstance(key, tuple) and key in part.edges:
        of = part.edges[key]
        return _pairs_tag(of, value) if pairs else Tag(EDGES, of) if _rows(value) == of.index.shape[1] else None
    if isinstance(key, str) and key in part.vertices:
        return Tag(VERTICES, part.vertices[key]) if _rows(value) == part.vertices[key].owned else None
    if not part.homogeneous or not value.dim():
        return None
    edges = part.edges["", "edge_index", ""]
    if pairs and value.dtype == torch.int64:
        return _pairs_tag(edges, value)
    if len(value) == edges.index.shape[1] and (name.startswith("edge_") or len(value) != edges.target.owned):
        return Tag(EDGES, edges)
    return Tag(VERTICES, part.vertices[HOMOGENEOUS]) if len(value) == part.vertices[HOMOGENEOUS].owned else None


def _rows(value: torch.Tensor) -> int:
    return len(value) if value.dim() else 0


def _pairs_tag(edges: EdgeSet, pairs: torch.Tensor) -> Tag:
    """The tag of an edge index: of all edges, or of others between the same vertices, ordered by rank."""
    if pairs.shape[1] == edges.index.shape[1]:
        return Tag(PAIRS, edges, 1)
    comm = edges.halo.comm
    if pairs.shape[1] == edges.layout.total:
        raise OfframpError("an edge index of the whole graph: expected this rank's, as part.edge_index is")
    return Tag(PAIRS, edges, 1, RowLayout(comm, torch.arange(pairs.shape[1]) + (comm.rank << 32), 1 << 48))
