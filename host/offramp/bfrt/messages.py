# SPDX-License-Identifier: Apache-2.0
"""The BF-RT messages that a control plane of match tables, counters, groups and mirrors needs (bfruntime.proto).

The notation is that of :mod:`offramp_base.p4rt.messages`. Fields that are not here are skipped when they arrive.
"""

from __future__ import annotations

BFRT = """
TargetDevice device_id:u32=1 pipe_id:u32=2 direction:u32=3 prsr_id:u32=4
WriteRequest target:TargetDevice=1 client_id:u32=2 updates:Update*=3 atomicity:WriteRequest.Atomicity=4
    p4_name:string=5
enum WriteRequest.Atomicity CONTINUE_ON_ERROR=0 ROLLBACK_ON_ERROR=1 DATAPLANE_ATOMIC=2
WriteResponse status:Error*=1
ReadRequest target:TargetDevice=1 client_id:u32=2 entities:Entity*=3 p4_name:string=4
ReadResponse entities:Entity*=1 status:Error*=2
Update type:Update.Type=1 entity:Entity=2
enum Update.Type UNSPECIFIED=0 INSERT=1 MODIFY=2 MODIFY_INC=3 DELETE=4 INSERT_OR_MODIFY=5 RESET=6
Entity entity{table_entry:TableEntry=1}
TableEntry table_id:u32=1 value{key:TableKey=2 handle_id:u32=7} data:TableData=3 is_default_entry:bool=4
    entry_tgt:TargetDevice=8 table_flags:TableFlags=9
TableFlags from_hw:bool=1 key_only:bool=2 mod_del:bool=3 reset_ttl:bool=4 reset_stats:bool=5
TableKey fields:KeyField*=1
KeyField field_id:u32=1 match_type{exact:KeyField.Exact=2 ternary:KeyField.Ternary=3}
KeyField.Exact value:bytes=1
KeyField.Ternary value:bytes=1 mask:bytes=2
TableData action_id:u32=1 fields:DataField*=2
DataField field_id:u32=1 value{stream:bytes=2 str_val:string=4 int_arr_val:DataField.IntArray=5
    bool_arr_val:DataField.BoolArray=6 bool_val:bool=8}
DataField.IntArray val:u32*=1
DataField.BoolArray val:bool*=1
StreamMessageRequest client_id:u32=1 update{subscribe:Subscribe=2}
StreamMessageResponse update{subscribe:Subscribe=1
    set_forwarding_pipeline_config_response:SetForwardingPipelineConfigResponse=5}
Subscribe device_id:u32=2 notifications:Subscribe.Notifications=3 status:google.rpc.Status=4
Subscribe.Notifications enable_learn_notifications:bool=1 enable_idletimeout_notifications:bool=2
    enable_port_status_change_notifications:bool=3 enable_entry_active_notifications:bool=4
SetForwardingPipelineConfigRequest device_id:u32=1 client_id:u32=2
    action:SetForwardingPipelineConfigRequest.Action=3
    dev_init_mode:SetForwardingPipelineConfigRequest.DevInitMode=4 base_path:string=5
    config:ForwardingPipelineConfig*=6
enum SetForwardingPipelineConfigRequest.Action BIND=0 VERIFY=1 VERIFY_AND_WARM_INIT_BEGIN=2
    VERIFY_AND_WARM_INIT_BEGIN_AND_END=3 WARM_INIT_END=4 RECONCILE_AND_WARM_INIT_END=5
enum SetForwardingPipelineConfigRequest.DevInitMode FAST_RECONFIG=0 HITLESS=1
SetForwardingPipelineConfigResponse set_forwarding_pipeline_config_response_type:u32=1
ForwardingPipelineConfig p4_name:string=1 bfruntime_info:bytes=2 profiles:ForwardingPipelineConfig.Profile*=3
ForwardingPipelineConfig.Profile profile_name:string=1 context:bytes=2 binary:bytes=3 pipe_scope:u32*=4
NonP4Config bfruntime_info:bytes=1
GetForwardingPipelineConfigRequest device_id:u32=1 client_id:u32=2
GetForwardingPipelineConfigResponse config:ForwardingPipelineConfig*=1 non_p4_config:NonP4Config=2
Error canonical_code:i32=1 message:string=2 space:string=3 code:i32=4
"""
