# SPDX-License-Identifier: Apache-2.0
"""Runs where finsy is installed: FOLDER-OF-THIS-FILE ADDRESS, then P4Info and program of features.p4."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

import finsy as fy
from finsy.p4entity import P4BackupReplica, P4Replica
from finsy.proto import stratum
from wire import ethernet, expect, send

_, _, address, p4info, program = sys.argv
MS = 1_000_000
MAC = 0x02_00_00_00_00_01


def flow(number, action, **options):
    return fy.P4TableEntry(
        "flows", match=fy.P4TableMatch({"hdr.ethernet.dst": MAC - 1 + number}), action=action, **options
    )


def to(port):
    return fy.P4TableAction("to", port=port)


async def refusal(call):
    """The switch's objection to a write."""
    try:
        await call
    except fy.P4ClientError as error:
        return str(error)
    raise AssertionError("the switch has accepted what it should refuse")


async def tour(sw):
    assert sw.is_primary
    await sw.delete_all()

    # Tables, direct counters and meters, default entries.
    await sw.insert([flow(1, to(2), metadata=b"mine")])
    send(1, ethernet(1))
    expect(2, ethernet(1))
    wanted = fy.P4TableEntry("flows", counter_data=fy.P4CounterData())
    (entity,) = [e async for e in sw.read(wanted)]
    assert (entity.counter_data.packet_count, entity.metadata) == (1, b"mine"), entity
    await sw.modify([flow(1, to(3))])
    send(1, ethernet(1))
    expect(3, ethernet(1))
    await sw.modify([fy.P4TableEntry("flows", is_default_action=True, action=to(4))])
    send(1, ethernet(5))
    expect(4, ethernet(5))
    await sw.modify([fy.P4TableEntry("flows", is_default_action=True)])
    await sw.delete([flow(1, None)])
    assert [e async for e in sw.read(fy.P4TableEntry("flows"))] == []

    # One-shots.
    shot = fy.P4IndirectAction(action_set=[(2, to(2))])
    spread = fy.P4TableEntry("spread", match=fy.P4TableMatch({"hdr.ethernet.type": 0x9000}), action=shot)
    await sw.insert([spread])
    (entity,) = [e async for e in sw.read(fy.P4TableEntry("spread"))]
    assert entity.action == spread.action, entity
    send(1, ethernet(1))
    expect(2, ethernet(1))
    await sw.delete([spread])

    # Members and groups.
    await sw.insert([fy.P4ActionProfileMember("ways", member_id=1, action=to(3))])
    group = fy.P4ActionProfileGroup("ways", group_id=1, max_size=2, members=[fy.P4Member(1, weight=1)])
    await sw.insert([group])
    grouped = fy.P4TableEntry(
        "spread", match=fy.P4TableMatch({"hdr.ethernet.type": 0x9000}), action=fy.P4IndirectAction(group_id=1)
    )
    await sw.insert([grouped])
    send(1, ethernet(1))
    expect(3, ethernet(1))
    await sw.delete([grouped])
    await sw.delete([group])

    # Arrays.
    await sw.modify([fy.P4CounterEntry("events", index=2, data=fy.P4CounterData(packet_count=9))])
    counts = [e.data.packet_count async for e in sw.read(fy.P4CounterEntry("events"))]
    assert counts == [0, 0, 9, 0], counts
    await sw.modify([fy.P4RegisterEntry("store", index=1, data=77)])
    values = [e.data async for e in sw.read(fy.P4RegisterEntry("store"))]
    assert values == [0, 77, 0, 0], values
    config = fy.P4MeterConfig(cir=1, cburst=2, pir=3, pburst=4)
    await sw.modify([fy.P4MeterEntry("rates", index=1, config=config)])
    meters = [e.config async for e in sw.read(fy.P4MeterEntry("rates"))]
    assert meters[1] == config, meters

    # Replication, with backups.
    replicas = [P4Replica(2, instance=1, backup_replicas=[P4BackupReplica(3, instance=2)])]
    await sw.insert([fy.P4MulticastGroupEntry(1, replicas=replicas), flow(6, fy.P4TableAction("flood", group=1))])
    send(1, ethernet(6))
    expect(2, ethernet(6))
    (entity,) = [e async for e in sw.read(fy.P4MulticastGroupEntry(1))]
    assert list(entity.replicas) == replicas, entity
    await sw.insert([fy.P4CloneSessionEntry(5, replicas=[4]), flow(7, fy.P4TableAction("mirror"))])
    send(1, ethernet(7))
    expect(4, ethernet(7))

    # Errors of single updates.
    assert "ALREADY_EXISTS" in await refusal(sw.write([+flow(8, to(2)), +flow(8, to(2))]))

    # Digests and idle time-outs.
    await sw.insert([fy.P4DigestEntry("learn_t", max_list_size=1), flow(9, fy.P4TableAction("learn"))])
    digests = sw.read_digests("learn_t")
    waiting = asyncio.ensure_future(anext(digests))
    await asyncio.sleep(0.1)
    send(1, ethernet(9, src=6))
    message = await asyncio.wait_for(waiting, 5)
    assert message.data == [{"address": 6}], message
    await sw.write([message.ack()])
    await sw.insert([flow(10, to(2), idle_timeout_ns=100 * MS)])
    notice = await asyncio.wait_for(anext(sw.read_idle_timeouts()), 5)
    assert notice.table_entry[0].idle_timeout_ns == 100 * MS, notice
    await sw.delete_all()


async def main():
    options = fy.SwitchOptions(p4info=Path(p4info), p4blob=Path(program), p4force=True, device_id=0)
    async with fy.Switch("sw", address, options) as sw:
        await tour(sw)
        table = sw.p4info.tables["policed"].id
        role = options(
            role_name="police",
            role_config=stratum.P4RoleConfig(exclusive_p4_ids=[table]),
            p4blob=None,
            p4force=False,
        )
        async with fy.Switch("police", address, role) as police:
            assert police.is_primary
            await police.insert([fy.P4TableEntry("policed", priority=1, action=fy.P4TableAction("drop"))])
            assert "PERMISSION_DENIED" in await refusal(police.insert([flow(1, to(2))]))


asyncio.run(main())
sys.stdout.write("done\n")
sys.stdout.flush()
