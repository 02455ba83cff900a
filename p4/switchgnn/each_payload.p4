/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_EACH_PAYLOAD_P4
#define OFFRAMP_SWITCHGNN_EACH_PAYLOAD_P4
// OP(control, payload) for each segment of 32 lanes that a packet may have.
#if SWITCHGNN_SEGMENTS == 1
#define EACH_PAYLOAD(OP) OP(lanes, payload)
#elif SWITCHGNN_SEGMENTS == 2
#define EACH_PAYLOAD(OP) OP(lanes, payload) OP(lanes1, payload1)
#elif SWITCHGNN_SEGMENTS == 4
#define EACH_PAYLOAD(OP) OP(lanes, payload) OP(lanes1, payload1) OP(lanes2, payload2) OP(lanes3, payload3)
#endif

// For EACH_PAYLOAD: the field of a packet's headers, and how a deparser emits it.
#define PAYLOAD_FIELD(lanes, payload) payload_t payload;
#define EMIT_PAYLOAD(lanes, payload) packet.emit(hdr.payload);

#endif
