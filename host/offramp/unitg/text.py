# SPDX-License-Identifier: Apache-2.0
"""A text for each vertex, and its tokens."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from offramp_base.documents import read_text
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from offramp.graph.data import Graph

FEATURES: Final = "features"
TOPICS: Final = "topics"
PAD, START, UNKNOWN = range(3)
MOST_WORDS: Final = 8192
_TOPIC_WORDS = 40
_COMMON_WORDS = 400
_ON_TOPIC = 0.3

Tokens = npt.NDArray[np.int32]


def vertex_texts(graph: Graph, source: str, words: int, seed: int) -> list[str]:
    """A text of up to ``words`` words for each vertex.

    ``features``: the names of its largest outstanding features, as in a bag of words; ``topics``: words drawn from its
    class's vocabulary and from a shared one; anything else is a file with one line per vertex.

    Raises:
        OfframpError: the graph has no features of its own, or the file does not match the graph.
    """
    if source == FEATURES:
        if graph.metadata.get("degree_features"):
            raise OfframpError(
                f"{graph.name}: has no text and no features to make words of; "
                f"expected a text file with a line for each vertex, or text {TOPICS}"
            )
        return _feature_words(graph, words)
    if source == TOPICS:
        return _topic_words(graph, words, seed)
    return _lines(graph, Path(source))


def tokenise(texts: list[str], length: int) -> tuple[Tokens, int]:
    """``(n, length)`` padded tokens after a start token; and the size of the vocabulary."""
    split = [re.findall(r"\w+", text.lower())[: length - 1] for text in texts]
    counts = Counter(word for words in split for word in words)
    known = {word: UNKNOWN + 1 + i for i, (word, _) in enumerate(counts.most_common(MOST_WORDS))}
    tokens = np.full((len(texts), length), PAD, np.int32)
    tokens[:, 0] = START
    for row, words in zip(tokens, split, strict=True):
        row[1 : 1 + len(words)] = [known.get(word, UNKNOWN) for word in words]
    return tokens, UNKNOWN + 1 + len(known)


def _feature_words(graph: Graph, words: int) -> list[str]:
    """Names of the columns above their mean, the farthest first."""
    texts = []
    if sp.issparse(graph.features):
        matrix = sp.csr_matrix(graph.features)
        rows = ((matrix.indices[a:b], matrix.data[a:b]) for a, b in zip(matrix.indptr, matrix.indptr[1:], strict=False))
    else:
        excess = graph.features - graph.features.mean(axis=0)
        rows = ((np.flatnonzero(row > 0), row[row > 0]) for row in excess)
    for columns, values in rows:
        largest = columns[np.argsort(-values, kind="stable")[:words]]
        texts.append(" ".join(f"w{column}" for column in largest))
    return texts


def _topic_words(graph: Graph, words: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    shape = (graph.vertices, words)
    own = graph.labels[:, np.newaxis] * _TOPIC_WORDS + rng.integers(0, _TOPIC_WORDS, shape)
    shared = rng.integers(0, _COMMON_WORDS, shape)
    on_topic = rng.random(shape) < _ON_TOPIC
    return [
        " ".join(f"topic{t}" if own_word else f"common{c}" for own_word, t, c in zip(*row, strict=True))
        for row in zip(on_topic, own, shared, strict=True)
    ]


def _lines(graph: Graph, path: Path) -> list[str]:
    try:
        lines = read_text(path, None).splitlines()
    except OfframpError as error:
        raise SettingsError("text", f"{error}", path) from None
    if len(lines) != graph.vertices:
        raise SettingsError("text", f"expected {graph.vertices} lines, one per vertex, got {len(lines)}", path)
    if not any(re.search(r"\w", line) for line in lines):
        raise SettingsError("text", "has no words; expected a text for each vertex", path)
    return lines
