/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_STRAWMAN_P4
#define OFFRAMP_SWITCHGNN_STRAWMAN_P4
#include "types.p4"
#include "lanes.p4"
#include "pool.p4"

// Best effort: a contribution that is refused an aggregator goes to its worker as it is, once for each worker,
// however many vertices there need it. Ports of workers are below 256.
control Strawman(inout headers_t hdr, inout switchgnn_metadata_t meta) {
    Pool() pool;
    EACH_PAYLOAD(PAYLOAD_LANES)

    apply {
        bool refused;
        pool.apply(hdr, meta, refused);
        if (refused) {
            bit<256> worker = 256w1 << (bit<8>)meta.port;
            if ((meta.delivered & worker) == 0) {
                meta.delivered = meta.delivered | worker;
                meta.outcome = switchgnn_outcome_t.RAW;
                meta.reply = 1;
                hdr.switchgnn.count = 1;
            } else {
                meta.outcome = switchgnn_outcome_t.SHARED;
            }
        } else {
            EACH_PAYLOAD(APPLY_LANES)
            if (meta.reply == 1) {
                hdr.switchgnn.src_id = NO_ID;
                hdr.switchgnn.dst_id = meta.dst_id;
                hdr.switchgnn.count = meta.need;
            }
        }
    }
}

// Uploads that still have passes to make. A worker may know a sum from raw features before the aggregator has
// seen all of them; the round must not end before it has, or the aggregator would never be freed.
control InFlight(inout switchgnn_metadata_t meta, out bool none) {
    register<bit<32>>(1) uploads;

    apply {
        bit<32> count;
        uploads.read(count, 0);
        if (meta.begins == 0) {
            if (meta.hop == 0) {
                count = count + 1;
            }
            if (meta.last == 1) {
                count = count - 1;
            }
            uploads.write(0, count);
        }
        none = count == 0;
    }
}

#endif
