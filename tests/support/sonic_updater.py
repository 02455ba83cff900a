# SPDX-License-Identifier: Apache-2.0
"""SONiC's own generic config updater over configurations in memory; run by an interpreter that can import it.

What it takes from a switch is replaced: ConfigDBConnector writes into a dictionary, ``sonic-cfggen`` reads it, services
are not asked, and nothing sleeps after a change. On standard input: the folder of the YANG models, and a list of
configurations with a patch and the patch that undoes it. On standard output, for each of them: what stood there after
``config apply-patch``, after ``config rollback`` and after both patches, or what the updater said; of a configuration
that the models refuse, why.
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
import types
from typing import Any

state: dict[str, Any] = {}


class ConfigDBConnector:
    """The calls that the updater makes."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def connect(self, *_: object, **__: object) -> None:
        pass

    def set_entry(self, table: str, key: str, fields: dict[str, Any] | None) -> None:
        rows = state.setdefault(table, {})
        if fields is None:
            rows.pop(key, None)
        else:
            rows[key] = copy.deepcopy(fields)
        if not rows:
            del state[table]

    def get_table(self, table: str) -> dict[str, Any]:
        return copy.deepcopy(state.get(table, {}))


def _install() -> Any:
    """The updater, with a dictionary in the place of the switch."""
    inner = types.ModuleType("swsscommon.swsscommon")
    inner.ConfigDBConnector = inner.SonicV2Connector = ConfigDBConnector  # type: ignore[attr-defined]
    package = types.ModuleType("swsscommon")
    package.swsscommon = inner  # type: ignore[attr-defined]
    sys.modules |= {"swsscommon": package, "swsscommon.swsscommon": inner}
    from sonic_py_common import multi_asic

    multi_asic.is_multi_asic = lambda *_: False
    from generic_config_updater import change_applier, generic_updater, gu_common

    gu_common.get_config_db_as_json = lambda scope=None: copy.deepcopy(state)
    generic_updater.get_config_json = lambda: copy.deepcopy(state)
    change_applier.time = types.SimpleNamespace(sleep=lambda seconds: None)
    change_applier.ChangeApplier._services_validate = lambda *_: 0
    return generic_updater, gu_common


def main() -> None:
    job_file = json.load(sys.stdin)
    out, sys.stdout = sys.stdout, sys.stderr
    updater_module, common = _install()
    common.YANG_DIR = job_file["models"]
    form = updater_module.ConfigFormat.CONFIGDB
    with tempfile.TemporaryDirectory() as folder:
        updater_module.CHECKPOINTS_DIR = folder
        updater_module.Util.__init__.__defaults__ = (folder,)
        updater_module.FileSystemConfigRollbacker.__init__.__defaults__ = (folder, None, None, "")
        for job in job_file["jobs"]:
            results: dict[str, Any] = {}
            try:
                valid, problem = common.ConfigWrapper().validate_config_db_config(copy.deepcopy(job["config"]))
                if not valid:
                    out.write(json.dumps({"refused": str(problem)}) + "\n")
                    continue
                for undo in ("rollback", "undone"):
                    state.clear()
                    state.update(copy.deepcopy(job["config"]))
                    updater = updater_module.GenericUpdater()
                    updater.checkpoint("offramp-hermod", False)
                    updater.apply_patch(_patch(job["patch"]), form, False, False, False, [])
                    results["applied"] = copy.deepcopy(state)
                    if undo == "rollback":
                        updater.rollback("offramp-hermod", False, False, False, [])
                    else:
                        updater.apply_patch(_patch(job["undo"]), form, False, False, False, [])
                    results[undo] = copy.deepcopy(state)
                    updater.delete_checkpoint("offramp-hermod", False)
            except Exception as error:  # whatever it is, the test shows it
                results["error"] = f"{type(error).__name__}: {error}"
            out.write(json.dumps(results) + "\n")
            out.flush()


def _patch(operations: list[dict[str, Any]]) -> Any:
    import jsonpatch

    return jsonpatch.JsonPatch(operations)


if __name__ == "__main__":
    main()
