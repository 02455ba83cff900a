# SPDX-License-Identifier: Apache-2.0
"""``python -m changed [REVISION]``: the test files that a change since a revision (by default HEAD) can reach.

A test reaches the modules that it imports, those that these import, and modules that it names in a string, as for
``python -m``. One that starts processes reaches the command line. Sources in other languages reach the tests of their
folder. What is printed can be given to pytest; nothing is printed if no test can notice the change.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import imports

TESTS: Final = imports.ROOT / "tests"
FOLDERS: Final = {"p4": "tests/p4", "fpga": "tests/fpga", "smartnic": "tests/nic", "docs": "tests/e2e/test_docs.py"}
"""Tests of sources that are not Python, by their top-level folder."""
EVERYTHING: Final = ("pyproject.toml", "tests/conftest.py", "ci/requirements.lock", "ci/constraints.txt")
"""Files that any test may depend on."""
_COMMANDS: Final = "offramp_cli.app"


def reached_tests(changed: Iterable[str], root: Path = imports.ROOT) -> list[str]:
    """Test files and folders that changed files reach, relative to the checkout and sorted.

    Args:
        changed: paths relative to the checkout.
        root: the checkout.
    """
    paths = list(changed)
    if any(path in EVERYTHING for path in paths):
        return ["tests"]
    sources = imports.read()
    needs = needs_of(sources)
    modules = {str(path.relative_to(root)): name for name, path in sources.files.items()}
    support = {str(path.relative_to(root)): path.stem for path in (TESTS / "support").rglob("*.py")}
    touched = {modules[path] for path in paths if path in modules} | {
        support[path] for path in paths if path in support
    }
    reached = {path for path in paths if path.startswith("tests/") and Path(path).name.startswith("test_")}
    reached |= {"tests/unit/cli" for path in paths if path.startswith("cli/")}  # its table names modules in part
    reached |= {FOLDERS[top] for path in paths if path not in modules and (top := path.partition("/")[0]) in FOLDERS}
    for test in sorted(TESTS.rglob("test_*.py")):
        if touched & _closure(named(test, needs), needs):
            reached.add(str(test.relative_to(root)))
    return sorted(path for path in reached if (root / path).exists())


def needs_of(sources: imports.Sources) -> dict[str, set[str]]:
    """What each module of the product and of tests/support imports when it runs."""
    needs: dict[str, set[str]] = {name: set() for name in sources.files}
    for each in sources.imports:
        if not each.typing:
            needs[each.by].add(each.of)
    for path in (TESTS / "support").rglob("*.py"):
        needs.setdefault(path.stem, set())
    for path in (TESTS / "support").rglob("*.py"):
        needs[path.stem] |= named(path, needs) - {path.stem}
    return needs


def named(path: Path, needs: Mapping[str, set[str]]) -> set[str]:
    """Modules that a file imports or names."""
    tree = ast.parse(path.read_text("utf-8"))
    names = {name for node in ast.walk(tree) for name in imports.imported_names(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= set(re.findall(r"\bofframp\w*(?:\.\w+)+", node.value))
        if isinstance(node, ast.arg) and node.arg == "warm_folder":
            names.add(_COMMANDS)
    if "subprocess" in names or "subprocess.run" in names:
        names.add(_COMMANDS)
    known = set()
    for name in names:
        while name and name not in needs:
            name = name.rpartition(".")[0]
        known |= {name} if name else set()
    return known


def _closure(names: set[str], needs: Mapping[str, set[str]]) -> set[str]:
    reached, pending = set(names), list(names)
    while pending:
        for following in needs.get(pending.pop(), ()):
            if following not in reached:
                reached.add(following)
                pending.append(following)
    return reached


def main() -> None:
    """Print the tests that the working tree's change reaches, one per line."""
    revision = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    commands = (["git", "diff", "--name-only", revision], ["git", "ls-files", "--others", "--exclude-standard"])
    changed: list[str] = []
    for command in commands:
        done = subprocess.run(command, cwd=imports.ROOT, capture_output=True, text=True, check=True)
        changed += done.stdout.split()
    sys.stdout.writelines(f"{path}\n" for path in reached_tests(changed))


if __name__ == "__main__":
    main()
