# SPDX-License-Identifier: Apache-2.0
"""The tests nearest to a module: those between which and the module lie the fewest imports, then its neighbours.

Fixtures and modules that are loaded late hide imports, so tests of the package's own folder or name come as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path

import imports
from changed import TESTS, named, needs_of

_FOLDERS = ("unit", "p4")
_MOST_TESTS = 4
_MOST_NEIGHBOURS = 4
_FURTHEST = 2


def every_module() -> dict[str, str]:
    """All product modules that hold code, by their paths in the repository: the dotted name of each."""
    paths = {str(path.relative_to(imports.ROOT)): name for name, path in imports.read().files.items()}
    return {path: name for path, name in sorted(paths.items()) if not path.endswith("__init__.py")}


def nearest_tests(module: str) -> tuple[str, ...]:
    """Paths of at most four test files, the nearest first, and of neighbours; empty if there are neither."""
    own = {test: {module: 0} for test in _distances() if is_named_after(test, module)}
    near = ranked(module, _distances() | own)
    return near + tuple(test for test in neighbours(module, _distances()) if test not in near)


def neighbours(module: str, tests: Iterable[str]) -> tuple[str, ...]:
    """At most four of the tests that lie in a folder of the name of the module's package, or have that name."""
    *packages, stem = module.replace("offramp_", "").split(".")
    rows = []
    for test in tests:
        *_, folder = Path(test).parent.parts
        if len(packages) > 1 and (folder == packages[-1] or f"_{packages[-1]}_" in f"{Path(test).stem}_"):
            shared = len({*packages} & {*Path(test).parts})
            rows.append((f"_{stem}" not in Path(test).stem, -shared, test))
    return tuple(row[-1] for row in sorted(rows)[:_MOST_NEIGHBOURS])


def is_named_after(test: str, module: str) -> bool:
    """Whether a test has the name of a module or its package and lies in the folder of one of its packages.

    Its imports need not say so: modules may be loaded late, and packages have faces.
    """
    *packages, stem = module.replace("offramp_", "").split(".")
    words = f"{Path(test).stem}_"
    named = f"_{stem}_" in words or (bool(packages) and f"_{packages[-1]}_" in words)
    return named and Path(test).parts[-2] in packages


def ranked(module: str, distances: Mapping[str, Mapping[str, int]]) -> tuple[str, ...]:
    """The nearest tests, from the modules that each test reaches and how many imports away they are.

    Of equally near tests, one of the module's own name or its package's comes first, then the one that reaches less.
    """
    stem, rows = module.rpartition(".")[2], []
    for test, reached in distances.items():
        if module in reached:
            other = 0 if stem in Path(test).stem else 1 if is_named_after(test, module) else 2
            rows.append((reached[module], other, len(reached), test))
    rows.sort()
    return tuple(row[-1] for row in rows[:_MOST_TESTS])


def reach(begin: Iterable[str], needs: Mapping[str, Iterable[str]], faces: Collection[str]) -> dict[str, int]:
    """Modules within two imports of those that a test names, by how many; a package's face is no step."""
    reached = dict.fromkeys(begin, 0)
    pending = deque(reached)
    while pending:
        name = pending.popleft()
        further = reached[name] + (name not in faces)
        for following in needs.get(name, ()):
            if further <= _FURTHEST and further < reached.get(following, _FURTHEST + 1):
                reached[following] = further
                pending.append(following)
    return reached


@cache
def _distances() -> dict[str, dict[str, int]]:
    sources = imports.read()
    needs = needs_of(sources)
    faces = {name for name in sources.files if sources.is_package(name)}
    tests = [test for folder in _FOLDERS for test in sorted((TESTS / folder).rglob("test_*.py"))]
    return {str(test.relative_to(imports.ROOT)): reach(named(test, needs), needs, faces) for test in tests}
