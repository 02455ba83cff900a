# SPDX-License-Identifier: Apache-2.0
"""Applications by name, or from YAML files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from offramp.leo.applications.application import Application
from offramp.leo.devices import timeout_s
from offramp.leo.transports import TRANSPORTS
from offramp_base.settings.error import SettingsError

Devices = Mapping[str, str]
SIMULATED_WINDOW: Final = 64


def _kvs(devices: Devices, workload: str, seed: int, keys: int = 0) -> Application:
    from offramp.leo.applications import kvs

    if workload not in ("", *kvs.WRITES):
        raise SettingsError("workload", f"expected {' or '.join(kvs.WRITES)}", workload)
    return kvs.application(devices or {"model": _KVS_MODEL}, mix=workload or "C", keys=keys or kvs.KEYS, seed=seed)


_KVS_MODEL: Final = "model:service_us=40,table_bytes=8388608"
"""Time of the builtin ``kvs``, scaled by two hundred."""


def _store(devices: Devices, workload: str, seed: int) -> Application:
    from offramp.leo.applications import kvs, store

    if workload not in ("", *kvs.WRITES):
        raise SettingsError("workload", f"expected {' or '.join(kvs.WRITES)}", workload)
    return store.application(devices, mix=workload or "B", seed=seed)


def _dfs(devices: Devices, workload: str, seed: int) -> Application:
    from offramp.leo.applications import dfs

    _expect_none("dfs", workload)
    return dfs.application(devices, seed=seed)


def _ebs(devices: Devices, workload: str, seed: int) -> Application:
    from offramp.leo.applications import ebs

    if workload not in ("", *ebs.SIZES):
        raise SettingsError("workload", f"expected {' or '.join(ebs.SIZES)}", workload)
    return ebs.application(devices, size=workload or "4K", seed=seed)


def _allreduce(devices: Devices, workload: str, seed: int) -> Application:
    from offramp.leo.applications.allreduce import application

    _expect_none("allreduce", workload)
    return application(devices, seed=seed)


def _expect_none(name: str, workload: str) -> None:
    if workload:
        raise SettingsError("workload", f"{name} has only one", workload)


NAMED: Final[dict[str, Callable[[Devices, str, int], Application]]] = {
    "kvs": _kvs,
    "store": _store,
    "dfs": _dfs,
    "ebs": _ebs,
    "allreduce": _allreduce,
}


def open_application(
    names: Sequence[str],
    *,
    devices: Devices,
    paths: tuple[str, ...] = (),
    transport: str = "shm",
    workload: str = "",
    seed: int = 1,
    window: int = 0,
    code: Sequence[str] = (),
    keys: int = 0,
    data_folders: Sequence[str] = (),
) -> Application:
    """Open one of the four applications by name, or one that YAML files describe, on devices by name.

    ``window``: requests that a closed loop keeps outstanding; 0: the application's own number, or fewer where a device
    is RTL in simulation. ``code``: files with user functions, for YAML files. ``keys``: keys of the kvs store; 0: its
    default. ``data_folders``: folders whose files may be data, besides the folder of the YAML file.

    Raises:
        OfframpError: no such application, path or transport, or the files are wrong.
    """
    if transport not in TRANSPORTS:
        raise SettingsError("transport", f"expected {', '.join(TRANSPORTS.names())}", transport)
    named = len(names) == 1 and names[0] in NAMED
    if named and code:
        raise SettingsError("code", f"{names[0]} has functions of its own", ", ".join(code))
    if named and data_folders:
        raise SettingsError("data_folder", f"{names[0]} has data of its own", ", ".join(data_folders))
    if list(names) == ["kvs"]:
        opened = _kvs(devices, workload, seed, keys)
    elif keys:
        raise SettingsError("keys", "only kvs has them", str(keys))
    elif named:
        opened = NAMED[names[0]](devices, workload, seed)
    else:
        from offramp.leo.applications.generic import application

        opened = application(names, devices, seed=seed, code=code, data_folders=data_folders)
    for path in paths:
        if path not in opened.paths:
            raise SettingsError("paths", f"{opened.name} has {', '.join(opened.paths)}", path)
    longest_s = max(map(timeout_s, devices.values()), default=0.0)
    slow = longest_s > opened.settings.timeout_s
    settings = replace(opened.settings, transport=transport, timeout_s=max(opened.settings.timeout_s, longest_s))
    window = window or (min(opened.window, SIMULATED_WINDOW) if slow else opened.window)
    plan = replace(opened.plan, listen="127.0.0.1:0") if transport == "tcp" else opened.plan
    return replace(opened, paths=paths or opened.paths, plan=plan, settings=settings, window=window)
