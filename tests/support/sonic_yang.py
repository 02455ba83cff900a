# SPDX-License-Identifier: Apache-2.0
"""Tables of CONFIG_DB as instances of SONiC's YANG models (sonic-buildimage, ``sonic-yang-models``), for yanglint."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

Config = dict[str, dict[str, dict[str, str]]]
_MAPS = {
    "DSCP_TO_TC_MAP": ("sonic-dscp-tc-map", "dscp", "tc"),
    "TC_TO_QUEUE_MAP": ("sonic-tc-queue-map", "tc", "qindex"),
    "TC_TO_PRIORITY_GROUP_MAP": ("sonic-tc-priority-group-map", "tc", "pg"),
    "MAP_PFC_PRIORITY_TO_QUEUE": ("sonic-pfc-priority-queue-map", "pfc_priority", "qindex"),
}
_OTHERS = ("port", "scheduler", "wred-profile", "port-qos-map", "queue", "device_metadata")
_SMALL = ("weight", "priority", "cbs", "pbs", "tc")
"""Leaves that JSON has as numbers; those of 64 bits are texts."""


def errors(config: Config, models: Path, folder: Path) -> str:
    """Complaints of yanglint; nothing where the tables are valid."""
    path = folder / "instance.json"
    path.write_text(json.dumps(_instance(config)))
    names = [*(module for module, _, _ in _MAPS.values()), *(f"sonic-{name}" for name in _OTHERS)]
    files = [str(models / f"{name}.yang") for name in names]
    command = ["yanglint", "-p", str(models), "-t", "config", *files, str(path)]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=60)
    return done.stderr if done.returncode else ""


def _instance(config: Config) -> dict[str, Any]:
    instance: dict[str, Any] = {}

    def table(module: str, name: str, rows: list[dict[str, Any]]) -> None:
        instance[f"{module}:{module}"] = {name: {f"{name}_LIST": rows}}

    for name, (module, key, value) in _MAPS.items():
        rows = config.get(name, {}).items()
        table(module, name, [{"name": n, name: [_leaves({key: k, value: v}) for k, v in m.items()]} for n, m in rows])
    table("sonic-scheduler", "SCHEDULER", [{"name": n, **_leaves(f)} for n, f in config["SCHEDULER"].items()])
    table("sonic-wred-profile", "WRED_PROFILE", [{"name": n, **_leaves(f)} for n, f in config["WRED_PROFILE"].items()])
    table("sonic-port-qos-map", "PORT_QOS_MAP", [{"ifname": n, **f} for n, f in config["PORT_QOS_MAP"].items()])
    queues = [{"ifname": k.split("|")[0], "qindex": k.split("|")[1], **f} for k, f in config["QUEUE"].items()]
    table("sonic-queue", "QUEUE", queues)
    ports = [{"name": name, "lanes": f["lanes"], "speed": int(f["speed"])} for name, f in config["PORT"].items()]
    table("sonic-port", "PORT", ports)
    return instance


def _leaves(fields: dict[str, str]) -> dict[str, Any]:
    return {k: int(v) if k in _SMALL else v == "true" if k.startswith("wred_") else v for k, v in fields.items()}
