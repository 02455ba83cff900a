/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_LANES_P4
#define OFFRAMP_ALLREDUCE_LANES_P4
#include "each_segment.p4"
#include "types.p4"

// 64 numbers of 32 bits, 1 each; times 0x7FFFFFFF: all bits but each lane's highest.
#define ONES_4 0x00000001000000010000000100000001
const bit<128> FOUR_ONES = ONES_4;
const bit<512> SIXTEEN_ONES = FOUR_ONES ++ FOUR_ONES ++ FOUR_ONES ++ FOUR_ONES;
const bit<2048> LOW_BITS = (SIXTEEN_ONES ++ SIXTEEN_ONES ++ SIXTEEN_ONES ++ SIXTEEN_ONES) * 0x7FFFFFFF;

#define LANES(number) { \
    bit<32> at = meta.index * ALLREDUCE_SEGMENTS + number; \
    if (meta.operation != allreduce_operation_t.SET) { \
        sums.read(sum, at); \
        if (meta.operation == allreduce_operation_t.ADD) { \
            bit<2048> lanes = hdr.segments[number].lanes; \
            sum = ((sum & LOW_BITS) + (lanes & LOW_BITS)) ^ ((sum ^ lanes) & ~LOW_BITS); \
            sums.write(at, sum); \
        } \
        if (meta.harvests == 1) { hdr.segments[number].lanes = sum; } \
    } else { \
        sums.write(at, hdr.segments[number].lanes); \
    } \
}

// The sums: lanes of int32, added side by side within one number. No carry leaves a lane: the lower 31 bits are added as
// such, and the highest is the exclusive or of both and of the carry into it.
control AllReduceLanes(inout headers_t hdr, inout allreduce_metadata_t meta) {
    register<bit<2048>>(SLOTS * ALLREDUCE_SEGMENTS) sums;

    apply {
        bit<2048> sum;
        if (meta.operation != allreduce_operation_t.NONE) {
            EACH_SEGMENT(LANES)
        }
    }
}

#endif
