# SPDX-License-Identifier: Apache-2.0
"""The P4Runtime 1.5 messages as one table (P4Runtime specification, appendix A).

One line for each message: its name, then ``field:type=number``. ``type*`` is repeated, ``type%`` a map from
string, ``name{…}`` a oneof. A line that starts with ``enum`` lists ``NAME=value``. Type names are those of
    the
same package, or full ones. Continuation lines are indented.
"""

from __future__ import annotations

RPC = """
Status code:i32=1 message:string=2 details:google.protobuf.Any*=3
"""

STRATUM = """
P4RoleConfig exclusive_p4_ids:u32*=1 shared_p4_ids:u32*=2 packet_in_filter:P4RoleConfig.PacketFilter=3
    receives_packet_ins:bool=4 can_push_pipeline:bool=5
P4RoleConfig.PacketFilter metadata_id:u32=1 value:bytes=2
"""

CONFIG = """
P4Info pkg_info:PkgInfo=1 tables:Table*=2 actions:Action*=3 action_profiles:ActionProfile*=4
    counters:Counter*=5 direct_counters:DirectCounter*=6 meters:Meter*=7 direct_meters:DirectMeter*=8
    controller_packet_metadata:ControllerPacketMetadata*=9 value_sets:ValueSet*=10 registers:Register*=11
    digests:Digest*=12 externs:Extern*=100 type_info:P4TypeInfo=200
Documentation brief:string=1 description:string=2
PlatformProperties multicast_group_table_size:i32=1 multicast_group_table_total_replicas:i32=2
    multicast_group_table_max_replicas_per_entry:i32=3
PkgInfo name:string=1 version:string=2 doc:Documentation=3 annotations:string*=4
    annotation_locations:SourceLocation*=10 arch:string=5 organization:string=6 contact:string=7 url:string=8
    structured_annotations:StructuredAnnotation*=9 platform_properties:PlatformProperties=11
P4Ids
enum P4Ids.Prefix UNSPECIFIED=0 ACTION=1 TABLE=2 VALUE_SET=3 CONTROLLER_HEADER=4 PSA_EXTERNS_START=16
    ACTION_PROFILE=17 COUNTER=18 DIRECT_COUNTER=19 METER=20 DIRECT_METER=21 REGISTER=22 DIGEST=23
    OTHER_EXTERNS_START=128 MAX=255
Preamble id:u32=1 name:string=2 alias:string=3 annotations:string*=4 annotation_locations:SourceLocation*=7
    doc:Documentation=5 structured_annotations:StructuredAnnotation*=6
Extern extern_type_id:u32=1 extern_type_name:string=2 instances:ExternInstance*=3
ExternInstance preamble:Preamble=1 info:google.protobuf.Any=2
MatchField id:u32=1 name:string=2 annotations:string*=3 annotation_locations:SourceLocation*=10 bitwidth:i32=4
    match{match_type:MatchField.MatchType=5 other_match_type:string=7} doc:Documentation=6
    type_name:P4NamedType=8 structured_annotations:StructuredAnnotation*=9
enum MatchField.MatchType UNSPECIFIED=0 EXACT=2 LPM=3 TERNARY=4 RANGE=5 OPTIONAL=6
TableActionCall action_id:u32=1 arguments:TableActionCall.Argument*=4
TableActionCall.Argument param_id:u32=2 value:bytes=3
Table preamble:Preamble=1 match_fields:MatchField*=2 action_refs:ActionRef*=3 const_default_action_id:u32=4
    initial_default_action:TableActionCall=5 implementation_id:u32=6 direct_resource_ids:u32*=7 size:i64=8
    idle_timeout_behavior:Table.IdleTimeoutBehavior=9 is_const_table:bool=10 has_initial_entries:bool=11
    other_properties:google.protobuf.Any=100
enum Table.IdleTimeoutBehavior NO_TIMEOUT=0 NOTIFY_CONTROL=1
ActionRef id:u32=1 scope:ActionRef.Scope=3 annotations:string*=2 annotation_locations:SourceLocation*=5
    structured_annotations:StructuredAnnotation*=4
enum ActionRef.Scope TABLE_AND_DEFAULT=0 TABLE_ONLY=1 DEFAULT_ONLY=2 GROUP_ACTION=3
Action preamble:Preamble=1 params:Action.Param*=2
Action.Param id:u32=1 name:string=2 annotations:string*=3 annotation_locations:SourceLocation*=8
    bitwidth:i32=4
    doc:Documentation=5 type_name:P4NamedType=6 structured_annotations:StructuredAnnotation*=7
ActionProfile preamble:Preamble=1 table_ids:u32*=2 with_selector:bool=3 size:i64=4 max_group_size:i32=5
    selector_size_semantics{sum_of_weights:ActionProfile.SumOfWeights=6
    sum_of_members:ActionProfile.SumOfMembers=7} weights_disallowed:bool=8
ActionProfile.SumOfWeights
ActionProfile.SumOfMembers max_member_weight:i32=1
CounterSpec unit:CounterSpec.Unit=1
enum CounterSpec.Unit UNSPECIFIED=0 BYTES=1 PACKETS=2 BOTH=3
Counter preamble:Preamble=1 spec:CounterSpec=2 size:i64=3 index_type_name:P4NamedType=4
DirectCounter preamble:Preamble=1 spec:CounterSpec=2 direct_table_id:u32=3
MeterSpec unit:MeterSpec.Unit=1 type:MeterSpec.Type=2
enum MeterSpec.Unit UNSPECIFIED=0 BYTES=1 PACKETS=2
enum MeterSpec.Type TWO_RATE_THREE_COLOR=0 SINGLE_RATE_THREE_COLOR=1 SINGLE_RATE_TWO_COLOR=2
Meter preamble:Preamble=1 spec:MeterSpec=2 size:i64=3 index_type_name:P4NamedType=4
DirectMeter preamble:Preamble=1 spec:MeterSpec=2 direct_table_id:u32=3
ControllerPacketMetadata preamble:Preamble=1 metadata:ControllerPacketMetadata.Metadata*=2
ControllerPacketMetadata.Metadata id:u32=1 name:string=2 annotations:string*=3
    annotation_locations:SourceLocation*=7 bitwidth:i32=4 type_name:P4NamedType=5
    structured_annotations:StructuredAnnotation*=6
ValueSet preamble:Preamble=1 match:MatchField*=2 size:i32=3
Register preamble:Preamble=1 type_spec:P4DataTypeSpec=2 size:i32=3 index_type_name:P4NamedType=4
Digest preamble:Preamble=1 type_spec:P4DataTypeSpec=2

P4TypeInfo structs:P4StructTypeSpec%=1 headers:P4HeaderTypeSpec%=2 header_unions:P4HeaderUnionTypeSpec%=3
    enums:P4EnumTypeSpec%=4 error:P4ErrorTypeSpec=5 serializable_enums:P4SerializableEnumTypeSpec%=6
    new_types:P4NewTypeSpec%=7
P4DataTypeSpec type_spec{bitstring:P4BitstringLikeTypeSpec=1 bool:P4BoolType=2 tuple:P4TupleTypeSpec=3
    struct:P4NamedType=4 header:P4NamedType=5 header_union:P4NamedType=6 header_stack:P4HeaderStackTypeSpec=7
    header_union_stack:P4HeaderUnionStackTypeSpec=8 enum:P4NamedType=9 error:P4ErrorType=10
    serializable_enum:P4NamedType=11 new_type:P4NamedType=12}
P4NamedType name:string=1
P4BoolType
P4ErrorType
P4BitstringLikeTypeSpec type_spec{bit:P4BitTypeSpec=1 int:P4IntTypeSpec=2 varbit:P4VarbitTypeSpec=3}
    annotations:string*=4 annotation_locations:SourceLocation*=5
    structured_annotations:StructuredAnnotation*=6
P4BitTypeSpec bitwidth:i32=1
P4IntTypeSpec bitwidth:i32=1
P4VarbitTypeSpec max_bitwidth:i32=1
P4TupleTypeSpec members:P4DataTypeSpec*=1
P4StructTypeSpec members:P4StructTypeSpec.Member*=1 annotations:string*=2
    annotation_locations:SourceLocation*=3
    structured_annotations:StructuredAnnotation*=4
P4StructTypeSpec.Member name:string=1 type_spec:P4DataTypeSpec=2
P4HeaderTypeSpec members:P4HeaderTypeSpec.Member*=1 annotations:string*=2
    annotation_locations:SourceLocation*=3
    structured_annotations:StructuredAnnotation*=4
P4HeaderTypeSpec.Member name:string=1 type_spec:P4BitstringLikeTypeSpec=2
P4HeaderUnionTypeSpec members:P4HeaderUnionTypeSpec.Member*=1 annotations:string*=2
    annotation_locations:SourceLocation*=3 structured_annotations:StructuredAnnotation*=4
P4HeaderUnionTypeSpec.Member name:string=1 header:P4NamedType=2
P4HeaderStackTypeSpec header:P4NamedType=1 size:i32=2
P4HeaderUnionStackTypeSpec header_union:P4NamedType=1 size:i32=2
KeyValuePair key:string=1 value:Expression=2
KeyValuePairList kv_pairs:KeyValuePair*=1
Expression value{string_value:string=1 int64_value:i64=2 bool_value:bool=3}
ExpressionList expressions:Expression*=1
StructuredAnnotation name:string=1 body{expression_list:ExpressionList=2 kv_pair_list:KeyValuePairList=3}
    source_location:SourceLocation=4
SourceLocation file:string=1 line:i32=2 column:i32=3
P4EnumTypeSpec members:P4EnumTypeSpec.Member*=1 annotations:string*=2 annotation_locations:SourceLocation*=4
    structured_annotations:StructuredAnnotation*=3
P4EnumTypeSpec.Member name:string=1 annotations:string*=2 annotation_locations:SourceLocation*=4
    structured_annotations:StructuredAnnotation*=3
P4SerializableEnumTypeSpec underlying_type:P4BitTypeSpec=1 members:P4SerializableEnumTypeSpec.Member*=2
    annotations:string*=3 annotation_locations:SourceLocation*=5
    structured_annotations:StructuredAnnotation*=4
P4SerializableEnumTypeSpec.Member name:string=1 value:bytes=2 annotations:string*=3
    annotation_locations:SourceLocation*=5 structured_annotations:StructuredAnnotation*=4
P4ErrorTypeSpec members:string*=1
P4NewTypeTranslation uri:string=1 sdn_type{sdn_bitwidth:i32=2 sdn_string:P4NewTypeTranslation.SdnString=3}
P4NewTypeTranslation.SdnString
P4NewTypeSpec representation{original_type:P4DataTypeSpec=1 translated_type:P4NewTypeTranslation=2}
    annotations:string*=3 annotation_locations:SourceLocation*=5
    structured_annotations:StructuredAnnotation*=4
"""

V1 = """
WriteRequest device_id:u64=1 role_id:u64=2 role:string=6 election_id:Uint128=3 updates:Update*=4
    atomicity:WriteRequest.Atomicity=5
enum WriteRequest.Atomicity CONTINUE_ON_ERROR=0 ROLLBACK_ON_ERROR=1 DATAPLANE_ATOMIC=2
WriteResponse
ReadRequest device_id:u64=1 role:string=3 entities:Entity*=2
ReadResponse entities:Entity*=1
Update type:Update.Type=1 entity:Entity=2
enum Update.Type UNSPECIFIED=0 INSERT=1 MODIFY=2 DELETE=3
Entity entity{extern_entry:ExternEntry=1 table_entry:TableEntry=2 action_profile_member:ActionProfileMember=3
    action_profile_group:ActionProfileGroup=4 meter_entry:MeterEntry=5 direct_meter_entry:DirectMeterEntry=6
    counter_entry:CounterEntry=7 direct_counter_entry:DirectCounterEntry=8
    packet_replication_engine_entry:PacketReplicationEngineEntry=9 value_set_entry:ValueSetEntry=10
    register_entry:RegisterEntry=11 digest_entry:DigestEntry=12}
ExternEntry extern_type_id:u32=1 extern_id:u32=2 entry:google.protobuf.Any=3
TableEntry table_id:u32=1 match:FieldMatch*=2 action:TableAction=3 priority:i32=4 controller_metadata:u64=5
    meter_config:MeterConfig=6 counter_data:CounterData=7 meter_counter_data:MeterCounterData=12
    is_default_action:bool=8 idle_timeout_ns:i64=9 time_since_last_hit:TableEntry.IdleTimeout=10
    metadata:bytes=11 is_const:bool=13
TableEntry.IdleTimeout elapsed_ns:i64=1
FieldMatch field_id:u32=1 field_match_type{exact:FieldMatch.Exact=2 ternary:FieldMatch.Ternary=3
    lpm:FieldMatch.LPM=4 range:FieldMatch.Range=6 optional:FieldMatch.Optional=7
    other:google.protobuf.Any=100}
FieldMatch.Exact value:bytes=1
FieldMatch.Ternary value:bytes=1 mask:bytes=2
FieldMatch.LPM value:bytes=1 prefix_len:i32=2
FieldMatch.Range low:bytes=1 high:bytes=2
FieldMatch.Optional value:bytes=1
TableAction type{action:Action=1 action_profile_member_id:u32=2 action_profile_group_id:u32=3
    action_profile_action_set:ActionProfileActionSet=4}
Action action_id:u32=1 params:Action.Param*=4
Action.Param param_id:u32=2 value:bytes=3
ActionProfileActionSet group_action:Action=5 action_profile_actions:ActionProfileAction*=1
    action_selection_mode:ActionProfileActionSet.ActionSelectionMode=2
    size_semantics:ActionProfileActionSet.SizeSemantics=3
enum ActionProfileActionSet.ActionSelectionMode DEFAULT_MODE_DETERMINED_BY_ACTION_SELECTOR=0 HASH=1 RANDOM=2
enum ActionProfileActionSet.SizeSemantics DEFAULT_SIZE_DETERMINED_BY_ACTION_SELECTOR=0 SUM_OF_WEIGHTS=1
    SUM_OF_MEMBERS=2
ActionProfileAction action:Action=1 weight:i32=2 watch_kind{watch:i32=3 watch_port:bytes=4}
ActionProfileMember action_profile_id:u32=1 member_id:u32=2 action:Action=3
ActionProfileGroup action_profile_id:u32=1 group_id:u32=2 members:ActionProfileGroup.Member*=3 max_size:i32=4
ActionProfileGroup.Member member_id:u32=1 weight:i32=2 watch_kind{watch:i32=3 watch_port:bytes=4}
Index index:i64=1
MeterEntry meter_id:u32=1 index:Index=2 config:MeterConfig=3 counter_data:MeterCounterData=4
DirectMeterEntry table_entry:TableEntry=1 config:MeterConfig=2 counter_data:MeterCounterData=3
MeterConfig cir:i64=1 cburst:i64=2 pir:i64=3 pburst:i64=4 eburst:i64=5
CounterEntry counter_id:u32=1 index:Index=2 data:CounterData=3
DirectCounterEntry table_entry:TableEntry=1 data:CounterData=2
CounterData byte_count:i64=1 packet_count:i64=2
MeterCounterData green:CounterData=1 yellow:CounterData=2 red:CounterData=3
PacketReplicationEngineEntry type{multicast_group_entry:MulticastGroupEntry=1
    clone_session_entry:CloneSessionEntry=2}
BackupReplica port:bytes=1 instance:u32=2
Replica port_kind{egress_port:u32=1 port:bytes=3} instance:u32=2 backup_replicas:BackupReplica*=4
MulticastGroupEntry multicast_group_id:u32=1 replicas:Replica*=2 metadata:bytes=3
CloneSessionEntry session_id:u32=1 replicas:Replica*=2 class_of_service:u32=3 packet_length_bytes:i32=4
ValueSetMember match:FieldMatch*=1
ValueSetEntry value_set_id:u32=1 members:ValueSetMember*=2
RegisterEntry register_id:u32=1 index:Index=2 data:P4Data=3
DigestEntry digest_id:u32=1 config:DigestEntry.Config=2
DigestEntry.Config max_timeout_ns:i64=1 max_list_size:i32=2 ack_timeout_ns:i64=3
StreamMessageRequest update{arbitration:MasterArbitrationUpdate=1 packet:PacketOut=2
    digest_ack:DigestListAck=3
    other:google.protobuf.Any=4}
PacketOut payload:bytes=1 metadata:PacketMetadata*=2
DigestListAck digest_id:u32=1 list_id:u64=2
StreamMessageResponse update{arbitration:MasterArbitrationUpdate=1 packet:PacketIn=2 digest:DigestList=3
    idle_timeout_notification:IdleTimeoutNotification=4 other:google.protobuf.Any=5 error:StreamError=6}
PacketIn payload:bytes=1 metadata:PacketMetadata*=2
DigestList digest_id:u32=1 list_id:u64=2 data:P4Data*=3 timestamp:i64=4
PacketMetadata metadata_id:u32=1 value:bytes=2
MasterArbitrationUpdate device_id:u64=1 role:Role=2 election_id:Uint128=3 status:google.rpc.Status=4
Role id:u64=1 name:string=3 config:google.protobuf.Any=2
IdleTimeoutNotification table_entry:TableEntry*=1 timestamp:i64=2
StreamError canonical_code:i32=1 message:string=2 space:string=3 code:i32=4
    details{packet_out:PacketOutError=5 digest_list_ack:DigestListAckError=6 other:StreamOtherError=7}
PacketOutError packet_out:PacketOut=1
DigestListAckError digest_list_ack:DigestListAck=1
StreamOtherError other:google.protobuf.Any=1
Uint128 high:u64=1 low:u64=2
SetForwardingPipelineConfigRequest device_id:u64=1 role_id:u64=2 role:string=6 election_id:Uint128=3
    action:SetForwardingPipelineConfigRequest.Action=4 config:ForwardingPipelineConfig=5
enum SetForwardingPipelineConfigRequest.Action UNSPECIFIED=0 VERIFY=1 VERIFY_AND_SAVE=2 VERIFY_AND_COMMIT=3
    COMMIT=4 RECONCILE_AND_COMMIT=5
SetForwardingPipelineConfigResponse
ForwardingPipelineConfig p4info:p4.config.v1.P4Info=1 p4_device_config:bytes=2
    cookie:ForwardingPipelineConfig.Cookie=3
ForwardingPipelineConfig.Cookie cookie:u64=1
GetForwardingPipelineConfigRequest device_id:u64=1
    response_type:GetForwardingPipelineConfigRequest.ResponseType=2
enum GetForwardingPipelineConfigRequest.ResponseType ALL=0 COOKIE_ONLY=1 P4INFO_AND_COOKIE=2
    DEVICE_CONFIG_AND_COOKIE=3
GetForwardingPipelineConfigResponse config:ForwardingPipelineConfig=1
Error canonical_code:i32=1 message:string=2 space:string=3 code:i32=4 details:google.protobuf.Any=5
CapabilitiesRequest device_id:u64=1
CapabilitiesResponse p4runtime_api_version:string=1 experimental:google.protobuf.Any=999

P4Data data{bitstring:bytes=1 varbit:P4Varbit=2 bool:bool=3 tuple:P4StructLike=4 struct:P4StructLike=5
    header:P4Header=6 header_union:P4HeaderUnion=7 header_stack:P4HeaderStack=8
    header_union_stack:P4HeaderUnionStack=9 enum:string=10 error:string=11 enum_value:bytes=12}
P4Varbit bitstring:bytes=1 bitwidth:i32=2
P4StructLike members:P4Data*=1
P4Header is_valid:bool=1 bitstrings:bytes*=2
P4HeaderUnion valid_header_name:string=1 valid_header:P4Header=2
P4HeaderStack entries:P4Header*=1
P4HeaderUnionStack entries:P4HeaderUnion*=1
"""
