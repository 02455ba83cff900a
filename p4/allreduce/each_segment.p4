/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_EACH_SEGMENT_P4
#define OFFRAMP_ALLREDUCE_EACH_SEGMENT_P4
// OP(number) for each of the packet's segments.
#define SEGMENTS_4(OP, a, b, c, d) OP(a) OP(b) OP(c) OP(d)
#if ALLREDUCE_SEGMENTS == 1
#define EACH_SEGMENT(OP) OP(0)
#elif ALLREDUCE_SEGMENTS == 4
#define EACH_SEGMENT(OP) SEGMENTS_4(OP, 0, 1, 2, 3)
#elif ALLREDUCE_SEGMENTS == 32
#define EACH_SEGMENT(OP) \
    SEGMENTS_4(OP, 0, 1, 2, 3) SEGMENTS_4(OP, 4, 5, 6, 7) \
    SEGMENTS_4(OP, 8, 9, 10, 11) SEGMENTS_4(OP, 12, 13, 14, 15) \
    SEGMENTS_4(OP, 16, 17, 18, 19) SEGMENTS_4(OP, 20, 21, 22, 23) \
    SEGMENTS_4(OP, 24, 25, 26, 27) SEGMENTS_4(OP, 28, 29, 30, 31)
#endif

#define EXTRACT_SEGMENT(number) packet.extract(hdr.segments[number]);

#endif
