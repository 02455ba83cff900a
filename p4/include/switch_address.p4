/* SPDX-License-Identifier: Apache-2.0 */
// Written by ci/formats: change it there.
#ifndef OFFRAMP_SWITCH_ADDRESS_P4
#define OFFRAMP_SWITCH_ADDRESS_P4
// The switch's own address; replies are broadcast, since the port already says who receives them.
const bit<48> SWITCH_MAC = 0x02000000FFFE;
const bit<32> SWITCH_IP = 0x0A00FFFE;
const bit<48> BROADCAST_MAC = 0xFFFFFFFFFFFF;
const bit<32> BROADCAST_IP = 0xFFFFFFFF;

#endif
