/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TNA_LANE_P4
#define OFFRAMP_SWITCHGNN_TNA_LANE_P4
#include "types.p4"

#define LANE(val, lane) Lane() val;
#define APPLY_LANE(val, lane) val.apply(hdr.payload.lane, meta.index, meta.code);

// One lane of the sums. Only the last contribution changes the packet, since every other pass hands it on as it came.
control Lane(inout bit<32> value, in index_t index, in bit<8> code) {
    Register<bit<32>, bit<16>>(AGGREGATORS) sums;

    RegisterAction<bit<32>, bit<16>, bit<32>>(sums) set_sum = {
        void apply(inout bit<32> sum) {
            sum = value;
        }
    };

    RegisterAction<bit<32>, bit<16>, bit<32>>(sums) add_sum = {
        void apply(inout bit<32> sum) {
            sum = sum + value;
        }
    };

    RegisterAction<bit<32>, bit<16>, bit<32>>(sums) harvest_sum = {
        void apply(inout bit<32> sum, out bit<32> total) {
            sum = sum + value;
            total = sum;
        }
    };

    action set() {
        set_sum.execute(AT(index));
    }

    action add() {
        add_sum.execute(AT(index));
    }

    action harvest() {
        value = harvest_sum.execute(AT(index));
    }

    table operation {
        key = { code: exact @name("code"); }
        actions = { set; add; harvest; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            FRESH: set();
            FRESH_OVER_ONE: set();
            FURTHER: add();
            LAST: harvest();
        }
        size = 4;
    }

    apply {
        operation.apply();
    }
}

#endif
