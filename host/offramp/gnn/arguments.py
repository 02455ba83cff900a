# SPDX-License-Identifier: Apache-2.0
"""Arguments of a distributed model, and its outputs: which of them have rows of this rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from offramp.gnn.parts import HOMOGENEOUS
from offramp.gnn.row_layout import RowLayout
from offramp.gnn.tags import EDGES, PAIRS, VERTICES, Tag, mark, tag_of
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from offramp.gnn.mode import Distribution
    from offramp.gnn.parts import Partition


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


class Guess(NamedTuple):
    """What an argument that is not the partition's is taken for.

    Attributes:
        kind: 0 for what is the same on all ranks, 1 for rows of vertices, 2 of edges, 3 for an edge index, 4 for one of
            other edges than this rank's.
        content: a number that two tensors of rows rarely share; else 0.
        value: the argument.
    """

    kind: int
    content: float
    value: torch.Tensor


_OTHER_EDGES: Final = 4


def tag_input(part: Partition, name: str, value: Any, key: Any = None) -> Iterator[Guess]:
    """Tag the rows of an argument of a model by its kind, its name and its shape; yields what was guessed."""
    if isinstance(value, dict):
        for each, inner in value.items():
            yield from tag_input(part, name, inner, each)
    elif isinstance(value, torch.Tensor):
        tag = _known(part, value)
        if tag is None:
            tag = _guess(part, name, value, key)
            kind = 0 if tag is None else 1 + (VERTICES, EDGES, PAIRS).index(tag.role)
            if tag is not None and tag.role == PAIRS and value.shape[1] != tag.of.index.shape[1]:  # type: ignore[union-attr]
                kind = _OTHER_EDGES
            yield Guess(kind, _content(value) if kind in (1, 2) else 0.0, value)
        if tag is not None:
            mark(value, tag)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from tag_input(part, name, inner, key)


def agree(part: Partition, guesses: list[Guess]) -> None:
    """Compare guesses of all ranks. An edge index is one of other edges for all of them if it is for one.

    Raises:
        OfframpError: ranks take an argument for rows of different kinds, or for rows what is the same on all of them,
            or an edge index is the whole graph's.
    """
    if not guesses:
        return
    numbers = torch.tensor([each[:2] for each in guesses], dtype=torch.float64).flatten()
    most, negative = part.comm.max(torch.cat([numbers, -numbers])).view(2, -1, 2)
    for place, guess in enumerate(guesses):
        kinds = {int(most[place, 0]), int(-negative[place, 0])}
        if _OTHER_EDGES in kinds and kinds <= {_OTHER_EDGES, _OTHER_EDGES - 1}:
            mark(guess.value, _other_edges(guess.value))
            continue
        if len(kinds) > 1:
            raise OfframpError(
                f"argument {place + 1} that is not the partition's: has as many rows as this rank has vertices or "
                f"edges on some ranks only; take it from the partition, or name it edge_…"
            )
        same = part.comm.size > 1 and bool(most[place, 1] == -negative[place, 1])
        if guess.kind and same and guess.content:
            raise OfframpError(
                f"argument {place + 1} that is not the partition's: is the same on all ranks, and has as many rows as "
                f"each has vertices or edges; make it a buffer of the module"
            )


def _other_edges(pairs: torch.Tensor) -> Tag:
    """The tag of an edge index of other edges between the same vertices, ordered by rank; all ranks call it."""
    tag: Any = tag_of(pairs)
    comm = tag.of.halo.comm
    layout = RowLayout(comm, torch.arange(pairs.shape[1]) + (comm.rank << 32), 1 << 48)
    if layout.counts == [tag.of.layout.total] * comm.size and comm.size > 1:
        raise OfframpError("an edge index of the whole graph: expected this rank's, as part.edge_index is")
    return Tag(PAIRS, tag.of, 1, layout)


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
        return Tag(PAIRS, of, 1) if pairs else Tag(EDGES, of) if _rows(value) == of.index.shape[1] else None
    if isinstance(key, str) and key in part.vertices:
        return Tag(VERTICES, part.vertices[key]) if _rows(value) == part.vertices[key].owned else None
    if not part.homogeneous or not value.dim():
        return None
    edges = part.edges["", "edge_index", ""]
    if pairs and value.dtype == torch.int64:
        return Tag(PAIRS, edges, 1)
    if len(value) == edges.index.shape[1] and (name.startswith("edge_") or len(value) != edges.target.owned):
        return Tag(EDGES, edges)
    return Tag(VERTICES, part.vertices[HOMOGENEOUS]) if len(value) == part.vertices[HOMOGENEOUS].owned else None


def _rows(value: torch.Tensor) -> int:
    return len(value) if value.dim() else 0
