# SPDX-License-Identifier: Apache-2.0
"""Ids that BF-RT gives to objects by kind, and to the fields whose names begin with ``$``."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from offramp_p4.runtime.ids import name_hash

PREFIXES: Final = {
    "ActionProfile": 0x81,
    "ActionSelector": 0x82,
    "Counter": 0x83,
    "DirectCounter": 0x84,
    "Meter": 0x85,
    "DirectMeter": 0x86,
    "Wred": 0x87,
    "DirectWred": 0x88,
    "Lpf": 0x89,
    "DirectLpf": 0x8A,
    "Register": 0x8B,
    "DirectRegister": 0x8C,
    "RegisterParam": 0x8D,
    "Digest": 0x8E,
    "PortMetadata": 0x90,
    "ActionSelectorGetMember": 0x9A,
    "ValueSet": 0xFE,
}
"""The first byte of an object's id, by kind; tables and actions have the ids of P4Info."""


class FieldId(IntEnum):
    """Ids of the fields that BF-RT itself names."""

    MATCH_PRIORITY = 65537
    ACTION_MEMBER_ID = 65539
    SELECTOR_GROUP_ID = 65540
    ENTRY_TTL = 65543
    ENTRY_HIT_STATE = 65544
    METER_CIR_KBPS = 65545
    METER_PIR_KBPS = 65546
    METER_CBS_KBITS = 65547
    METER_PBS_KBITS = 65548
    METER_CIR_PPS = 65549
    METER_PIR_PPS = 65550
    METER_CBS_PKTS = 65551
    METER_PBS_PKTS = 65552
    COUNTER_BYTES = 65553
    COUNTER_PKTS = 65554
    METER_INDEX = 65555
    COUNTER_INDEX = 65556
    REGISTER_INDEX = 65557
    LPF_INDEX = 65560
    WRED_INDEX = 65561
    GET_MEMBER_ID = 65562
    GET_MEMBER_GROUP = 65563
    MEMBER_STATUS = 65564
    MAX_GROUP_SIZE = 65565
    ADT_OFFSET = 65566
    LPF_TYPE = 65567
    LPF_GAIN = 65568
    LPF_DECAY = 65569
    LPF_SCALE = 65570
    WRED_CONSTANT = 65571
    WRED_MIN = 65572
    WRED_MAX = 65573
    WRED_PROBABILITY = 65574
    PORT_METADATA_PORT = 65575
    PORT_METADATA_DEFAULT = 65576
    HASH_VALUE = 65583


def object_ids(kind: str, names: Iterable[str]) -> dict[str, int]:
    """The ids of all objects of a kind: a hash of the name, the next free one where two names share it."""
    identifiers: dict[str, int] = {}
    taken: set[int] = set()
    for name in sorted(names):
        number = name_hash(name)
        while number & 0xFFFFFF in taken:
            number += 1
        taken.add(number & 0xFFFFFF)
        identifiers[name] = PREFIXES[kind] << 24 | number & 0xFFFFFF
    return identifiers
