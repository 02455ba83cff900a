# SPDX-License-Identifier: Apache-2.0
"""The messages of gNMI 0.10 (gnmi.proto, gnmi_ext.proto), in the notation of :mod:`offramp_base.p4rt.messages`."""

from __future__ import annotations

EXTENSIONS = """
Extension ext{registered_ext:RegisteredExtension=1 master_arbitration:MasterArbitration=2 history:History=3}
RegisteredExtension id:ExtensionID=1 msg:bytes=2
enum ExtensionID EID_UNSET=0 EID_EXPERIMENTAL=999
MasterArbitration role:Role=1 election_id:Uint128=2
Uint128 high:u64=1 low:u64=2
Role id:string=1
History request{snapshot_time:i64=1 range:TimeRange=2}
TimeRange start:i64=1 end:i64=2
"""

GNMI = """
Notification timestamp:i64=1 prefix:Path=2 alias:string=3 update:Update*=4 delete:Path*=5 atomic:bool=6
Update path:Path=1 value:Value=2 val:TypedValue=3 duplicates:u32=4
TypedValue value{string_val:string=1 int_val:i64=2 uint_val:u64=3 bool_val:bool=4 bytes_val:bytes=5 float_val:float=6
    double_val:double=14 decimal_val:Decimal64=7 leaflist_val:ScalarArray=8 any_val:google.protobuf.Any=9
    json_val:bytes=10 json_ietf_val:bytes=11 ascii_val:string=12 proto_bytes:bytes=13}
Path element:string*=1 origin:string=2 elem:PathElem*=3 target:string=4
PathElem name:string=1 key:string%=2
Value value:bytes=1 type:Encoding=2
enum Encoding JSON=0 BYTES=1 PROTO=2 ASCII=3 JSON_IETF=4
Error code:u32=1 message:string=2 data:google.protobuf.Any=3
Decimal64 digits:i64=1 precision:u32=2
ScalarArray element:TypedValue*=1
SubscribeRequest request{subscribe:SubscriptionList=1 poll:Poll=3 aliases:AliasList=4}
    extension:gnmi_ext.Extension*=5
Poll
SubscribeResponse response{update:Notification=1 sync_response:bool=3 error:Error=4} extension:gnmi_ext.Extension*=5
SubscriptionList prefix:Path=1 subscription:Subscription*=2 use_aliases:bool=3 qos:QOSMarking=4
    mode:SubscriptionList.Mode=5 allow_aggregation:bool=6 use_models:ModelData*=7 encoding:Encoding=8
    updates_only:bool=9
enum SubscriptionList.Mode STREAM=0 ONCE=1 POLL=2
Subscription path:Path=1 mode:SubscriptionMode=2 sample_interval:u64=3 suppress_redundant:bool=4
    heartbeat_interval:u64=5
enum SubscriptionMode TARGET_DEFINED=0 ON_CHANGE=1 SAMPLE=2
QOSMarking marking:u32=1
Alias path:Path=1 alias:string=2
AliasList alias:Alias*=1
SetRequest prefix:Path=1 delete:Path*=2 replace:Update*=3 update:Update*=4 union_replace:Update*=6
    extension:gnmi_ext.Extension*=5
SetResponse prefix:Path=1 response:UpdateResult*=2 message:Error=3 timestamp:i64=4 extension:gnmi_ext.Extension*=5
UpdateResult timestamp:i64=1 path:Path=2 message:Error=3 op:UpdateResult.Operation=4
enum UpdateResult.Operation INVALID=0 DELETE=1 REPLACE=2 UPDATE=3 UNION_REPLACE=4
GetRequest prefix:Path=1 path:Path*=2 type:GetRequest.DataType=3 encoding:Encoding=5 use_models:ModelData*=6
    extension:gnmi_ext.Extension*=7
enum GetRequest.DataType ALL=0 CONFIG=1 STATE=2 OPERATIONAL=3
GetResponse notification:Notification*=1 error:Error=2 extension:gnmi_ext.Extension*=3
CapabilityRequest extension:gnmi_ext.Extension*=1
CapabilityResponse supported_models:ModelData*=1 supported_encodings:Encoding*=2 gNMI_version:string=3
    extension:gnmi_ext.Extension*=4
ModelData name:string=1 organization:string=2 version:string=3
"""
