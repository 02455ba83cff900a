/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_EACH_SEGMENT_P4
#define OFFRAMP_SWITCHGNN_EACH_SEGMENT_P4
// OP(control, payload) for each segment of 32 lanes that a packet may have.
#if SEGMENTS == 1
#define EACH_SEGMENT(OP) OP(lanes, payload)
#elif SEGMENTS == 2
#define EACH_SEGMENT(OP) OP(lanes, payload) OP(lanes1, payload1)
#elif SEGMENTS == 4
#define EACH_SEGMENT(OP) OP(lanes, payload) OP(lanes1, payload1) OP(lanes2, payload2) OP(lanes3, payload3)
#endif

#endif
