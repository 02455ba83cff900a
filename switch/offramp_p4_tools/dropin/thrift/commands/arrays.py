# SPDX-License-Identifier: Apache-2.0
"""Commands for counters, meters, registers and value sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from offramp_p4_tools.dropin.thrift.catalogue import Array, InputError, find, octets
from offramp_p4_tools.dropin.thrift.commands.base import (
    CommandSession,
    command,
    whole,
)


def _array(arrays: Mapping[str, Array], name: str, kind: str) -> Array:
    return find(arrays, name, kind)


@command(2, 2)
def counter_read(s: CommandSession, args: list[str]) -> None:
    """Show a counter, or that of an entry."""
    counter, index = _array(s.known.counters, args[0], "counter"), whole(args[1], "index")
    if counter.table is not None:
        s.say(f"this is the direct counter for table {counter.table}")
        value = s.ask("bm_mt_read_counter", table_name=counter.table, entry_handle=index)
    else:
        value = s.ask("bm_counter_read", counter_name=counter.name, index=index)
    s.say(f"{args[0]}[{index}]= ({value['bytes']} bytes, {value['packets']} packets)")


@command(4, 4)
def counter_write(s: CommandSession, args: list[str]) -> None:
    """Set a counter: name, index, packets, bytes."""
    counter, index = _array(s.known.counters, args[0], "counter"), whole(args[1], "index")
    value = {"packets": whole(args[2], "packets"), "bytes": whole(args[3], "bytes")}
    if counter.table is not None:
        s.ask("bm_mt_write_counter", table_name=counter.table, entry_handle=index, value=value)
    else:
        s.ask("bm_counter_write", counter_name=counter.name, index=index, value=value)
    s.say(f"{args[0]}[{index}] has been updated")


@command(1, 1)
def counter_reset(s: CommandSession, args: list[str]) -> None:
    """Set a counter array to 0."""
    counter = _array(s.known.counters, args[0], "counter")
    if counter.table is not None:
        s.ask("bm_mt_reset_counters", table_name=counter.table)
    else:
        s.ask("bm_counter_reset_all", counter_name=counter.name)


@command(1, 2)
def register_read(s: CommandSession, args: list[str]) -> None:
    """Show a cell, or a whole array."""
    register = _array(s.known.registers, args[0], "register").name
    if len(args) == 2:
        index = whole(args[1], "index")
        s.say(f"{args[0]}[{index}]= {s.ask('bm_register_read', register_array_name=register, idx=index)}")
        return
    values = s.ask("bm_register_read_all", register_array_name=register)
    s.say(f"{args[0]}= {', '.join(map(str, values))}")


@command(3, 3)
def register_write(s: CommandSession, args: list[str]) -> None:
    """Set a cell, or those of a range ``FIRST-END``."""
    register, value = _array(s.known.registers, args[0], "register").name, whole(args[2], "value")
    first, dash, end = args[1].partition("-")
    if dash and first:
        span = {"start_index": whole(first, "index"), "end_index": whole(end, "index")}
        s.ask("bm_register_write_range", register_array_name=register, value=value, **span)
    else:
        s.ask("bm_register_write", register_array_name=register, index=whole(args[1], "index"), value=value)


@command(1, 1)
def register_reset(s: CommandSession, args: list[str]) -> None:
    """Set a register array to 0."""
    s.ask("bm_register_reset", register_array_name=_array(s.known.registers, args[0], "register").name)


def _rates(words: list[str]) -> list[dict[str, Any]]:
    try:
        pairs = [word.split(":") for word in words]
        return [{"units_per_micros": float(rate), "burst_size": int(burst)} for rate, burst in pairs]
    except ValueError:
        raise InputError("Error while parsing rates: expected RATE:BURST for each") from None


@command(1)
def meter_array_set_rates(s: CommandSession, args: list[str]) -> None:
    """Configure all meters of an array."""
    meter = _array(s.known.meters, args[0], "meter").name
    s.ask("bm_meter_array_set_rates", meter_array_name=meter, rates=_rates(args[1:]))


@command(2)
def meter_set_rates(s: CommandSession, args: list[str]) -> None:
    """Configure a meter, or that of an entry."""
    meter, index = _array(s.known.meters, args[0], "meter"), whole(args[1], "index")
    if meter.table is not None:
        s.ask("bm_mt_set_meter_rates", table_name=meter.table, entry_handle=index, rates=_rates(args[2:]))
    else:
        s.ask("bm_meter_set_rates", meter_array_name=meter.name, index=index, rates=_rates(args[2:]))


@command(2, 2)
def meter_get_rates(s: CommandSession, args: list[str]) -> None:
    """Show the rates of a meter."""
    meter, index = _array(s.known.meters, args[0], "meter"), whole(args[1], "index")
    if meter.table is not None:
        rates = s.ask("bm_mt_get_meter_rates", table_name=meter.table, entry_handle=index)
    else:
        rates = s.ask("bm_meter_get_rates", meter_array_name=meter.name, index=index)
    for i, rate in enumerate(rates):
        s.say(f"{i}: info rate = {rate['units_per_micros']}, burst size = {rate['burst_size']}")


@command(0, 0)
def show_pvs(s: CommandSession, args: list[str]) -> None:
    """List parser value sets."""
    del args
    for name, width in sorted(s.known.value_sets.items()):
        s.say(f"{name:30} [compressed bitwidth:{width}]")


@command(2, 2)
def pvs_add(s: CommandSession, args: list[str]) -> None:
    """Add a value to a parser value set."""
    width = find(s.known.value_sets, args[0], "parser value set")
    s.ask("bm_parse_vset_add", parse_vset_name=args[0], value=octets(args[1], width))


@command(2, 2)
def pvs_remove(s: CommandSession, args: list[str]) -> None:
    """Remove a value from a parser value set."""
    width = find(s.known.value_sets, args[0], "parser value set")
    s.ask("bm_parse_vset_remove", parse_vset_name=args[0], value=octets(args[1], width))


@command(1, 1)
def pvs_get(s: CommandSession, args: list[str]) -> None:
    """Show the values of a parser value set."""
    for value in s.ask("bm_parse_vset_get", parse_vset_name=args[0]):
        s.say(value.hex())


@command(1, 1)
def pvs_clear(s: CommandSession, args: list[str]) -> None:
    """Remove all values of a parser value set."""
    s.ask("bm_parse_vset_clear", parse_vset_name=args[0])
