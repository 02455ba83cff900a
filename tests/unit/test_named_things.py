# SPDX-License-Identifier: Apache-2.0
"""What docstrings and comments name exists.

Blind to names that exist but are not the ones meant, and to prose without backticks or underscores.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

import imports

ROOT: Final = imports.ROOT
CODE: Final = (".c", ".cc", ".cpp", ".h", ".hpp", ".p4", ".py", ".sv", ".svh")
"""Endings of the files whose comments are read, and that comments name."""
DOCSTRING: Final = re.compile(r'^[ \t]*r?"""(.*?)"""', re.MULTILINE | re.DOTALL)
PYTHON_COMMENT: Final = re.compile(r"#[^\n]*")
COMMENT: Final = re.compile(r"//[^\n]*|/\*(?! verilator).*?\*/", re.DOTALL)
WORD: Final = re.compile(r"[A-Za-z_]\w*")
IMPORT: Final = re.compile(r"^ *(?:from|import) (offramp[\w.]*)", re.MULTILINE)
QUOTED: Final = re.compile(r"``([A-Za-z_]\w\w+)(?:\(\))?``")
"""A name in double backticks; one or two letters are symbols of a formula."""
ROLE: Final = re.compile(r":(?:class|func|meth|data|mod|attr|exc):`~?([\w.]+)`")
FILE: Final = re.compile(r"(?<![\w./<{-])((?:[\w-]+/)*[\w-]+\.(?:svh?|p4|py|cpp|hpp|cc|c|h))\b(?![/(\w])")
MODULE: Final = re.compile(r"\b(offramp(?:_\w+)?(?:\.[a-z_]\w*)+)\b")
SNAKE: Final = re.compile(r"\b[a-z]\w*_\w+\b")
PATTERN: Final = re.compile(r"[A-Z]+_\w+\.sv|[A-Z]+\.py|[\w-]+/[\w.-]+\.h")
"""A placeholder in place of a name, or a header of the system."""
OUTSIDE: Final = frozenset(
    word
    for line in (
        "IMB_ARCH IMB_JOB ISAL_DEF_LVL3_EXTRA_LARGE isal_zstream inflate_state igzip_lib.h intel-ipsec-mb.h",
        "Ring_AllToAll_Switch Torus2D FullyConnected oneRing tuning.cc n_rmt nodes_I features_I",
        "P4DeviceConfig device_data TApplicationException InvalidTableOperation get_verify PNA_HashAlgorithm_t",
        "bmv2stf.py tools/stf/stf_parser.py backends/bmv2/bmv2stf.py simple_switch.h main.p4 implementation",
        "targets/simple_switch/simple_switch.cpp DistributedDataParallel x_dict dataclasses asdict repr dgram man",
        "SOURCE__NAME__TARGET mesh_NAME portN alt1 engines.sv offramp.target offramp.offloads fpga gpu gnn",
        "PR_SET_CHILD_SUBREAPER UCX_TLS IP_TOS IPV6_TCLASS clock_getcpuclockid epoll_pwait2 net_ring pyxrt ucx",
        "ap_ctrl_hs ap_ctrl_none uses_future dap ncclFunc_t MAXCHANNELS NCCL_STEPS MSCCL_CHUNKSTEPS MSCCL_MAX_COUNT",
        "MSCCL_MAX_NUM_STEPS MSCCL_MAX_NUM_THREAD_BLOCKS src/include/msccl.h src/graph/topo.cc",
        "src/include/nccl_common.h src/include/plugin/nccl_tuner.h verbs.h mlx5_0",
    )
    for word in line.split()
)
"""Names of other programs, formats and papers, and placeholders."""


@cache
def sources() -> dict[str, str]:
    """Text of every file of the product by its path, without the environments and builds that git ignores."""
    folders = ("base", "cli", "fpga", "host", "p4", "sim", "smartnic", "switch")
    paths = (p for folder in folders for p in sorted((ROOT / folder).rglob("*")) if p.suffix in CODE)
    return {
        name: path.read_text(encoding="utf-8")
        for path in paths
        if not (name := path.relative_to(ROOT).as_posix()).split("/")[1].startswith(("build", "."))
    }


@cache
def code() -> dict[str, frozenset[str]]:
    """The words of each file outside its docstrings and comments."""
    return {name: frozenset(WORD.findall(_without_prose(name, text))) for name, text in sources().items()}


def _without_prose(name: str, text: str) -> str:
    return PYTHON_COMMENT.sub("", DOCSTRING.sub("", text)) if name.endswith(".py") else COMMENT.sub("", text)


def prose(name: str) -> Iterator[str]:
    """Docstrings and comments of a file."""
    text = sources()[name]
    if name.endswith(".py"):
        yield from DOCSTRING.findall(text)
        text, comment = DOCSTRING.sub("", text), PYTHON_COMMENT
    else:
        comment = COMMENT
    yield from comment.findall(text)


@cache
def modules() -> dict[str, str]:
    """The file of each Python module by its dotted name."""
    paths = (name.removesuffix(".py").removesuffix("/__init__").removeprefix("fpga/") for name in sources())
    return {".".join(p.split("/")[1:]): name for p, name in zip(paths, sources(), strict=True) if name.endswith(".py")}


@cache
def anywhere(*, python: bool) -> frozenset[str]:
    """The words of all paths and of all code, or of all that is not Python."""
    stems = {part.partition(".")[0] for name in sources() for part in name.split("/")}
    return stems.union(*(words for name, words in code().items() if python or not name.endswith(".py")))


def exists(dotted: str) -> bool:
    """Whether a dotted name of the project is a module, or what a module or the files behind a package's face name."""
    parts = dotted.split(".")
    for size in range(len(parts), 0, -1):
        if file := modules().get(".".join(parts[:size])):
            names = neighbourhood(Path(file).parent.as_posix()) if "__init__" in file else code()[file]
            return all(part in names for part in parts[size:])
    return False


@cache
def neighbourhood(folder: str) -> frozenset[str]:
    """The words of the code in one folder."""
    return frozenset().union(*(words for name, words in code().items() if Path(name).parent.as_posix() == folder))


def known(name: str, word: str) -> bool:
    """Whether code has a word: any code a compound one, code near a file or in another language a simple one."""
    if word in code()[name] or word in OUTSIDE or keyword.iskeyword(word) or word in sys.stdlib_module_names:
        return True
    if word in anywhere(python=not name.endswith(".py") or "_" in word or word != word.lower()):
        return True
    near = (code()[modules()[m]] for m in IMPORT.findall(sources()[name]) if m in modules())
    return word in neighbourhood(Path(name).parent.as_posix()) or any(word in words for words in near)


@pytest.mark.parametrize("suffix", [".py", "others"])
def test_what_comments_name_exists(suffix: str) -> None:
    paths = [
        *sources(),
        *(
            path.relative_to(ROOT).as_posix()
            for folder in ("tests", "examples")
            for path in (ROOT / folder).rglob("*.py")
        ),
    ]
    tails = {"/".join(parts[i:]) for path in paths for parts in [path.split("/")] for i in range(len(parts))}
    missing = []
    for name in sources():
        if (suffix == ".py") != name.endswith(".py"):
            continue
        for text in prose(name):
            files = [file for file in FILE.findall(text) if file not in tails and not PATTERN.fullmatch(file)]
            dotted = [each for each in MODULE.findall(text) if each not in tails and not exists(each)]
            words = QUOTED.findall(text) if suffix == ".py" else SNAKE.findall(text)
            missing += [f"{name}: {each}" for each in [*files, *dotted, *words] if not known(name, each)]
            missing += [f"{name}: {role}" for role in ROLE.findall(text) if not _resolved(name, role)]
    assert not missing, "\n".join(missing)


def _resolved(name: str, role: str) -> bool:
    first, *rest = role.strip(".").split(".")
    if first.startswith("offramp"):
        return exists(role)
    return (first in sys.stdlib_module_names and bool(rest)) or all(known(name, part) for part in (first, *rest))
