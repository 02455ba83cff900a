/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_KINDS_P4
#define OFFRAMP_SWITCHGNN_KINDS_P4
// Types of packets, as is_ack ++ is_fetch ++ resend.
const bit<3> DATA   = 0b000;
const bit<3> RESEND = 0b001;
const bit<3> FETCH  = 0b010;
const bit<3> ACK    = 0b100;
const bit<3> DONE   = 0b110;
const bit<3> FETCH_AGAIN = 0b011;  // a FETCH that is repeated

#endif
