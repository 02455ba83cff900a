# SPDX-License-Identifier: Apache-2.0
"""A change of a module made in a process that has imported it: its functions get other code.

What runs at import (constants, defaults, decorators, class bodies, functions called meanwhile) cannot be exchanged
afterwards; such a change needs a process that has not imported the module.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterable, Mapping, Sequence
from difflib import ndiff
from inspect import CO_NEWLOCALS, CO_OPTIMIZED
from types import CodeType, FunctionType
from typing import Any

Key = tuple[str, int]
"""A function of a module: its qualified name, and the number of its first line."""


def key_of(code: CodeType) -> Key:
    """The function that a code object belongs to."""
    return code.co_qualname, code.co_firstlineno


def difference(old: str, new: str) -> tuple[str, str]:
    """The lines of either text that the other lacks, in one line each, without indentation."""
    lines = list(ndiff(old.splitlines(), new.splitlines()))
    before, after = ([line[2:].strip() for line in lines if line.startswith(sign)] for sign in ("- ", "+ "))
    return " ".join(filter(None, before)), " ".join(filter(None, after))


def called_lines(source: str) -> set[int]:
    """Lines of a module that run when its functions are called, not when it is imported."""
    bodies = [n.body for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {
        line for body in bodies for each in body for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)
    }


def function_at(source: str, line: int) -> str:
    """The qualified name of the outermost function that runs a line; ``<module>`` for what runs at import."""

    def of(nodes: Sequence[ast.stmt], prefix: str) -> str | None:
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if node.body[0].lineno <= line <= (node.end_lineno or node.lineno):
                    return prefix + node.name
            elif isinstance(node, ast.ClassDef):
                name = of(node.body, f"{prefix}{node.name}.")
                if name is not None:
                    return name
            elif isinstance(node, ast.If | ast.Try | ast.With):
                name = of([each for each in ast.walk(node) if isinstance(each, ast.stmt) and each is not node], prefix)
                if name is not None:
                    return name
        return None

    return of(ast.parse(source).body, "") or "<module>"


def changed_functions(old: str, new: str) -> dict[Key, CodeType] | None:
    """The new code of each function that differs, with those around it; None if anything else differs."""
    codes = (compile(text, "module", "exec", dont_inherit=True) for text in (old, new))
    changed: dict[Key, CodeType] = {}
    return changed if _compare(*codes, changed) is not None else None


def functions_of(path: str) -> dict[Key, list[FunctionType]]:
    """All living functions whose code is of a file."""
    functions: dict[Key, list[FunctionType]] = {}
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename == path:
            functions.setdefault(key_of(each.__code__), []).append(each)
    return functions


def exchange(changed: Mapping[Key, CodeType], functions: Mapping[Key, Sequence[FunctionType]], path: str) -> None:
    """Give the functions their new code."""
    for key, code in changed.items():
        for function in functions.get(key, ()):
            function.__code__ = _of_file(code, path)


def fits(changed: Mapping[Key, CodeType], functions: Mapping[Key, Sequence[FunctionType]], ran: Iterable[Key]) -> bool:
    """Whether functions can be exchanged: one lives, none ``ran`` when modules were imported, closures agree.

    Those that are translated into machine code cannot: that is made of their text.
    """
    alive = [(function, code) for key, code in changed.items() for function in functions.get(key, ())]
    return (
        bool(alive)
        and changed.keys().isdisjoint(ran)
        and all(len(function.__code__.co_freevars) == len(code.co_freevars) for function, code in alive)
        and not any("native" in function.__dict__ for function, _ in alive)
    )


def _compare(old: CodeType, new: CodeType, changed: dict[Key, CodeType]) -> bool | None:
    """Whether two codes differ; None if the difference is one that cannot be exchanged."""
    is_function = old.co_flags & CO_OPTIMIZED and old.co_flags & CO_NEWLOCALS
    differs = _own(old) != _own(new)
    if differs and not is_function:
        return None
    inner = [[each for each in code.co_consts if isinstance(each, CodeType)] for code in (old, new)]
    for one, other in zip(*inner, strict=False):
        further = _compare(one, other, changed)
        if further is None or (further and not is_function and one.co_name.endswith("comp>")):
            return None
        differs |= further
    if differs and is_function:
        changed[key_of(old)] = new
    return differs


def _own(code: CodeType) -> Any:
    """What a code object does, without the codes inside it and without lines."""
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return code.co_code, code.co_exceptiontable, names, counts, [_constant(each) for each in code.co_consts]


def _constant(value: Any) -> Any:
    """A constant that is equal to another one of its type only: 1 is not True, nor 1.0."""
    if isinstance(value, CodeType):
        return CodeType
    if isinstance(value, tuple | frozenset):
        return type(value), [
            _constant(each) for each in (value if isinstance(value, tuple) else sorted(value, key=repr))
        ]
    return type(value), repr(value)


def _of_file(code: CodeType, path: str) -> CodeType:
    inner = tuple(_of_file(each, path) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_filename=path, co_consts=inner)
