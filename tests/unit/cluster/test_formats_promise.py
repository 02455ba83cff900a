# SPDX-License-Identifier: Apache-2.0
"""What every importer promises, over damaged files: one line of refusal, or a network that is whole."""

from __future__ import annotations

import random

import pytest

import cluster_samples
from fuzzing import mutate
from offramp.cluster.formats import IMPORTS, Defaults, build, import_cluster, npus
from offramp.cluster.model import MOST_PORTS
from offramp_base.errors import OfframpError

DRAWS = 30


def damaged(rng: random.Random, text: str) -> str:
    """The text without a line, with two swapped, or with bytes changed."""
    kind = rng.randrange(4)
    lines = text.splitlines(keepends=True)
    if kind == 0:
        del lines[rng.randrange(len(lines))]
    elif kind == 1:
        a, b = (rng.randrange(len(lines)) for _ in range(2))
        lines[a], lines[b] = lines[b], lines[a]
    elif kind == 2:
        lines[rng.randrange(len(lines))] *= 2
    else:
        return mutate.text(rng, text)
    return "".join(lines)


@pytest.mark.parametrize("kind", IMPORTS)
def test_damaged_files(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(npus, "MOST_LINKS", 200)  # what is larger becomes dimensions alone, as it does beyond 10,000
    rng = random.Random(f"damaged {kind}")
    whole = 0
    for draw in range(DRAWS):
        texts = list(cluster_samples.SAMPLES[kind])
        changed = rng.randrange(len(texts))
        texts[changed] = damaged(rng, texts[changed])
        paths = [tmp_path / f"draw{draw}-{k}" for k in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
        refusal = None
        try:
            cluster = import_cluster(kind, paths, Defaults(flat=rng.random() < 0.3))
        except OfframpError as error:
            refusal = str(error)
        if refusal is None:
            cluster_samples.check(cluster)
            whole += 1
        else:
            assert "\n" not in refusal
            assert any(str(path) in refusal for path in paths)
    assert whole


@pytest.mark.parametrize("kind", IMPORTS)
def test_samples_are_whole(tmp_path, kind):
    cluster = cluster_samples.imported(tmp_path, kind, *cluster_samples.SAMPLES[kind])
    assert len(cluster.hosts) > 1
    assert cluster.links


def test_a_switch_has_as_many_links_as_ports():
    """The least is what switches usually have; a link's own number counts too, as far as ports go."""
    links = [{"ends": ["h", f"s:{port}"]} for port in (1, 99_999, 100_000)]
    parts = build._with_ports("f", {"links": links, "switches": [{"name": "s"}, {"name": "t", "ports": 4}]})
    assert parts["switches"] == [{"name": "s", "ports": MOST_PORTS}, {"name": "t", "ports": 4}]
    for count, ports in ((40, 40), (MOST_PORTS, MOST_PORTS)):
        parts = build._with_ports("f", {"links": [{"ends": ["h", "s"]}] * count, "switches": [{"name": "s"}]})
        assert parts["switches"] == [{"name": "s", "ports": ports}]
    with pytest.raises(OfframpError, match=f"f: s: {MOST_PORTS + 1} links: expected at most {MOST_PORTS}"):
        build._with_ports("f", {"links": [{"ends": ["h", "s"]}] * (MOST_PORTS + 1), "switches": [{"name": "s"}]})
