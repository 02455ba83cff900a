# SPDX-License-Identifier: Apache-2.0
"""``python -m support.walk NAME [--json]``: print the walks of a subject, in the folder ``tests``."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from walk import Walk

HERE = Path(__file__).parent


def main() -> None:
    """Print each walk's counts and its steps by file."""
    names = sorted(module.name for module in iter_modules([str(HERE)]) if module.name != "__main__")
    parser = argparse.ArgumentParser(prog="python -m support.walk", description=__doc__)
    parser.add_argument("name", choices=names)
    parser.add_argument("--json", action="store_true", help="print counts, files and steps as JSON")
    args = parser.parse_args()
    walks: Mapping[str, Walk] = import_module(f"walk.{args.name}").walks()
    lines = []
    for name, each in walks.items():
        lines.append(f"{name}: {each.calls} calls, {len(each.files)} files, {each.changes} changes of file")
        lines += [f"  forms: {', '.join(each.forms)}"] if each.forms else []
        file = ""
        for at, function in each.steps:
            if at != file:
                lines.append(f"  {at}")
                file = at
            lines.append(f"    {function}")
    counts = {name: each.as_dict() for name, each in walks.items()}
    sys.stdout.write((json.dumps(counts, indent=2) if args.json else "\n".join(lines)) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))  # tests import their helpers as top-level modules
    main()
