/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TNA_PAIR_P4
#define OFFRAMP_SWITCHGNN_TNA_PAIR_P4
#include "types.p4"

#define LANE(val, lane) Pair() val;
#define APPLY_LANE(val, lane) \
    val.apply(hdr.payload.lane, hdr.payload1.lane, meta.index, meta.code, meta.upper);

struct pair_t {
    bit<32> lower;
    bit<32> upper;
}

// Two lanes of the sums, one of each segment, in one register, which adds to both and gives one: the lower by the last
// contribution, which alone changes the packet, and the upper in one more pass. A packet without a second segment has
// zeros in its place: what a parser did not extract is 0.
control Pair(inout bit<32> lower, inout bit<32> upper, in index_t index, in bit<8> code, in bit<8> fetches) {
    Register<pair_t, bit<16>>(AGGREGATORS) pairs;

    RegisterAction<pair_t, bit<16>, bit<32>>(pairs) set_sums = {
        void apply(inout pair_t pair) {
            pair.lower = lower;
            pair.upper = upper;
        }
    };

    RegisterAction<pair_t, bit<16>, bit<32>>(pairs) add_sums = {
        void apply(inout pair_t pair) {
            pair.lower = pair.lower + lower;
            pair.upper = pair.upper + upper;
        }
    };

    RegisterAction<pair_t, bit<16>, bit<32>>(pairs) harvest_sums = {
        void apply(inout pair_t pair, out bit<32> total) {
            pair.lower = pair.lower + lower;
            pair.upper = pair.upper + upper;
            total = pair.lower;
        }
    };

    RegisterAction<pair_t, bit<16>, bit<32>>(pairs) upper_sum = {
        void apply(inout pair_t pair, out bit<32> total) {
            total = pair.upper;
        }
    };

    action set() {
        set_sums.execute(AT(index));
    }

    action add() {
        add_sums.execute(AT(index));
    }

    action harvest() {
        lower = harvest_sums.execute(AT(index));
    }

    action fetch() {
        upper = upper_sum.execute(AT(index));
    }

    table operation {
        key = {
            code: exact @name("code");
            fetches: exact @name("fetches");
        }
        actions = { set; add; harvest; fetch; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (FRESH, 0): set();
            (FRESH_OVER_ONE, 0): set();
            (FURTHER, 0): add();
            (LAST, 0): harvest();
            (YES, 1): fetch();
        }
        size = 8;
    }

    apply {
        operation.apply();
    }
}

#endif
