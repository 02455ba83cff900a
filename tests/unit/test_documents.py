# SPDX-License-Identifier: Apache-2.0
"""Documents from outside: what takes all memory, all time or the stack of a plain parser costs one line here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from offramp_base.documents import MOST_BYTES, is_number, parse_json, parse_toml, parse_yaml, read_bytes, read_text
from offramp_base.errors import OfframpError

BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
MERGES = "a0: &a0 {k: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "line 6: not YAML: more than 200000 values"),
        (MERGES, "line 6: not YAML: more than 200000 values"),
        ("a: &a [*a]", "line 1: not YAML: an alias of what is around it"),
        ("[" * 100_000, "line 1: not YAML: nested deeper than 50"),
        ("a: 1\nb: 2\na: 3", "line 3: not YAML: a is there twice, first in line 1"),
        (
            "a: !!python/object/apply:os.system [true]",
            "line 1: not YAML: could not determine a constructor",
        ),
        ("a: !!int ''", "line 1: not YAML: expected a valid int"),
        ("a: !!timestamp x", "line 1: not YAML: expected a valid timestamp"),
        ("a: 2001-99-99", "line 1: not YAML: expected a valid timestamp"),
        (f"a: {'9' * 129}", "line 1: not YAML: a number of more than 128 characters"),
        (f"a: 0x{'f' * 5000}", "line 1: not YAML: a number of more than 128 characters"),
        (f"a: 1{':59' * 300_000}", "line 1: not YAML: a number of more than 128 characters"),
        (f"a: 1{':59' * 300_000}.5", "line 1: not YAML: a number of more than 128 characters"),
        (f"a: !!int '0b{'1' * 127}'", "line 1: not YAML: a number of more than 128 characters"),
        ("a: \x01", "line 1: not YAML: special characters are not allowed"),
        (r'a: "\ud800"', "line 1: not YAML: half of a surrogate pair"),
        (r'a: "\UFFFFFFFF"', "not YAML: a character that does not exist"),
        ("x" * (MOST_BYTES + 1), f"longer than {MOST_BYTES} characters"),
    ],
)
def test_hostile_yaml_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        parse_yaml(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (parse_toml, "a = " + "[" * 1000, "not TOML: nested deeper than 50"),
        (parse_toml, "a." * 500_000 + "b = 1", "not TOML: line 1 has more than 1024 characters"),
        (parse_toml, "a." * 100 + "b = 1", "not TOML: nested deeper than 50"),
        (parse_toml, f"a = {'9' * 5000}", "not TOML: line 1 has more than 1024 characters"),
        (parse_json, "[" * 100_000, "expected JSON: nested deeper than 50"),
        (parse_json, "[" * 60 + "]" * 60, "expected JSON: nested deeper than 50"),
        (parse_json, "9" * 5000, "expected JSON: an integer has too many digits"),
        (parse_json, '{"a": NaN}', "expected JSON: NaN is not a JSON number"),
        (parse_json, '{"a": 1, "a": 2}', "expected JSON: a is there twice in one object"),
        (parse_json, r'["\ud800"]', "expected JSON: half of a surrogate pair"),
        (parse_json, b"\xff\xfe\x00", "expected JSON: "),
    ],
)
def test_hostile_toml_and_json_are_refused_in_one_line(parse, text, message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        parse(text)
    assert str(caught.value).startswith(message)


def test_the_longest_numbers_are_read_and_texts_may_be_longer() -> None:
    assert parse_yaml(f"[{'9' * 128}, '{'9' * 129}', {'x' * 200}, 1:30]") == [10**128 - 1, "9" * 129, "x" * 200, 90]


def test_what_people_write_is_read() -> None:
    aliases = "base: &base {cpu: 8, gpu: 2}\nmachines:\n  - {<<: *base, name: a}\n  - {<<: *base, name: b, gpu: 4}\n"
    assert parse_yaml(aliases)["machines"] == [{"cpu": 8, "gpu": 2, "name": "a"}, {"cpu": 8, "gpu": 4, "name": "b"}]
    assert parse_yaml("") is None
    assert parse_toml("a = [[1, 2], [3]]\n[b.c]\nd = 1.5") == {"a": [[1, 2], [3]], "b": {"c": {"d": 1.5}}}
    assert parse_json('{"a": [1, {"b": null}], "c": 1e9}') == {"a": [1, {"b": None}], "c": 1e9}


def test_only_regular_files_of_bounded_size_are_read(tmp_path: Path) -> None:
    pipe, long = tmp_path / "pipe", tmp_path / "long"
    os.mkfifo(pipe)
    long.write_bytes(b"x" * 11)
    assert read_bytes(long, 11) == b"x" * 11
    for path, message in (
        (Path("/dev/zero"), "cannot be read: expected a regular file"),
        (pipe, "cannot be read: expected a regular file"),
        (tmp_path, "cannot be read: expected a regular file"),
        (long, "cannot be read: it has more than 10 bytes"),
        (tmp_path / "none", "cannot be read: No such file or directory"),
        (Path("a\x00b"), "cannot be read: embedded null byte"),
    ):
        with pytest.raises(OfframpError, match=message):
            read_bytes(path, 10)
    long.write_bytes(b"\xff")
    with pytest.raises(OfframpError, match="it is not UTF-8 text"):
        read_text(long)


def test_a_large_limit_takes_no_memory_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "small"
    path.write_bytes(b"x")
    assert read_bytes(path, 1 << 60) == b"x"
    assert read_bytes(Path("/proc/self/cmdline"), 1 << 20)  # its size is 0


@pytest.mark.parametrize("value", [True, float("nan"), float("inf"), 1e25, 10**400, "1", None, [1]])
def test_numbers_are_finite(value: object) -> None:
    assert not is_number(value)
    assert is_number(10**23)
