# SPDX-License-Identifier: Apache-2.0
"""bmv2's services: methods with arguments and results; names and numbers are those of its ``.thrift`` files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from offramp_base.errors import OfframpError
from offramp_p4_tools.dropin.thrift.protocol import Fields


def _fields(text: str) -> Fields:
    """``type name, type name`` with numbers from 1."""
    pairs = [part.rsplit(" ", 1) for part in re.split(r",\s*(?![^<]*>)", text.strip()) if part.strip()]
    return tuple((number, name, kind.strip()) for number, (kind, name) in enumerate(pairs, 1))


STRUCTS: Final[dict[str, Fields]] = {
    name: _fields(text)
    for name, text in {
        "Exact": "binary key",
        "Lpm": "binary key, i32 prefix_length",
        "Ternary": "binary key, binary mask",
        "Valid": "bool key",
        "Range": "binary start, binary end_",
        "MatchParam": "i32 type, Exact exact, Lpm lpm, Ternary ternary, Valid valid, Range range",
        "Options": "i32 priority",
        "CounterValue": "i64 bytes, i64 packets",
        "Rate": "double units_per_micros, i32 burst_size",
        "PortInfo": "i32 port_num, string iface_name, bool is_up, map<string;string> extra",
        "ActionEntry": "i32 action_type, string action_name, list<binary> action_data, i32 mbr_handle, i32 grp_handle",
        "Life": "i32 timeout_ms, i32 time_since_hit_ms",
        "Entry": "list<MatchParam> match_key, Options options, i32 entry_handle, ActionEntry action_entry, Life life",
        "MemberInfo": "i32 mbr_handle, string action_name, list<binary> action_data",
        "GroupInfo": "i32 grp_handle, list<i32> mbr_handles",
        "Config": (
            "i64 device_id, i32 thrift_port, string notifications_socket, string elogger_socket, string debugger_socket"
        ),
        "Mirroring": "i32 port, i32 mgid",
        "Crc16": (
            "i16 polynomial, i16 initial_remainder, i16 final_xor_value, bool data_reflected, bool remainder_reflected"
        ),
        "Crc32": (
            "i32 polynomial, i32 initial_remainder, i32 final_xor_value, bool data_reflected, bool remainder_reflected"
        ),
        "Code": "i32 code",
    }.items()
}


@dataclass(frozen=True)
class Method:
    """A method of a service: its arguments, and the type of its result (``void`` has none)."""

    arguments: Fields
    result: str


_TABLE = "i32 cxt_id, string table_name"
_PROFILE = "i32 cxt_id, string act_prof_name"
_ACTION = "string action_name, list<binary> action_data"
_STANDARD = {
    "bm_mt_get_num_entries": (_TABLE, "i64"),
    "bm_mt_clear_entries": (f"{_TABLE}, bool reset_default_entry", "void"),
    "bm_mt_add_entry": (f"{_TABLE}, list<MatchParam> match_key, {_ACTION}, Options options", "i32"),
    "bm_mt_set_default_action": (f"{_TABLE}, {_ACTION}", "void"),
    "bm_mt_reset_default_entry": (_TABLE, "void"),
    "bm_mt_delete_entry": (f"{_TABLE}, i32 entry_handle", "void"),
    "bm_mt_modify_entry": (f"{_TABLE}, i32 entry_handle, {_ACTION}", "void"),
    "bm_mt_set_entry_ttl": (f"{_TABLE}, i32 entry_handle, i32 timeout_ms", "void"),
    "bm_mt_act_prof_add_member": (f"{_PROFILE}, {_ACTION}", "i32"),
    "bm_mt_act_prof_delete_member": (f"{_PROFILE}, i32 mbr_handle", "void"),
    "bm_mt_act_prof_modify_member": (f"{_PROFILE}, i32 mbr_handle, {_ACTION}", "void"),
    "bm_mt_act_prof_create_group": (_PROFILE, "i32"),
    "bm_mt_act_prof_delete_group": (f"{_PROFILE}, i32 grp_handle", "void"),
    "bm_mt_act_prof_add_member_to_group": (f"{_PROFILE}, i32 mbr_handle, i32 grp_handle", "void"),
    "bm_mt_act_prof_remove_member_from_group": (f"{_PROFILE}, i32 mbr_handle, i32 grp_handle", "void"),
    "bm_mt_act_prof_get_members": (_PROFILE, "list<MemberInfo>"),
    "bm_mt_act_prof_get_member": (f"{_PROFILE}, i32 mbr_handle", "MemberInfo"),
    "bm_mt_act_prof_get_groups": (_PROFILE, "list<GroupInfo>"),
    "bm_mt_act_prof_get_group": (f"{_PROFILE}, i32 grp_handle", "GroupInfo"),
    "bm_mt_indirect_add_entry": (f"{_TABLE}, list<MatchParam> match_key, i32 mbr_handle, Options options", "i32"),
    "bm_mt_indirect_modify_entry": (f"{_TABLE}, i32 entry_handle, i32 mbr_handle", "void"),
    "bm_mt_indirect_delete_entry": (f"{_TABLE}, i32 entry_handle", "void"),
    "bm_mt_indirect_set_entry_ttl": (f"{_TABLE}, i32 entry_handle, i32 timeout_ms", "void"),
    "bm_mt_indirect_set_default_member": (f"{_TABLE}, i32 mbr_handle", "void"),
    "bm_mt_indirect_reset_default_entry": (_TABLE, "void"),
    "bm_mt_indirect_ws_set_default_group": (f"{_TABLE}, i32 grp_handle", "void"),
    "bm_mt_indirect_ws_add_entry": (f"{_TABLE}, list<MatchParam> match_key, i32 grp_handle, Options options", "i32"),
    "bm_mt_indirect_ws_modify_entry": (f"{_TABLE}, i32 entry_handle, i32 grp_handle", "void"),
    "bm_mt_read_counter": (f"{_TABLE}, i32 entry_handle", "CounterValue"),
    "bm_mt_reset_counters": (_TABLE, "void"),
    "bm_mt_write_counter": (f"{_TABLE}, i32 entry_handle, CounterValue value", "void"),
    "bm_mt_set_meter_rates": (f"{_TABLE}, i32 entry_handle, list<Rate> rates", "void"),
    "bm_mt_get_meter_rates": (f"{_TABLE}, i32 entry_handle", "list<Rate>"),
    "bm_mt_get_entries": (_TABLE, "list<Entry>"),
    "bm_mt_get_entry": (f"{_TABLE}, i32 entry_handle", "Entry"),
    "bm_mt_get_default_entry": (_TABLE, "ActionEntry"),
    "bm_mt_get_entry_from_key": (f"{_TABLE}, list<MatchParam> match_key, Options options", "Entry"),
    "bm_counter_read": ("i32 cxt_id, string counter_name, i32 index", "CounterValue"),
    "bm_counter_reset_all": ("i32 cxt_id, string counter_name", "void"),
    "bm_counter_write": ("i32 cxt_id, string counter_name, i32 index, CounterValue value", "void"),
    "bm_load_new_config": ("string config_str", "void"),
    "bm_swap_configs": ("", "void"),
    "bm_meter_array_set_rates": ("i32 cxt_id, string meter_array_name, list<Rate> rates", "void"),
    "bm_meter_set_rates": ("i32 cxt_id, string meter_array_name, i32 index, list<Rate> rates", "void"),
    "bm_meter_get_rates": ("i32 cxt_id, string meter_array_name, i32 index", "list<Rate>"),
    "bm_register_read": ("i32 cxt_id, string register_array_name, i32 idx", "i64"),
    "bm_register_read_all": ("i32 cxt_id, string register_array_name", "list<i64>"),
    "bm_register_write": ("i32 cxt_id, string register_array_name, i32 index, i64 value", "void"),
    "bm_register_write_range": (
        "i32 cxt_id, string register_array_name, i32 start_index, i32 end_index, i64 value",
        "void",
    ),
    "bm_register_reset": ("i32 cxt_id, string register_array_name", "void"),
    "bm_parse_vset_add": ("i32 cxt_id, string parse_vset_name, binary value", "void"),
    "bm_parse_vset_remove": ("i32 cxt_id, string parse_vset_name, binary value", "void"),
    "bm_parse_vset_get": ("i32 cxt_id, string parse_vset_name", "list<binary>"),
    "bm_parse_vset_clear": ("i32 cxt_id, string parse_vset_name", "void"),
    "bm_dev_mgr_add_port": ("string iface_name, i32 port_num, string pcap_path", "void"),
    "bm_dev_mgr_remove_port": ("i32 port_num", "void"),
    "bm_learning_ack": ("i32 cxt_id, i32 list_id, i64 buffer_id, list<i32> sample_ids", "void"),
    "bm_learning_ack_buffer": ("i32 cxt_id, i32 list_id, i64 buffer_id", "void"),
    "bm_learning_set_timeout": ("i32 cxt_id, i32 list_id, i32 timeout_ms", "void"),
    "bm_learning_set_buffer_size": ("i32 cxt_id, i32 list_id, i32 nb_samples", "void"),
    "bm_set_crc16_custom_parameters": ("i32 cxt_id, string calc_name, Crc16 crc16_config", "void"),
    "bm_set_crc32_custom_parameters": ("i32 cxt_id, string calc_name, Crc32 crc32_config", "void"),
    "bm_set_toeplitz_hash_key": ("i32 cxt_id, string calc_name, binary key", "void"),
    "bm_serialize_state": ("", "string"),
    "bm_dev_mgr_show_ports": ("", "list<PortInfo>"),
    "bm_mgmt_get_info": ("", "Config"),
    "bm_reset_state": ("", "void"),
    "bm_get_config": ("", "string"),
    "bm_get_config_md5": ("", "binary"),
    "bm_get_id_from_name": ("i32 cxt_id, i32 resource_type, string resource_name", "i32"),
}
_MULTICAST = {
    "bm_mc_mgrp_create": ("i32 cxt_id, i32 mgrp", "i32"),
    "bm_mc_mgrp_destroy": ("i32 cxt_id, i32 mgrp_handle", "void"),
    "bm_mc_node_create": ("i32 cxt_id, i32 rid, string port_map", "i32"),
    "bm_mc_node_associate": ("i32 cxt_id, i32 mgrp_handle, i32 l1_handle", "void"),
    "bm_mc_node_dissociate": ("i32 cxt_id, i32 mgrp_handle, i32 l1_handle", "void"),
    "bm_mc_node_destroy": ("i32 cxt_id, i32 l1_handle", "void"),
    "bm_mc_node_update": ("i32 cxt_id, i32 l1_handle, string port_map", "void"),
    "bm_mc_get_entries": ("i32 cxt_id", "string"),
}
_LAG = {
    **_MULTICAST,
    "bm_mc_node_create": ("i32 cxt_id, i32 rid, string port_map, string lag_map", "i32"),
    "bm_mc_node_update": ("i32 cxt_id, i32 l1_handle, string port_map, string lag_map", "void"),
}
_LAG["bm_mc_set_lag_membership"] = ("i32 cxt_id, i16 lag_index, string port_map", "void")
_SIMPLE_SWITCH = {
    "mirroring_mapping_add": ("i32 mirror_id, i32 egress_port", "i32"),
    "mirroring_mapping_delete": ("i32 mirror_id", "i32"),
    "mirroring_mapping_get_egress_port": ("i32 mirror_id", "i32"),
    "mirroring_session_add": ("i32 mirror_id, Mirroring config", "void"),
    "mirroring_session_delete": ("i32 mirror_id", "void"),
    "mirroring_session_get": ("i32 mirror_id", "Mirroring"),
    "set_egress_priority_queue_depth": ("i32 port_num, i32 priority, i32 depth_pkts", "i32"),
    "set_egress_queue_depth": ("i32 port_num, i32 depth_pkts", "i32"),
    "set_all_egress_queue_depths": ("i32 depth_pkts", "i32"),
    "set_egress_priority_queue_rate": ("i32 port_num, i32 priority, i64 rate_pps", "i32"),
    "set_egress_queue_rate": ("i32 port_num, i64 rate_pps", "i32"),
    "set_all_egress_queue_rates": ("i64 rate_pps", "i32"),
    "get_time_elapsed_us": ("", "i64"),
    "get_time_since_epoch_us": ("", "i64"),
}
SERVICES: Final[dict[str, dict[str, Method]]] = {
    service: {name: Method(_fields(arguments), result) for name, (arguments, result) in methods.items()}
    for service, methods in {
        "standard": _STANDARD,
        "simple_pre": _MULTICAST,
        "simple_pre_lag": _LAG,
        "simple_switch": _SIMPLE_SWITCH,
    }.items()
}
"""Methods by service, as clients name it in front of a method."""


_INDIRECT_DEFAULT: Final = "a miss of a table with members or groups runs an action"
_RATES: Final = "lines have rates in bits per second, set when the switch starts"
LACKING: Final = {
    "set_egress_priority_queue_rate": _RATES,
    "set_egress_queue_rate": _RATES,
    "set_all_egress_queue_rates": _RATES,
    "bm_serialize_state": "no state is saved or restored",
    "bm_mc_set_lag_membership": "multicast has no groups of aggregated links",
    "bm_mt_indirect_set_default_member": _INDIRECT_DEFAULT,
    "bm_mt_indirect_ws_set_default_group": _INDIRECT_DEFAULT,
}
"""Methods that bmv2 has and this switch lacks, and the reason."""


class RequestUnsupported(OfframpError):
    """The switch knows the request, or not even that, and cannot carry it out; the connection goes on."""


class RequestRefused(OfframpError):
    """A request that is refused with the code of its exception, as bmv2 refuses it."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


class TableCode:
    """Codes of ``InvalidTableOperation``."""

    FULL, HANDLE, EXPIRED, COUNTERS, METERS, AGEING, TABLE, ACTION, TYPE, MEMBER = range(1, 11)
    MEMBER_USED, IN_GROUP, NOT_IN_GROUP, GROUP, GROUP_USED, EMPTY_GROUP, DUPLICATE, KEY, METER, ACTION_CONST = range(
        11, 21
    )
    DEFAULT_CONST, NO_DEFAULT, PROFILE, NO_SELECTION, IMMUTABLE, DATA, NO_KEY = range(21, 28)
    ERROR = 100
