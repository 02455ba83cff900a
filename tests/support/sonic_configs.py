# SPDX-License-Identifier: Apache-2.0
"""Configurations as SONiC's default QoS makes them, in the forms that its releases and devices have.

Made from what the templates say (sonic-buildimage, ``qos_config.j2``); none is copied.
"""

from __future__ import annotations

import copy
from typing import Any

Config = dict[str, dict[str, dict[str, str]]]
PORTS = ("Ethernet0", "Ethernet4", "Ethernet8")
_COMMON = "1"
_CLASSES = {"3": "3", "4": "4", "5": "2", "8": "0", "46": "5", "48": "6"}
_IDENTITY = {str(n): str(n) for n in range(8)}


def azure(special: dict[str, str] | None = None) -> dict[str, str]:
    """A DSCP map that has most DSCPs in one class."""
    return {str(d): _COMMON for d in range(64)} | (_CLASSES if special is None else special)


def default(brackets: bool = False) -> Config:
    """``config qos reload``: a row for each port and queue."""
    config: Config = {
        "PORT": {port: {"lanes": str(n), "speed": "100000"} for n, port in enumerate(PORTS)},
        "DSCP_TO_TC_MAP": {"AZURE": azure()},
        "TC_TO_QUEUE_MAP": {"AZURE": dict(_IDENTITY)},
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {**dict.fromkeys("01256", "0"), "3": "3", "4": "4", "7": "7"}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": dict(_IDENTITY)},
        "SCHEDULER": {f"scheduler.{n}": {"type": "DWRR", "weight": str(14 + n)} for n in range(2)},
        "WRED_PROFILE": {"AZURE_LOSSLESS": {"ecn": "ecn_all", "green_min_threshold": "1", "green_max_threshold": "2"}},
        "PORT_QOS_MAP": {
            "global": {"dscp_to_tc_map": "AZURE"},
            **{
                port: {
                    "dscp_to_tc_map": "AZURE",
                    "tc_to_queue_map": "AZURE",
                    "tc_to_pg_map": "AZURE",
                    "pfc_to_queue_map": "AZURE",
                    "pfc_enable": "3,4",
                }
                for port in PORTS
            },
        },
        "QUEUE": {f"{port}|{q}": {"scheduler": f"scheduler.{q in (3, 4):d}"} for port in PORTS for q in range(7)},
    }
    for port in PORTS:
        for queue in (3, 4):
            config["QUEUE"][f"{port}|{queue}"]["wred_profile"] = "AZURE_LOSSLESS"
    return _bracketed(config) if brackets else config


def _bracketed(config: Config) -> Config:
    tables = {
        "dscp_to_tc_map": "DSCP_TO_TC_MAP",
        "tc_to_queue_map": "TC_TO_QUEUE_MAP",
        "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP",
        "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE",
        "scheduler": "SCHEDULER",
        "wred_profile": "WRED_PROFILE",
    }
    for table in ("QUEUE", "PORT_QOS_MAP"):
        for fields in config[table].values():
            fields.update({f: f"[{tables[f]}|{name}]" for f, name in fields.items() if f in tables})
    return config


def lists(config: Config) -> Config:
    """One row for all ports, as older releases write it."""
    rows = {key: fields for key, fields in config["PORT_QOS_MAP"].items() if key == "global"}
    config["PORT_QOS_MAP"] = rows | {",".join(PORTS): config["PORT_QOS_MAP"][PORTS[0]]}
    config["QUEUE"] = {f"{','.join(PORTS)}|{q}": config["QUEUE"][f"{PORTS[0]}|{q}"] for q in range(7)}
    return config


def ranges(config: Config, *spans: str, ports: bool = False) -> Config:
    """One row for several queues of a port, or of all ports."""
    one = next(iter(config["QUEUE"].values()))
    names = [",".join(PORTS)] if ports else PORTS
    config["QUEUE"] = {f"{port}|{span}": copy.deepcopy(one) for port in names for span in spans}
    return config


def virtual_queues(config: Config) -> Config:
    """A line card of a chassis."""
    local: Any = {"localhost": {"switch_type": "voq", "hostname": "lc3-1", "asic_name": "Asic0"}}
    config["DEVICE_METADATA"] = local
    config["QUEUE"] = {
        f"{host}|Asic0|{key}": dict(f) for host in ("lc3-1", "lc7") for key, f in config["QUEUE"].items()
    }
    return config


def dual_tor() -> Config:
    """Traffic classes beyond 7, a second map for uplinks, maps of a tunnel, PFC on four queues there."""
    config = default()
    nine = {**_IDENTITY, "2": "1", "6": "1", "8": "1"}
    config["DSCP_TO_TC_MAP"]["AZURE"] = azure({"3": "3", "4": "4", "8": "0", "33": "8", "46": "5"})
    config["DSCP_TO_TC_MAP"]["AZURE_UPLINK"] = azure({"2": "2", "3": "3", "4": "4", "6": "6", "8": "0", "33": "8"})
    config["DSCP_TO_TC_MAP"]["AZURE_TUNNEL"] = azure({"3": "3", "4": "4", "8": "0", "33": "8", "46": "5"})
    config["TC_TO_QUEUE_MAP"]["AZURE"] = nine
    config["TC_TO_QUEUE_MAP"]["AZURE_UPLINK"] = {**_IDENTITY, "8": "1"}
    config["TC_TO_QUEUE_MAP"]["AZURE_TUNNEL"] = {**nine, "3": "2", "4": "6"}
    uplink = config["PORT_QOS_MAP"][PORTS[2]]
    uplink |= {"dscp_to_tc_map": "AZURE_UPLINK", "tc_to_queue_map": "AZURE_UPLINK", "pfc_enable": "2,3,4,6"}
    tunnel = {"decap_dscp_to_tc_map": "AZURE_TUNNEL", "encap_tc_to_queue_map": "AZURE_TUNNEL"}
    config["TUNNEL"] = {"MuxTunnel0": {"tunnel_type": "IPINIP", **tunnel}}
    return config


def with_rows(config: Config, **tables: dict[str, dict[str, str]]) -> Config:
    """A configuration with some rows set."""
    for table, rows in tables.items():
        config.setdefault(table, {}).update(rows)
    return config


def unbound() -> Config:
    """Ports that have the switch's map only."""
    config = default()
    config["PORT_QOS_MAP"] = {"global": {"dscp_to_tc_map": "AZURE"}, PORTS[0]: {"pfc_enable": "3,4"}}
    return config


def every() -> dict[str, Config]:
    """By what is special about them."""
    partial = default()
    partial["DSCP_TO_TC_MAP"]["AZURE"] = {"3": "3", "4": "4"}
    short = default()
    short["TC_TO_QUEUE_MAP"]["AZURE"] = {"0": "0", "1": "1", "3": "3", "4": "4"}
    short["DSCP_TO_TC_MAP"]["AZURE"] = azure({"3": "3", "4": "4", "8": "0"})
    shifted = default()
    for port in PORTS:
        shifted["PORT_QOS_MAP"][port]["pfc_enable"] = "4,5"
    missing = default()
    del missing["DSCP_TO_TC_MAP"]
    own = {f"{port}|7": {"scheduler": "scheduler.0"} for port in PORTS}
    queues = default()
    queues["PORT_QOS_MAP"] = {}
    del queues["PORT_QOS_MAP"]
    turned = default()
    turned["TC_TO_QUEUE_MAP"]["AZURE"] = {str(n): str(7 - n) for n in range(8)}
    return {
        "default": default(),
        "brackets": default(brackets=True),
        "lists": lists(default()),
        "lists in brackets": lists(default(brackets=True)),
        "ranges": ranges(default(), "0-2", "3-4", "5-7"),
        "ranges of all ports in brackets": ranges(lists(default(brackets=True)), "0-2", "3-4", "5-7", ports=True),
        "a partial DSCP map": partial,
        "a partial queue map": short,
        "PFC on other queues": shifted,
        "dual ToR": dual_tor(),
        "the switch's map only": unbound(),
        "a map that is missing": missing,
        "queue 7 with a scheduler": with_rows(default(), QUEUE=own),
        "one row for queue 7": with_rows(
            lists(default()), QUEUE={f"{','.join(PORTS)}|7": {"scheduler": "scheduler.1"}}
        ),
        "queues without maps": queues,
        "queues upside down": turned,
        "virtual output queues": virtual_queues(default()),
    }
