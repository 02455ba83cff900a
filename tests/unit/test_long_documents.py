# SPDX-License-Identifier: Apache-2.0
"""YAML longer than what people write: the limits hold, and the values are those of the other loader."""

from __future__ import annotations

import pytest

from offramp.cluster.read import parse_cluster, read_cluster
from offramp.cluster.write import cluster_text
from offramp.fabric import make_cluster
from offramp_base.documents import MOST_BYTES
from offramp_base.errors import OfframpError
from offramp_base.settings.source import parse_source

PAD = f"pad: {'x' * MOST_BYTES}\n"
SMALL = 'a: {b: [1, 2.5, true, null, "x: y"], c: 1e3}\nd: &e [1, 2]\nf: *e\n? g\n: h\n'


def test_values_and_lines_are_those_of_the_other_loader() -> None:
    short, long = parse_source("pad: x\n" + SMALL, "f"), parse_source(PAD + SMALL, "f", 1 << 24)
    assert long.data | {"pad": "x"} == short.data
    assert long.lines == short.lines


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2\n", "f:3: two of one name: a, first in line 2"),
        ("a: [\n", "f:3: not YAML"),
        ("a: &x [*x]\n", "f:2: not YAML: an alias of what is around it"),
        (f"a: {'[' * 60}{']' * 60}\n", "f:2: not YAML: nested deeper than 50"),
        ("a: &a [" + "1," * 10_000 + "]\nb: [" + "*a," * 200 + "]\n", "f:3: not YAML: more than 2000000 values"),
        ('a: "\\ud800"\n', "f:2: not YAML"),
        ("a: !!int x\n", "f:2: not YAML: expected a valid int"),
        ("a: !!python/object:os.system x\n", "f:2: not YAML: could not determine a constructor"),
    ],
)
def test_limits_hold(text: str, problem: str) -> None:
    with pytest.raises(OfframpError) as refused:
        parse_source(PAD + text, "f", 1 << 24)
    assert str(refused.value).startswith(problem)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["a: 1\na: 2\n", "a: [\n", "a: 1\n b: 2\n", 'a: "\\ud800"\n', "a: !!int x\n", "a: @b\n", SMALL]
)
def test_what_libyaml_refuses_is_refused_in_the_words_of_short_files(text: str) -> None:
    """A file that people write may be long; its errors have columns and words that they know."""
    answers = []
    for pad in (f"pad: {'x' * 100}\n", f"pad: {'x' * (MOST_BYTES >> 2)}\n"):
        try:
            source = parse_source(pad + text, "f")
            answers.append((source.data | {"pad": ""}, source.lines))
        except OfframpError as error:
            answers.append((str(error), {}))
    assert answers[0] == answers[1]


def test_files_of_other_kinds_keep_their_limit() -> None:
    with pytest.raises(OfframpError, match="longer than 1048576 characters"):
        parse_source(PAD, "f")


def test_a_cluster_file_of_more_than_a_mebibyte_reads_back(tmp_path) -> None:
    """Its rows are padded by comments, as reading as many links takes long."""
    cluster = make_cluster("fat-tree:4x4x4x2x2", rate_bps=10**11, gpus=8)
    text = cluster_text(cluster)
    path = tmp_path / "c.yaml"
    path.write_text(text + f"# {'x' * MOST_BYTES}\n")
    read = read_cluster(path)
    assert (read.hosts, read.switches, read.links) == (cluster.hosts, cluster.switches, cluster.links)
    assert read.place("leaf3") == f"{path}:{parse_cluster(text).place('leaf3').partition(':')[2]}"


def test_links_of_each_node() -> None:
    cluster = make_cluster("rails:3x2x2", rate_bps=10**9)
    slowly = {name: tuple(x for x in cluster.links if name in (x.a.node, x.b.node)) for name in cluster.by_name}
    assert cluster.links_of == slowly
