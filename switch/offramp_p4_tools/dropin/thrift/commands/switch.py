# SPDX-License-Identifier: Apache-2.0
"""Commands for the switch itself."""

from __future__ import annotations

from pathlib import Path

from offramp_p4_tools.dropin.thrift.commands.base import (
    CommandSession,
    command,
    whole,
)


def _queues(s: CommandSession, args: list[str], what: str, field: str) -> None:
    value = {field: whole(args[0], field)}
    if len(args) > 2:
        ports = {"port_num": whole(args[1], "egress_port"), "priority": whole(args[2], "priority")}
        s.ask(f"set_egress_priority_queue_{what}", **ports, **value)
    elif len(args) == 2:
        s.ask(f"set_egress_queue_{what}", port_num=whole(args[1], "egress_port"), **value)
    else:
        s.ask(f"set_all_egress_queue_{what}s", **value)


@command(1, 3)
def set_queue_depth(s: CommandSession, args: list[str]) -> None:
    """Set the depth of queues, packets."""
    _queues(s, args, "depth", "depth_pkts")


@command(1, 3)
def set_queue_rate(s: CommandSession, args: list[str]) -> None:
    """Set the rate of queues, packets per second."""
    _queues(s, args, "rate", "rate_pps")


@command(0, 0)
def show_ports(s: CommandSession, args: list[str]) -> None:
    """List ports."""
    del args
    s.say(f"{'port #':^10}{'iface name':^20}{'status':^10}extra info")
    s.say("=" * 50)
    for port in s.ask("bm_dev_mgr_show_ports"):
        status = "UP" if port["is_up"] else "DOWN"
        s.say(f"{port['port_num']:^10}{port['iface_name']:^20}{status:^10}")


@command(0, 0)
def switch_info(s: CommandSession, args: list[str]) -> None:
    """Show the switch."""
    del args
    info = s.ask("bm_mgmt_get_info")
    for name in ("device_id", "thrift_port", "notifications_socket", "elogger_socket", "debugger_socket"):
        s.say(f"{name:25}: {info.get(name)}")


@command(0, 0)
def reset_state(s: CommandSession, args: list[str]) -> None:
    """Everything as when the program was loaded."""
    del args
    s.ask("bm_reset_state")


@command(0, 0)
def get_time_elapsed(s: CommandSession, args: list[str]) -> None:
    """Microseconds since the start of the switch."""
    del args
    s.say(s.ask("get_time_elapsed_us"))


@command(0, 0)
def get_time_since_epoch(s: CommandSession, args: list[str]) -> None:
    """Microseconds of the clock on the wall."""
    del args
    s.say(s.ask("get_time_since_epoch_us"))


@command(1, 1)
def write_config_to_file(s: CommandSession, args: list[str]) -> None:
    """Write the switch's JSON to a file."""
    Path(args[0]).write_text(s.ask("bm_get_config"))
