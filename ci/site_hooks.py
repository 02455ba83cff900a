# SPDX-License-Identifier: Apache-2.0
"""MkDocs' hooks: the page of commands is made from the declared settings; links that leave docs/ become names."""

from __future__ import annotations

import re
from typing import Any

from mkdocs.structure.files import File, Files


def on_files(files: Files, config: Any) -> Files:
    """Add the reference of all commands."""
    from offramp_cli.reference import markdown

    files.append(File.generated(config, "reference/commands.md", content=markdown()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A link to a file of the checkout that is no page becomes that file's name."""
    return re.sub(
        r"\[([^\]]+)\]\((?:\.\./)+(?!first-hour|reference)([^)#]+/[^)]*|[A-Z]+\.md|Makefile)\)", r"\1 (`\2`)", markdown
    )
