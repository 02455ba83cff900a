# SPDX-License-Identifier: Apache-2.0
"""Commands for the switch itself."""

from __future__ import annotations

from pathlib import Path

from offramp_p4_tools.dropin.thrift.catalogue import InputError, read_catalogue
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


@command(2, 3)
def port_add(s: CommandSession, args: list[str]) -> None:
    """Attach a port: interface, port, folder for what it sends and receives."""
    port = whole(args[1], "port_num")
    s.ask("bm_dev_mgr_add_port", iface_name=args[0], port_num=port, pcap_path=args[2] if len(args) > 2 else "")


@command(1, 1)
def port_remove(s: CommandSession, args: list[str]) -> None:
    """Close a port."""
    s.ask("bm_dev_mgr_remove_port", port_num=whole(args[0], "port_num"))


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


@command(1, 1)
def load_new_config_file(s: CommandSession, args: list[str]) -> None:
    """Have the switch compile another program, from bmv2's JSON."""
    path = Path(args[0])
    if not path.is_file():
        raise InputError("Not a valid filename")
    s.say("Loading new Json config")
    text = path.read_text()
    known = read_catalogue(text)
    s.ask("bm_load_new_config", config_str=text)
    s.known = known


@command(0)
def swap_configs(s: CommandSession, args: list[str]) -> None:
    """Have the switch run the program that it has loaded."""
    del args
    s.say("Swapping configs")
    s.ask("bm_swap_configs")


@command(1, 1)
def serialize_state(s: CommandSession, args: list[str]) -> None:
    """Write the state of the switch to a file."""
    Path(args[0]).write_text(s.ask("bm_serialize_state"))


def _set_crc(s: CommandSession, args: list[str], bits: int) -> None:
    if s.known.hashes.get(args[0]) != f"crc{bits}_custom":
        raise InputError(f"Invalid crc{bits}_custom name ({args[0]})")
    fields: dict[str, int | bool] = {}
    for name, word in zip(("polynomial", "initial_remainder", "final_xor_value"), args[1:4], strict=True):
        value = whole(word, name)
        if not 0 <= value < 1 << bits:
            raise InputError(f"Integer cannot fit within {bits} bits")
        fields[name] = value - (value >> (bits - 1) << bits)  # Thrift has no unsigned numbers
    for name, word in zip(("data_reflected", "remainder_reflected"), args[4:6], strict=True):
        fields[name] = _flag(word)
    s.ask(f"bm_set_crc{bits}_custom_parameters", calc_name=args[0], **{f"crc{bits}_config": fields})


def _flag(word: str) -> bool:
    if word.lower() in {"true", "false"}:
        return word.lower() == "true"
    try:
        return bool(int(word, 0))
    except ValueError:
        raise InputError("Invalid bool parameter") from None


@command(6, 6)
def set_crc16_parameters(s: CommandSession, args: list[str]) -> None:
    """Set a custom CRC of 16 bits: hash, polynomial, start, final xor, reflected data, reflected remainder."""
    _set_crc(s, args, 16)


@command(6, 6)
def set_crc32_parameters(s: CommandSession, args: list[str]) -> None:
    """Set a custom CRC of 32 bits: hash, polynomial, start, final xor, reflected data, reflected remainder."""
    _set_crc(s, args, 32)


@command(2, 2)
def set_toeplitz_hash_key(s: CommandSession, args: list[str]) -> None:
    """Set the key of a Toeplitz hash, in hexadecimal digits."""
    try:
        key = bytes.fromhex(args[1])
    except ValueError:
        raise InputError("Toeplitz hash key must be a hex string") from None
    if len(key) % 4:
        raise InputError("Toeplitz hash key must be a multiple of 4 bytes in length")
    s.ask("bm_set_toeplitz_hash_key", calc_name=args[0], key=key)


@command(0)
def greet(s: CommandSession, args: list[str]) -> None:
    """Say hello."""
    del args
    s.say("hello")
