# SPDX-License-Identifier: Apache-2.0
"""A hook of hatchling: the commit of a wheel stands in ``offramp_base/commit.txt``."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):  # type: ignore[type-arg]
    """Asks git; nothing is written where there is none, as in an unpacked source distribution."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file, unless the installation is editable and asks git itself."""
        try:
            asked = ["git", "-C", self.root, "rev-parse", "--short=12", "HEAD"]
            commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return
        if version != "editable":
            path = Path(self.directory) / "commit.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(commit)
            build_data["force_include"][str(path)] = "offramp_base/commit.txt"
