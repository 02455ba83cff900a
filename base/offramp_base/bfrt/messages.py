# SPDX-License-Identifier: Apache-2.0
"""The BF-RT messages (bfruntime.proto) as one table, in the notation of :mod:`offramp_base.p4rt.messages`."""

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
Entity entity{table_entry:TableEntry=1 table_usage:TableUsage=2 table_attribute:TableAttribute=3
    table_operation:TableOperation=4 object_id:ObjectId=5 handle:HandleId=6}
HandleId table_id:u32=1 value{key:TableKey=2 handle_id:u32=3}
TableEntry table_id:u32=1 value{key:TableKey=2 handle_id:u32=7} data:TableData=3 is_default_entry:bool=4
    table_read_flag:TableReadFlag=5 table_mod_inc_flag:TableModIncFlag=6 entry_tgt:TargetDevice=8
    table_flags:TableFlags=9
TableReadFlag from_hw:bool=1 key_only:bool=2
TableModIncFlag type:TableModIncFlag.Type=1
enum TableModIncFlag.Type MOD_INC_ADD=0 MOD_INC_DELETE=1
TableFlags from_hw:bool=1 key_only:bool=2 mod_del:bool=3 reset_ttl:bool=4 reset_stats:bool=5
TableUsage table_id:u32=1 usage:u32=2 table_read_flag:TableReadFlag=3 table_flags:TableFlags=4
TableAttribute table_id:u32=1 attribute{idle_table:IdleTable=2 entry_scope:EntryScope=3 dyn_key_mask:DynKeyMask=4
    dyn_hashing:DynHashing=5 byte_count_adj:ByteCountAdj=6 port_status_notify:PortStatusChg=7
    intvl_ms:StatePullIntvl=8 pre_device_config:PreDeviceConfig=9 selector_update_notify:SelectorUpdateCb=10}
IdleTable ttl_query_interval:u32=1 max_ttl:u32=2 min_ttl:u32=3 idle_table_mode:IdleTable.IdleTableMode=4
    enable:bool=5
enum IdleTable.IdleTableMode IDLE_TABLE_POLL_MODE=0 IDLE_TABLE_NOTIFY_MODE=1
EntryScope gress_scope:Mode=1 pipe_scope:Mode=2 prsr_scope:Mode=3
Mode scope{predef:Mode.PredefinedMode=1 user_defined:u64=2} args:u64=3
enum Mode.PredefinedMode ALL=0 SINGLE=1
DynKeyMask fields:KeyFieldMask*=1
KeyFieldMask field_id:u32=1 mask:bytes=2
DynHashing alg:u32=1 seed:u64=2
ByteCountAdj byte_count_adjust:i32=1
PortStatusChg enable:bool=1
StatePullIntvl intvl_val:u32=1
SelectorUpdateCb enable:bool=1
PreDeviceConfig pre_global_rid:PreGlobalRid=1 pre_port_protection:PrePortProtection=2
    pre_fast_failover:PreFastFailover=3 pre_max_nodes_before_yield:PreMaxNodesBeforeYield=4
    pre_max_node_threshold:PreMaxNodeThreshold=5
PreGlobalRid global_rid:u32=1
PrePortProtection enable:bool=1
PreFastFailover enable:bool=1
PreMaxNodesBeforeYield count:u32=1
PreMaxNodeThreshold node_count:u32=1 port_lag_count:u32=2
TableOperation table_id:u32=1 table_operations_type:string=2
ObjectId object{table_object:ObjectId.TableObject=1 learn_object:ObjectId.LearnObject=2} id:u32=3
ObjectId.ActionName action:string=1
ObjectId.KeyFieldName field:string=1
ObjectId.DataFieldName action:string=1 field:string=2
ObjectId.TableObject table_name:string=1 names{action_name:ObjectId.ActionName=2
    key_field_name:ObjectId.KeyFieldName=3 data_field_name:ObjectId.DataFieldName=4}
ObjectId.LearnObject learn_name:string=1 data_field_name:ObjectId.DataFieldName=2
TableKey fields:KeyField*=1
KeyField field_id:u32=1 match_type{exact:KeyField.Exact=2 ternary:KeyField.Ternary=3 lpm:KeyField.LPM=4
    range:KeyField.Range=5 optional:KeyField.Optional=6}
KeyField.Exact value:bytes=1
KeyField.Ternary value:bytes=1 mask:bytes=2
KeyField.LPM value:bytes=1 prefix_len:i32=2
KeyField.Range low:bytes=1 high:bytes=2
KeyField.Optional value:bytes=1 is_valid:bool=2
TableData action_id:u32=1 fields:DataField*=2
DataField field_id:u32=1 value{stream:bytes=2 float_val:float=3 str_val:string=4 int_arr_val:DataField.IntArray=5
    bool_arr_val:DataField.BoolArray=6 container_arr_val:DataField.ContainerArray=7 bool_val:bool=8
    str_arr_val:DataField.StrArray=9}
DataField.IntArray val:u32*=1
DataField.BoolArray val:bool*=1
DataField.StrArray val:string*=1
DataField.ContainerArray container:DataField.ContainerArray.Container*=1
DataField.ContainerArray.Container val:DataField*=1
StreamMessageRequest client_id:u32=1 update{subscribe:Subscribe=2 digest_ack:DigestListAck=3}
StreamMessageResponse update{subscribe:Subscribe=1 digest:DigestList=2
    idle_timeout_notification:IdleTimeoutNotification=3
    port_status_change_notification:PortStatusChgNotification=4
    set_forwarding_pipeline_config_response:SetForwardingPipelineConfigResponse=5}
DigestListAck digest_id:u32=1 list_id:u32=2
DigestList digest_id:u32=1 list_id:u32=2 data:TableData*=3 target:TargetDevice=4
IdleTimeoutNotification target:TargetDevice=1 table_entry:TableEntry=2
    type:IdleTimeoutNotification.NotificationType=3
enum IdleTimeoutNotification.NotificationType ENTRY_ACTIVE=0 ENTRY_IDLE=1
PortStatusChgNotification table_entry:TableEntry=1 port_up:bool=2
Subscribe is_master:bool=1 device_id:u32=2 notifications:Subscribe.Notifications=3 status:google.rpc.Status=4
Subscribe.Notifications enable_learn_notifications:bool=1 enable_idletimeout_notifications:bool=2
    enable_port_status_change_notifications:bool=3 enable_entry_active_notifications:bool=4
    enable_selector_update_change_notifications:bool=5
SetForwardingPipelineConfigRequest device_id:u32=1 client_id:u32=2
    action:SetForwardingPipelineConfigRequest.Action=3
    dev_init_mode:SetForwardingPipelineConfigRequest.DevInitMode=4 base_path:string=5
    config:ForwardingPipelineConfig*=6
enum SetForwardingPipelineConfigRequest.Action BIND=0 VERIFY=1 VERIFY_AND_WARM_INIT_BEGIN=2
    VERIFY_AND_WARM_INIT_BEGIN_AND_END=3 WARM_INIT_END=4 RECONCILE_AND_WARM_INIT_END=5
enum SetForwardingPipelineConfigRequest.DevInitMode FAST_RECONFIG=0 HITLESS=1
SetForwardingPipelineConfigResponse
    set_forwarding_pipeline_config_response_type:SetForwardingPipelineConfigResponseType=1
enum SetForwardingPipelineConfigResponseType WARM_INIT_STARTED=0 WARM_INIT_FINISHED=1
ForwardingPipelineConfig p4_name:string=1 bfruntime_info:bytes=2 profiles:ForwardingPipelineConfig.Profile*=3
ForwardingPipelineConfig.Profile profile_name:string=1 context:bytes=2 binary:bytes=3 pipe_scope:u32*=4
NonP4Config bfruntime_info:bytes=1
GetForwardingPipelineConfigRequest device_id:u32=1 client_id:u32=2
GetForwardingPipelineConfigResponse config:ForwardingPipelineConfig*=1 non_p4_config:NonP4Config=2
Error canonical_code:i32=1 message:string=2 space:string=3 code:i32=4
"""
