# SPDX-License-Identifier: Apache-2.0
"""Seeded random graphs with planted classes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from offramp.graph.csr import IntArray, symmetric_csr
from offramp.graph.data import Graph, build_graph
from offramp_base.errors import OfframpError
from offramp_base.memory import check_memory

_VERTEX_BYTES, _EDGE_BYTES, _VOTE_BYTES, _FEATURE_BYTES = 64, 96, 24, 28  # at the peak

Sample = tuple[int, IntArray, IntArray, IntArray]
"""Number of vertices, both ends of the edges, labels."""


def generate(spec: str, split: str | None, seed: int) -> Graph:
    """The graph that ``NAME:field=value,…`` describes, NAME one of :data:`GENERATORS`.

    Every generator also takes ``k`` classes and ``features`` columns: each vertex's features are its class's
    centre plus Gaussian noise, too weak to tell classes apart without the graph.

    Raises:
        OfframpError: unknown generator or field, or a value out of range.
    """
    name, _, text = spec.partition(":")
    if name not in GENERATORS:
        raise OfframpError(f"{spec}: expected one of {', '.join(GENERATORS)}")
    model = GENERATORS[name]
    fields = {
        "features": 64,
        **{p.name: p.default for p in list(inspect.signature(model).parameters.values())[1:]},
    }
    for assignment in filter(None, text.split(",")):
        key, _, value = assignment.partition("=")
        if key not in fields:
            raise OfframpError(f"{spec}: {key}: expected one of {', '.join(fields)}")
        try:
            fields[key] = type(fields[key])(value)
        except (ValueError, OverflowError):
            raise OfframpError(f"{spec}: {key}: expected a number, got {value!r}") from None
    width = fields.pop("features")
    rng = np.random.default_rng(seed)
    try:
        _require("features", width, 1, 8160)
        _require("k", fields["k"], 1, 1 << 16)
        n, u, v, labels = model(rng, **fields)
        check_memory(n * width * _FEATURE_BYTES, "n and features")
    except OfframpError as error:
        raise OfframpError(f"{spec}: {error}") from None
    both_ways = np.concatenate([u, v]), np.concatenate([v, u])
    return build_graph(
        spec,
        n,
        both_ways,
        features=_class_features(rng, labels, fields["k"], width),
        labels=labels,
        split=split or "planetoid",
        seed=seed,
    )


def sbm(
    rng: np.random.Generator,
    n: int = 1000,
    k: int = 4,
    degree: float = 16.0,
    homophily: float = 0.8,
    gamma: float = 0.0,
) -> Sample:
    """Stochastic block model: ``n·degree/2`` edges, the share ``homophily`` of them inside a class.

    With ``gamma`` above 2 it is degree-corrected: expected degrees follow a power law of that exponent
    (a Chung-Lu graph with planted communities).
    """
    _require("n", n, max(2, k), 1 << 30)
    _require("degree", degree, 0, n)
    _require("homophily", homophily, 0, 1)
    if gamma != 0:
        _require("gamma", gamma, 2.0001, 100)
    edges = round(n * degree / 2)
    check_memory(n * _VERTEX_BYTES + edges * _EDGE_BYTES, "n and degree")
    labels = np.sort(np.arange(n) % k)
    weights = np.ones(n) if gamma == 0 else (rng.permutation(n) + 10.0) ** (-1 / (gamma - 1))
    # Labels are sorted, so that a class is a stretch of the cumulative weights.
    cumulative = np.concatenate([[0.0], np.cumsum(weights)])
    u = _pick(rng, cumulative, np.zeros(edges, np.int64), np.full(edges, n))
    same = rng.random(edges) < homophily
    starts = np.searchsorted(labels, np.arange(k + 1))
    v = _pick(
        rng,
        cumulative,
        np.where(same, starts[labels[u]], 0),
        np.where(same, starts[labels[u] + 1], n),
    )
    shuffled = rng.permutation(n)
    planted = np.empty(n, np.int64)
    planted[shuffled] = labels
    return n, shuffled[u], shuffled[v], planted


def rmat(
    rng: np.random.Generator,
    scale: int = 10,
    k: int = 4,
    degree: float = 16.0,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
) -> Sample:
    """R-MAT (Chakrabarti et al. 2004): ``2**scale`` vertices, ``degree`` before duplicates are dropped."""
    _require("scale", scale, 1, 30)
    _require("degree", degree, 0, 1 << scale)
    for name, share in (("a", a), ("b", b), ("c", c), ("a+b+c", a + b + c)):
        _require(name, share, 0, 1)
    n = 1 << scale
    edges = round(n * degree / 2)
    check_memory(n * (_VERTEX_BYTES + _VOTE_BYTES * k) + edges * _EDGE_BYTES, "scale, degree and k")
    u, v = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    for bit in range(scale):
        draw = rng.random(edges)
        u |= (draw >= a + b).astype(np.int64) << bit
        v |= (((draw >= a) & (draw < a + b)) | (draw >= a + b + c)).astype(np.int64) << bit
    shuffled = rng.permutation(n)
    u, v = shuffled[u], shuffled[v]
    return n, u, v, _smooth_labels(rng, n, u, v, k)


def ba(rng: np.random.Generator, n: int = 1000, m: int = 4, k: int = 4) -> Sample:
    """Barabási-Albert preferential attachment, ``m`` edges from each new vertex (Batagelj, Brandes 2005)."""
    _require("m", m, 1, 1 << 16)
    _require("n", n, m + 1, 1 << 30)
    # Ends are listed edge by edge: even places hold the new vertex, odd ones copy an earlier place.
    count = n * m
    check_memory(n * (_VERTEX_BYTES + _VOTE_BYTES * k) + count * _EDGE_BYTES, "n, m and k")
    copied = rng.integers(0, 2 * np.arange(count) + 1)
    odd = copied % 2 == 1
    while odd.any():
        copied[odd] = copied[copied[odd] // 2]
        odd = copied % 2 == 1
    u, v = np.arange(count) // m, copied // 2 // m
    return n, u, v, _smooth_labels(rng, n, u, v, k)


GENERATORS: dict[str, Callable[..., Sample]] = {"sbm": sbm, "rmat": rmat, "ba": ba}


def _pick(rng: np.random.Generator, cumulative: npt.NDArray[np.float64], first: IntArray, end: IntArray) -> IntArray:
    """For each draw a vertex of ``[first, end)`` with probability proportional to its weight."""
    low, high = cumulative[first], cumulative[end]
    picked = np.searchsorted(cumulative, low + rng.random(len(first)) * (high - low), side="right") - 1
    return np.clip(picked, first, end - 1)


def _smooth_labels(rng: np.random.Generator, n: int, u: IntArray, v: IntArray, k: int) -> IntArray:
    """Classes that neighbours tend to share: random ones, then a few rounds of voting among neighbours."""
    indptr, indices = symmetric_csr(n, u, v)
    adjacency = csr_array((np.ones(len(indices)), indices, indptr), shape=(n, n))
    labels = rng.integers(0, k, n)
    for _ in range(10):
        own = np.eye(k)[labels]
        # Votes for a large class count less, so that none takes over.
        votes = (adjacency @ own + own) / (1 + own.sum(axis=0))
        # Half of the vertices at a time: all at once, neighbours would swap classes forever.
        labels = np.where(rng.random(n) < 0.5, votes.argmax(axis=1), labels)
    return labels


def _class_features(rng: np.random.Generator, labels: IntArray, k: int, width: int) -> npt.NDArray[np.float32]:
    centres = rng.normal(scale=0.15, size=(k, width))
    return (centres[labels] + rng.normal(size=(len(labels), width))).astype(np.float32)


def _require(field: str, value: Any, least: float, most: float) -> None:
    if not least <= value <= most:
        raise OfframpError(f"{field}: expected {least:g} to {most:g}, got {value:g}")
