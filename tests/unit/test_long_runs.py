# SPDX-License-Identifier: Apache-2.0
"""Readers take a time that grows with their text, whatever is repeated in it: no regular expression, no joining of
lines takes the square of it.

Blind to what repeats in a way that is not listed here; ``tests/fuzz`` puts long runs at random places.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import cluster_samples
from offramp.cluster.formats import IMPORTS, Defaults, import_cluster
from offramp.cluster.names import expand
from offramp.themis.msccl.document import parse as parse_msccl
from offramp_base.documents import parse_json, parse_toml, parse_yaml
from offramp_base.errors import OfframpError
from offramp_base.gnmi.paths import parse_path
from offramp_base.settings.units import BITS_PER_SECOND
from offramp_p4.frontend.syntax.lexer import tokenize
from offramp_p4.stf.parse import parse as parse_stf
from offramp_p4_tools.language.document import _balanced

CHARACTERS = 1 << 16
SOON_S = 0.3
"""Processor time that needs no comparison: the square of :data:`CHARACTERS` takes more."""
LEAST, MOST = 4, 9
"""A text that is ``LEAST`` times as long may take ``MOST`` times as long: the square would take 16 times."""
RUNS = (
    *("a", "1", " ", "\n", "\t", "-", "_", ".", ",", ":", "=", '"', "'", "#", "\\", "/", "<", "&", "{", "[", "("),
    *("\\\n", "a ", "a=", '="', "- ", "()", "[]", "[0-9]", "a,", "a\n", " \n", "-\n", "1x", "1.", "/*", "a-", "<a>"),
)
READERS: dict[str, Callable[[str], object]] = {
    "names": expand,
    "YAML": parse_yaml,
    "TOML": parse_toml,
    "JSON": parse_json,
    "MSCCL": parse_msccl,
    "gNMI path": parse_path,
    "units": BITS_PER_SECOND.parse,
    "P4": lambda text: tokenize(text[: CHARACTERS // 2], "f"),
    "STF": lambda text: parse_stf(text, "f"),
    "brackets": _balanced,
}


def seconds(read: Callable[[str], object], text: str) -> float:
    """Processor time of a read."""
    begun = time.process_time()
    with contextlib.suppress(OfframpError, ValueError):
        read(text)
    return time.process_time() - begun


def assert_linear(read: Callable[[str], object], text_of: Callable[[int], str], what: str) -> None:
    """``text_of`` makes a text of so many characters."""
    long, short = text_of(CHARACTERS), text_of(CHARACTERS // LEAST)
    took = seconds(read, long)
    for _ in range(3):  # other work on the machine may disturb one of them
        if took < SOON_S or took < MOST * (less := seconds(read, short)):
            return
        took = seconds(read, long)
    pytest.fail(f"{what}: {took:.1f} s, and {less:.2f} for a text of {len(short)} in place of {len(long)} characters")


@pytest.mark.parametrize("name", READERS)
def test_a_run_takes_no_square_of_its_length(name: str) -> None:
    for run in RUNS:
        assert_linear(READERS[name], lambda count, run=run: run * (count // len(run)), repr(run))


@pytest.mark.parametrize("kind", IMPORTS)
def test_an_importer_takes_no_square_of_a_run_in_its_file(kind: str, tmp_path: Path) -> None:
    samples = cluster_samples.SAMPLES[kind]
    paths = [tmp_path / f"other{number}" for number in range(len(samples))]
    for path, text in zip(paths, samples, strict=True):
        path.write_text(text)

    def read(text: str) -> None:
        paths[0].write_text(text)
        import_cluster(kind, paths, Defaults())

    half = len(samples[0]) // 2
    for run in RUNS:
        for before, behind in (("", ""), (samples[0], ""), (samples[0][:half], samples[0][half:])):
            assert_linear(
                read,
                lambda count, run=run, ends=(before, behind): ends[0] + run * (count // len(run)) + ends[1],
                repr(run),
            )
