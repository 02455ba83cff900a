# SPDX-License-Identifier: Apache-2.0
"""MkDocs' hooks: the pages of commands and of Python are made from the sources; links that leave docs/ become names."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File, Files

ROOT: Final = Path(__file__).parents[1]
PRODUCTS: Final = {
    "host": "What trains: graphs, models, codecs and each system, `offramp`.",
    "switch": "The P4 switch and the tools around it, `offramp_p4` and `offramp_p4_tools`.",
    "sim": "Simulated networks, clusters and cards, `offramp_sim`.",
    "base": "What all others use, `offramp_base`.",
}
"""Folders with faces, and what their pages begin with."""
MODULES: Final = {"host": ("offramp.gnn.links", "offramp.gnn.loggers", "offramp.leo.functions.kvs")}
"""Public modules that are no packages, by folder; ``tests/unit/test_faces.py`` says what for."""


def on_files(files: Files, config: Any) -> Files:
    """Add the reference of all commands and that of Python, a page for each folder."""
    from offramp_cli.reference import markdown

    files.append(File.generated(config, "reference/commands.md", content=markdown()))
    for folder, text in PRODUCTS.items():
        files.append(File.generated(config, f"reference/python/{folder}.md", content=python_page(folder, text)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A link to a file of the checkout that is no page becomes that file's name."""
    return re.sub(
        r"\[([^\]]+)\]\((?:\.\./)+(?!first-hour|reference)([^)#]+/[^)]*|[A-Z]+\.md|Makefile)\)", r"\1 (`\2`)", markdown
    )


def python_page(folder: str, text: str) -> str:
    """All faces in a folder: what each package says of itself, and its public names from their docstrings."""
    parts = [f"# Python: {folder}", text]
    for path in sorted((ROOT / folder).rglob("__init__.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        table = face_of(tree)
        if table:
            package = ".".join(path.relative_to(ROOT / folder).parts[:-1])
            parts += [f"## {package}", *_described(ast.get_docstring(tree) or "")]
            for name, target in table.items():
                module, _, attribute = target.partition(":")
                heading = f"heading: {package}.{name}, toc_label: {name}, heading_level: 3"
                parts.append(f"::: {module}.{attribute or name}\n    options: {{{heading}}}")
    parts += [f"::: {module}\n    options: {{heading_level: 2}}" for module in MODULES.get(folder, ())]
    return "\n\n".join(parts) + "\n"


def face_of(tree: ast.Module) -> dict[str, str]:
    """The table of a package's face (``offramp_base.lazy``): public name to module; empty where it has none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "face":
            table: dict[str, str] = ast.literal_eval(node.args[1])
            return dict(sorted(table.items()))
    return {}


def _described(docstring: str) -> list[str]:
    """A docstring's text with its roles as code, and its example as a block."""
    text, prompt, example = docstring.partition(">>> ")
    described = [re.sub(r":\w+:`~?([^`]+)`|``([^`]+)``", lambda m: f"`{m[1] or m[2]}`", text).strip()]
    return [*described, f"```pycon\n{prompt}{example}\n```"] if prompt else described
