# SPDX-License-Identifier: Apache-2.0
"""The switch that this runs on, by its own commands: ``sonic-cfggen`` reads, ``config`` writes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from offramp.hermod.deploy.sonic.patch import Operation
from offramp.hermod.deploy.sonic.tables import TABLES, Config
from offramp_base.documents import parse_json
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError, not_restored

CHECKPOINT = "offramp-hermod"


def is_sonic() -> bool:
    """Whether this machine has SONiC's commands."""
    return all(shutil.which(command) for command in ("sonic-cfggen", "config"))


class SonicDevice:
    """The running configuration of the switch."""

    name = "SONiC"

    def read(self) -> Config:
        """CONFIG_DB as it is.

        Raises:
            OfframpError: the command fails, or prints something else.
        """
        return config_of(_run("sonic-cfggen", "-d", "--print-data"), "sonic-cfggen")

    def apply(self, operations: list[Operation], after: Config) -> None:
        """Change CONFIG_DB as a whole: a checkpoint first, a rollback to it if anything fails.

        Args:
            operations: the patch.
            after: what must be there then; tables that the patch does not concern may differ.

        Raises:
            OfframpError: a command failed, or something else is there.
        """
        _run("config", "checkpoint", CHECKPOINT)
        try:
            try:
                self._patch(operations, after)
            except BaseException as error:
                self._rollback(error)
                raise
        finally:
            subprocess.run(["config", "delete-checkpoint", CHECKPOINT], capture_output=True, check=False)

    def _patch(self, operations: list[Operation], after: Config) -> None:
        with temporary_folder() as folder:
            path = Path(folder) / "hermod.patch.json"
            path.write_text(json.dumps(operations, indent=2) + "\n", encoding="utf-8")
            _run("config", "apply-patch", str(path))
        config = self.read()
        wrong = next((table for table in TABLES if config.get(table, {}) != after.get(table, {})), None)
        if wrong is not None:
            raise OfframpError(f"SONiC: table {wrong} does not read back as it was written")

    def _rollback(self, cause: BaseException) -> None:
        try:
            _run("config", "rollback", CHECKPOINT)
        except OfframpError as error:
            raise not_restored(cause, error) from cause


def config_of(text: str, source: str) -> Config:
    """A configuration from JSON, without empty tables, which CONFIG_DB cannot hold.

    Raises:
        OfframpError: not JSON, or no tables of rows.
    """
    try:
        config = parse_json(text)
    except OfframpError as error:
        raise OfframpError(f"{source}: {error}") from None
    if not isinstance(config, dict) or not all(isinstance(rows, dict) for rows in config.values()):
        raise OfframpError(f"{source}: expected the tables of CONFIG_DB")
    for table in TABLES:
        for key, fields in config.get(table, {}).items():
            if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
                raise OfframpError(f"{source}: {table} {key}: expected fields with texts")
    return {table: rows for table, rows in config.items() if rows}


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, check=False, text=True)
    except OSError as error:
        raise OfframpError(f"{command[0]}: cannot be run: {error.strerror}") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        reason = said[-1].removeprefix("Error: ") if said else f"exit code {done.returncode}"
        if "root" in reason.lower() or "permission" in reason.lower():
            reason = f"no permission: {reason}"
        raise OfframpError(f"{' '.join(command[:2])}: {reason}")
    return done.stdout
