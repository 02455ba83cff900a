# SPDX-License-Identifier: Apache-2.0
"""BF-RT messages: random ones with ids of the program and of the chip, those of a client with bits changed, bytes."""

from __future__ import annotations

import random
from typing import Any

from fuzzing import mutate
from offramp_base.bfrt.schema import bf
from offramp_base.errors import OfframpError
from offramp_p4.frontend import load_pushed
from offramp_p4.runtime.device import P4Device
from offramp_p4.runtime.handlers import parse
from offramp_p4.switch import Switch
from offramp_p4_tools.bfrt.service import BfrtService
from offramp_p4_tools.fuzz.messages import random_message
from tna_programs import tna

NAME = "BF-RT messages"
LINES = 3  # of the message about a program that is pushed
_LOADED: list[Any] = []
_KINDS = {
    "Write": bf.WriteRequest,
    "Read": bf.ReadRequest,
    "SetForwardingPipelineConfig": bf.SetForwardingPipelineConfigRequest,
    "GetForwardingPipelineConfig": bf.GetForwardingPipelineConfigRequest,
    "Stream": bf.StreamMessageRequest,
}
_LOCAL = """
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) hits;
    action to(PortId_t port) { tm.ucast_egress_port = port; hits.count(); }
    table t { key = { hdr.h.a: exact; hdr.h.c: ternary; } actions = { to; NoAction; }
              default_action = NoAction; counters = hits; idle_timeout = true; }
    table longest { key = { hdr.h.a: exact; hdr.h.w: lpm; } actions = { NoAction; } default_action = NoAction; }
    ActionProfile(8) members;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) h;
    ActionSelector(members, h, SelectorMode_t.FAIR, 4, 4) groups;
    action to2(PortId_t port) { tm.ucast_egress_port = port; }
    table chosen { key = { hdr.h.b: range; hdr.h.c: selector; } actions = { to2; NoAction; } implementation = groups; }
    Register<bit<8>, bit<3>>(8, 5) words;
    RegisterAction<bit<8>, bit<3>, bit<8>>(words) grow = { void apply(inout bit<8> value) { value = value + 1; } };
"""


def prepare() -> None:
    """Load the program that all cases talk to."""
    _LOADED.append(
        load_pushed(tna("t.apply(); longest.apply(); chosen.apply(); grow.execute(1);", local=_LOCAL), "fuzz.p4")
    )


def run(rng: random.Random) -> None:
    """A switch, a client and thirty requests, each answered or refused."""
    device = P4Device(0, lambda program: Switch(program, max_passes=10))
    device.load(_LOADED[0])
    service = BfrtService(device)
    stream = service.open_stream(lambda _: None, lambda _: None)
    stream.receive(bf.StreamMessageRequest(client_id=1, subscribe=bf.Subscribe()))
    bind = bf.SetForwardingPipelineConfigRequest(client_id=1)
    bind.config.add(p4_name="fuzz")
    service.set_pipeline(bind)
    served = service._current()
    assert served is not None
    ids = [0, 1, *served.tables.stores, *(a.id for s in served.tables.stores.values() for a in s.spec.actions or ())]
    ids += [f.id for s in served.tables.stores.values() for f in (*s.spec.key, *s.spec.data)]
    for _ in range(30):
        _one(rng, service, ids)
        device.send_notices()


def _one(rng: random.Random, service: BfrtService, ids: list[int]) -> None:
    name = rng.choice(["Write", "Write", "Write", "Read", "Read", *_KINDS])
    message = random_message(rng, _KINDS[name], ids)
    if rng.random() < 0.8:
        if name in {"Write", "Read"}:
            message.client_id, message.p4_name = 1, "fuzz"
            message.ClearField("target")
        if name == "Write":
            for update in message.updates:
                _sensible(rng, service, update)
        data = message.SerializeToString()
    else:
        data = mutate.raw(rng, message.SerializeToString()) if rng.random() < 0.8 else mutate.noise(rng)
    try:
        request = parse(_KINDS[name], data)
        if name == "Stream":
            service.open_stream(lambda _: None, lambda _: None).receive(request)
        elif name == "Read":
            list(service.read(request))
        else:
            service.unary(name, request, {})
    except OfframpError:
        return  # the next one goes to the same switch


def _sensible(rng: random.Random, service: BfrtService, update: Any) -> None:
    """Make an update one of an entry with the fields of its table."""
    if rng.random() < 0.3:
        return
    served = service._current()
    assert served is not None
    spec = rng.choice(list(served.tables.stores.values())).spec
    entry = update.entity.table_entry
    entry.Clear()
    entry.table_id, entry.is_default_entry = spec.id, rng.random() < 0.1
    for field in spec.key:
        part = entry.key.fields.add(field_id=field.id)
        value = rng.getrandbits(min(field.width, 3)).to_bytes(field.octets, "big") if field.width else b"3/1"
        match field.match:
            case "Ternary":
                part.ternary.value, part.ternary.mask = value, value
            case "LPM":
                part.lpm.value, part.lpm.prefix_len = value, rng.randrange(-1, field.width + 2)
            case "Range":
                part.range.low, part.range.high = value, b"\x07".rjust(field.octets, b"\0")
            case _:
                part.exact.value = value
    action = rng.choice([None, *(spec.actions or ())])
    entry.data.action_id = 0 if action is None else action.id
    for known in spec.fields(action).values():
        if rng.random() < 0.8:
            data = entry.data.fields.add(field_id=known.id)
            if known.repeated:
                (data.bool_arr_val if known.kind == "bool" else data.int_arr_val).val.extend([rng.randrange(3)])
            elif known.kind == "bool":
                data.bool_val = rng.random() < 0.5
            elif known.kind == "string":
                data.str_val = rng.choice([*known.choices, "x"])
            elif known.kind == "float":
                data.float_val = rng.choice([0.0, 1e30, -1.0, float("nan"), float("inf")])
            else:
                data.stream = rng.choice([1, 5, (1 << known.width) - 1]).to_bytes(known.octets, "big")
