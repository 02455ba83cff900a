# SPDX-License-Identifier: Apache-2.0
"""Graphs of nodes by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node")


def ordered(following: Mapping[Node, Iterable[Node | None]], start: Node | None) -> tuple[list[Node], Node | None]:
    """The nodes that ``start`` reaches, each before those that follow it; and a node of a cycle, or None."""
    done: set[Node] = set()
    path: set[Node] = set()
    out: list[Node] = []
    todo: list[tuple[Node, bool]] = [] if start is None else [(start, False)]
    while todo:
        node, leaving = todo.pop()
        if leaving:
            path.discard(node)
            done.add(node)
            out.append(node)
            continue
        if node in done or node in path:
            continue
        path.add(node)
        todo.append((node, True))
        for after in following[node]:
            if after is None or after in done:
                continue
            if after in path:
                return [], after
            todo.append((after, False))
    return out[::-1], None
