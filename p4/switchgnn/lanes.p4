/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_LANES_P4
#define OFFRAMP_SWITCHGNN_LANES_P4
#include "each_lane.p4"
#include "types.p4"

#define LANE_REGISTER(val, lane) register<bit<32>>(AGGREGATORS) val;
#define SET_LANE(val, lane) val.write(meta.index, hdr.payload.lane);
#define ADD_LANE(val, lane) val.read(sum, meta.index); val.write(meta.index, sum + hdr.payload.lane);
#define HARVEST_LANE(val, lane) val.read(sum, meta.index); hdr.payload.lane = sum + hdr.payload.lane;

// The sums: 32 lanes of int32. Only HARVEST changes the packet, since every other pass hands it on as it came.
control Lanes(inout headers_t hdr, inout metadata_t meta) {
    EACH_LANE(LANE_REGISTER)

    apply {
        bit<32> sum;
        if (meta.operation == operation_t.ADD) {
            EACH_LANE(ADD_LANE)
        } else if (meta.operation == operation_t.SET) {
            EACH_LANE(SET_LANE)
        } else if (meta.operation == operation_t.HARVEST) {
            EACH_LANE(HARVEST_LANE)
        }
    }
}

#endif
