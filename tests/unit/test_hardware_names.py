# SPDX-License-Identifier: Apache-2.0
"""RTL, HLS, P4 and C++: names say what a value is, and comments cite only what exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

import imports
from offramp.fpga.sources import register_maps

FOLDERS: Final = ("fpga", "p4")
"""Folders of hardware descriptions."""
NATIVE: Final = ("smartnic", "host/offramp/torch/native")
"""Folders of C and C++."""
SUFFIXES: Final = frozenset({".sv", ".svh", ".v", ".p4", ".c", ".cpp", ".hpp", ".h"})
VAGUE: Final = frozenset({"found", "made", "told", "both", "why", "hear", "dress"})
"""Words that hide what a value is, as a whole name or a part of one."""
OUTCOMES: Final = frozenset({"found", "not_found"})
"""Outcomes of a search, which are no values."""
OUTSIDE: Final = frozenset({"ap_ctrl_hs", "ap_ctrl_none", "simple_switch", "simple_switch_grpc"})
"""Names of Vitis and of bmv2."""
_TEXT: Final = re.compile(r'"(?:\\.|[^"\\\n])*"')
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PRAGMA: Final = re.compile(r"verilator lint_\w+ \w+")


def sources(*folders: str) -> list[Path]:
    return [
        path
        for folder in folders or FOLDERS
        for path in sorted((imports.ROOT / folder).rglob("*"))
        if path.suffix in SUFFIXES
    ]


def names(text: str) -> set[str]:
    """Identifiers outside comments and texts."""
    return set(re.findall(r"[A-Za-z_]\w*", _TEXT.sub(" ", _COMMENT.sub(" ", text))))


def comments(text: str) -> Iterator[str]:
    for comment in _COMMENT.findall(text):
        yield _PRAGMA.sub("", comment)


def exists(dotted: str) -> bool:
    """Whether a dotted name is a module of Python, or an attribute of one by its source."""
    module, _, attribute = dotted.rpartition(".")
    for name, pattern in ((dotted, ""), (module, rf"^(?:def |class )?{attribute}\b")):
        with suppress(ModuleNotFoundError):
            spec = find_spec(name)
            text = Path(spec.origin).read_text("utf-8") if spec and spec.origin else ""
            if spec and re.search(pattern, text, re.MULTILINE):
                return True
    return False


@pytest.mark.parametrize("folder", [*FOLDERS, *NATIVE])
def test_names_say_what_a_value_is(folder: str) -> None:
    guilty = [
        f"{path.relative_to(imports.ROOT)}:{name}"
        for path in sources(folder)
        for name in sorted(names(path.read_text("utf-8")))
        if name not in OUTCOMES and VAGUE & set(name.split("_"))
    ]
    assert guilty == []


def test_comments_cite_only_what_exists() -> None:
    texts = {path: path.read_text("utf-8") for path in sources()}
    known = set(OUTSIDE | register_maps().keys()).union(*map(names, texts.values()), (path.stem for path in texts))
    unknown = []
    for path, text in texts.items():
        for comment in comments(text):
            dotted = re.findall(r"\bofframp\w*(?:\.\w+)+", comment)
            files = re.findall(r"\b[\w-]+(?:/[\w-]+)+\.\w+", comment)
            words = re.findall(r"(?<![\w.])[a-z]+[0-9]*_\w+\b", comment)
            wrong = [name for name in dotted if not exists(name)]
            wrong += [name for name in files if not (imports.ROOT / name).exists()]
            wrong += [name for name in words if name not in known]
            unknown += [f"{path.relative_to(imports.ROOT)}: {name}" for name in wrong]
    assert unknown == []


def test_a_comment_that_cites_nothing_real_is_noticed() -> None:
    assert exists("offramp.fpga.kernels")
    assert exists("offramp.sylvie.model.bounds")
    assert not exists("offramp.fpga.xrt_kernels")
    assert not exists("offramp.sylvie.model.nothing")
    assert "kernel_control" not in names("// kernel_control\nmodule other;")


def test_headers_are_sentences() -> None:
    """A file begins with what it is, after its licence."""
    wrong = []
    for path in sources():
        lines = path.read_text("utf-8").splitlines()
        header = []
        for line in lines[1:]:
            if not line.startswith("//"):
                break
            header.append(line.removeprefix("//").strip())
        text = " ".join(header)
        if header and not (text[0].isupper() and text[-1] in ".:"):
            wrong.append(f"{path.relative_to(imports.ROOT)}: {text[:60]}")
    assert wrong == []
