# SPDX-License-Identifier: Apache-2.0
"""The fields whose names BF-RT gives: counts, rates, filters, members, idle time."""

from __future__ import annotations

from typing import Final

from offramp_p4_tools.bfrt.fields import BfrtField
from offramp_p4_tools.bfrt.numbers import FieldId

_MOST: Final = (1 << 64) - 1
PRIORITY: Final = BfrtField(FieldId.MATCH_PRIORITY, "$MATCH_PRIORITY", "uint32")
MEMBER: Final = BfrtField(FieldId.ACTION_MEMBER_ID, "$ACTION_MEMBER_ID", "uint32", mandatory=True)
MEMBER_OR_GROUP: Final = (
    BfrtField(FieldId.ACTION_MEMBER_ID, "$ACTION_MEMBER_ID", "uint32", mandatory=True, oneof="member"),
    BfrtField(FieldId.SELECTOR_GROUP_ID, "$SELECTOR_GROUP_ID", "uint32", mandatory=True, oneof="member"),
)
GROUP: Final = BfrtField(FieldId.SELECTOR_GROUP_ID, "$SELECTOR_GROUP_ID", "uint32", mandatory=True)
COUNTER_INDEX: Final = BfrtField(FieldId.COUNTER_INDEX, "$COUNTER_INDEX", "uint32", mandatory=True)
METER_INDEX: Final = BfrtField(FieldId.METER_INDEX, "$METER_INDEX", "uint32", mandatory=True)
REGISTER_INDEX: Final = BfrtField(FieldId.REGISTER_INDEX, "$REGISTER_INDEX", "uint32", mandatory=True)
LPF_INDEX: Final = BfrtField(FieldId.LPF_INDEX, "$LPF_INDEX", "uint32", mandatory=True)
WRED_INDEX: Final = BfrtField(FieldId.WRED_INDEX, "$WRED_INDEX", "uint32", mandatory=True)
HIT_STATE: Final = BfrtField(
    FieldId.ENTRY_HIT_STATE, "$ENTRY_HIT_STATE", "string", choices=("ENTRY_IDLE", "ENTRY_ACTIVE")
)
TTL: Final = BfrtField(FieldId.ENTRY_TTL, "$ENTRY_TTL", "uint32", default=0)

_BYTES: Final = BfrtField(FieldId.COUNTER_BYTES, "$COUNTER_SPEC_BYTES", "uint64", default=0)
_PACKETS: Final = BfrtField(FieldId.COUNTER_PKTS, "$COUNTER_SPEC_PKTS", "uint64", default=0)
COUNTS: Final = {"packets": (_PACKETS,), "bytes": (_BYTES,), "packets_and_bytes": (_BYTES, _PACKETS)}
"""Fields of a counter, by the unit that it counts."""
RATES: Final = {
    "bytes": tuple(
        BfrtField(number, f"$METER_SPEC_{name}", "uint64", default=_MOST)
        for number, name in (
            (FieldId.METER_CIR_KBPS, "CIR_KBPS"),
            (FieldId.METER_PIR_KBPS, "PIR_KBPS"),
            (FieldId.METER_CBS_KBITS, "CBS_KBITS"),
            (FieldId.METER_PBS_KBITS, "PBS_KBITS"),
        )
    ),
    "packets": tuple(
        BfrtField(number, f"$METER_SPEC_{name}", "uint64", default=_MOST)
        for number, name in (
            (FieldId.METER_CIR_PPS, "CIR_PPS"),
            (FieldId.METER_PIR_PPS, "PIR_PPS"),
            (FieldId.METER_CBS_PKTS, "CBS_PKTS"),
            (FieldId.METER_PBS_PKTS, "PBS_PKTS"),
        )
    ),
}
"""Committed and peak rate, committed and peak burst, by what is metered."""
LPF: Final = (
    BfrtField(FieldId.LPF_TYPE, "$LPF_SPEC_TYPE", "string", mandatory=True, choices=("RATE", "SAMPLE")),
    BfrtField(FieldId.LPF_GAIN, "$LPF_SPEC_GAIN_TIME_CONSTANT_NS", "float", mandatory=True),
    BfrtField(FieldId.LPF_DECAY, "$LPF_SPEC_DECAY_TIME_CONSTANT_NS", "float", mandatory=True),
    BfrtField(FieldId.LPF_SCALE, "$LPF_SPEC_OUT_SCALE_DOWN_FACTOR", "uint32", mandatory=True),
)
WRED: Final = (
    BfrtField(FieldId.WRED_CONSTANT, "$WRED_SPEC_TIME_CONSTANT_NS", "float", mandatory=True),
    BfrtField(FieldId.WRED_MIN, "$WRED_SPEC_MIN_THRESH_CELLS", "uint32", mandatory=True),
    BfrtField(FieldId.WRED_MAX, "$WRED_SPEC_MAX_THRESH_CELLS", "uint32", mandatory=True),
    BfrtField(FieldId.WRED_PROBABILITY, "$WRED_SPEC_MAX_PROBABILITY", "float", mandatory=True),
)
MOST_RATE: Final = _MOST
"""The rate of a meter that nothing exceeds."""
