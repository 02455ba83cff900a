/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_LANES_P4
#define OFFRAMP_SWITCHGNN_LANES_P4
#include "each_lane.p4"
#include "types.p4"

#define LANE_REGISTER(val, lane) register<bit<32>>(AGGREGATORS) val;
#define SET_LANE(val, lane) val.write(meta.index, payload.lane);
#define CLEAR_LANE(val, lane) val.write(meta.index, 0);
#define ADD_LANE(val, lane) val.read(sum, meta.index); val.write(meta.index, sum + payload.lane);
#define HARVEST_LANE(val, lane) val.read(sum, meta.index); payload.lane = sum + payload.lane;

// The sums of one segment: 32 lanes of int32. Only HARVEST changes the packet, since every other pass hands it on as it
// came. A segment that a packet does not have counts as zeros.
control SwitchGnnLanes(inout payload_t payload, in switchgnn_metadata_t meta) {
    EACH_LANE(LANE_REGISTER)

    apply {
        bit<32> sum;
        if (meta.operation == switchgnn_operation_t.ADD && payload.isValid()) {
            EACH_LANE(ADD_LANE)
        } else if (meta.operation == switchgnn_operation_t.SET && payload.isValid()) {
            EACH_LANE(SET_LANE)
        } else if (meta.operation == switchgnn_operation_t.SET) {
            EACH_LANE(CLEAR_LANE)
        } else if (meta.operation == switchgnn_operation_t.HARVEST && payload.isValid()) {
            EACH_LANE(HARVEST_LANE)
        }
    }
}

#define PAYLOAD_LANES(lanes, payload) SwitchGnnLanes() lanes;
#define APPLY_LANES(lanes, payload) lanes.apply(hdr.payload, meta);

#endif
