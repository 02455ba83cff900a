# SPDX-License-Identifier: Apache-2.0
"""Commands for multicast groups and mirroring sessions."""

from __future__ import annotations

from typing import Final

from offramp_p4_tools.dropin.thrift.catalogue import InputError
from offramp_p4_tools.dropin.thrift.commands.base import (
    CommandSession,
    command,
    whole,
)

_MOST_PORT: Final = 511


def _ports(words: list[str]) -> str:
    ports = {whole(word, "port") for word in words if word != "|"}
    if any(not 0 <= port <= _MOST_PORT for port in ports):
        raise InputError("Port number must be in [0, 511]")
    return "".join("1" if port in ports else "0" for port in reversed(range(max(ports, default=-1) + 1)))


@command(1, 1)
def mc_mgrp_create(s: CommandSession, args: list[str]) -> None:
    """Make a multicast group."""
    s.say(f"Creating multicast group {args[0]}")
    s.ask("bm_mc_mgrp_create", mgrp=whole(args[0], "mgrp"))


@command(1, 1)
def mc_mgrp_destroy(s: CommandSession, args: list[str]) -> None:
    """Remove a multicast group."""
    s.say(f"Destroying multicast group {args[0]}")
    s.ask("bm_mc_mgrp_destroy", mgrp_handle=whole(args[0], "mgrp"))


@command(1)
def mc_node_create(s: CommandSession, args: list[str]) -> None:
    """Make a node: replication id, ports."""
    ports, rid = _ports(args[1:]), whole(args[0], "rid")
    s.say(f"Creating node with rid {rid} , port map {ports} and lag map ")
    s.say(f"node was created with handle {s.ask('bm_mc_node_create', rid=rid, port_map=ports, lag_map='')}")


@command(2)
def mc_node_update(s: CommandSession, args: list[str]) -> None:
    """Give a node other ports."""
    ports, handle = _ports(args[1:]), whole(args[0], "handle")
    s.say(f"Updating node {handle} with port map {ports} and lag map ")
    s.ask("bm_mc_node_update", l1_handle=handle, port_map=ports, lag_map="")


@command(2, 2)
def mc_node_associate(s: CommandSession, args: list[str]) -> None:
    """Put a node into a multicast group."""
    s.say(f"Associating node {args[1]} to multicast group {args[0]}")
    s.ask("bm_mc_node_associate", mgrp_handle=whole(args[0], "mgrp"), l1_handle=whole(args[1], "handle"))


@command(2, 2)
def mc_node_dissociate(s: CommandSession, args: list[str]) -> None:
    """Take a node out of a multicast group."""
    s.say(f"Dissociating node {args[1]} from multicast group {args[0]}")
    s.ask("bm_mc_node_dissociate", mgrp_handle=whole(args[0], "mgrp"), l1_handle=whole(args[1], "handle"))


@command(1, 1)
def mc_node_destroy(s: CommandSession, args: list[str]) -> None:
    """Remove a node."""
    s.say(f"Destroying node {args[0]}")
    s.ask("bm_mc_node_destroy", l1_handle=whole(args[0], "handle"))


@command(0, 0)
def mc_dump(s: CommandSession, args: list[str]) -> None:
    """Show multicast groups."""
    del args
    from offramp_base.documents import parse_json

    entries = parse_json(s.ask("bm_mc_get_entries"))
    nodes = {n["handle"]: n for n in entries["l1_handles"]}
    ports = {n["handle"]: ", ".join(map(str, n["ports"])) for n in entries["l2_handles"]}
    s.say("==========\nMC ENTRIES")
    for group in entries["mgrps"]:
        s.say(f"**********\nmgrp({group['id']})")
        for handle in group["l1_handles"]:
            node = nodes[handle]
            s.say(f"  -> (L1h={handle}, rid={node['rid']}) -> (ports=[{ports[node['l2_handle']]}], lags=[])")
    s.say("==========\nLAGS\n==========")


@command(2, 2)
def mirroring_add(s: CommandSession, args: list[str]) -> None:
    """Mirror a session to a port."""
    s.ask("mirroring_session_add", mirror_id=whole(args[0], "mirror_id"), config={"port": whole(args[1], "port")})


@command(2, 2)
def mirroring_add_mc(s: CommandSession, args: list[str]) -> None:
    """Mirror a session to a multicast group."""
    s.ask("mirroring_session_add", mirror_id=whole(args[0], "mirror_id"), config={"mgid": whole(args[1], "mgid")})


@command(1, 1)
def mirroring_delete(s: CommandSession, args: list[str]) -> None:
    """Remove a mirroring session."""
    s.ask("mirroring_session_delete", mirror_id=whole(args[0], "mirror_id"))


@command(1, 1)
def mirroring_get(s: CommandSession, args: list[str]) -> None:
    """Show a mirroring session."""
    config = s.ask("mirroring_session_get", mirror_id=whole(args[0], "mirror_id"))
    s.say(f"MirroringSessionConfig(port={config.get('port')}, mgid={config.get('mgid')})")


@command(2)
def mc_set_lag_membership(s: CommandSession, args: list[str]) -> None:
    """Set the ports of a group of aggregated links."""
    index = whole(args[0], "lag index")
    s.ask("bm_mc_set_lag_membership", lag_index=index, port_map=_ports(args[1:]))
