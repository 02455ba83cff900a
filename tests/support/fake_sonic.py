# SPDX-License-Identifier: Apache-2.0
"""SONiC's ``sonic-cfggen`` and ``config`` as a script over a JSON file, which fails where it is told to.

It is installed under both names; ``state.json`` beside it holds the configuration, the checkpoints, how many commands
were run, and ``fail``: the number of the command that fails, and for ``apply-patch`` after how many operations.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def patch(config: Any, operations: list[dict[str, Any]]) -> None:
    for operation in operations:
        *parents, last = (part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:])
        place = config
        for part in parents:
            place = place[part]
        if operation["op"] == "remove":
            del place[last]
        elif operation["op"] == "replace" and last not in place:
            raise KeyError(last)
        else:
            place[last] = operation["value"]
    if not all(config.values()):
        raise ValueError("Given patch results in empty tables which is not allowed in ConfigDb")


def run(state: dict[str, Any], command: list[str]) -> str:
    match command:
        case ["-d", "--print-data"]:
            return json.dumps(state["config"])
        case ["checkpoint", name]:
            state["checkpoints"][name] = json.loads(json.dumps(state["config"]))
        case ["rollback", name]:
            state["config"] = state["checkpoints"][name]
        case ["delete-checkpoint", name]:
            del state["checkpoints"][name]
        case ["apply-patch", path]:
            operations = json.loads(Path(path).read_text())
            patch(state["config"], operations[: state.get("operations")])
            state["config"].pop(state.pop("forget", None), None)
            if state.pop("operations", None) is not None:
                raise ValueError("the patch broke off")
        case _:
            raise ValueError(f"no such command: {command}")
    return ""


def main() -> None:
    file = HERE / "state.json"
    state = json.loads(file.read_text())
    state["run"] += 1
    if state["run"] == state.get("fail"):
        file.write_text(json.dumps(state))
        sys.exit("Usage: config ...\n\nError: told to fail")
    try:
        sys.stdout.write(run(state, sys.argv[1:]))
    except (KeyError, ValueError) as error:
        file.write_text(json.dumps(state))
        sys.exit(f"Error: {error}")
    file.write_text(json.dumps(state))


if __name__ == "__main__":
    main()
