#ifndef OFFRAMP_SWITCHGNN_CONGESTION_P4
#define OFFRAMP_SWITCHGNN_CONGESTION_P4

#include "types.p4"

// The mark of a sum: set if any of its contributions met congestion.
control Congestion(in headers_t hdr, inout metadata_t meta) {
    register<bit<1>>(AGGREGATORS) marked;

    apply {
        meta.ecn = hdr.switchgnn.ecn;
        if (meta.operation == operation_t.SET) {
            marked.write(meta.index, meta.ecn);
        } else if (meta.operation == operation_t.ADD && meta.ecn == 1) {
            marked.write(meta.index, 1);
        } else if (meta.operation == operation_t.HARVEST) {
            bit<1> before;
            marked.read(before, meta.index);
            meta.ecn = meta.ecn | before;
        }
    }
}

#endif
