/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_ALLREDUCE_TNA_LANE_P4
#define OFFRAMP_ALLREDUCE_TNA_LANE_P4
#include "types.p4"

// OP(control, lower lane, upper lane) for each of the 32 pairs.
#define EACH_PAIR(OP) \
    OP(pair0, lane0, lane32) OP(pair1, lane1, lane33) OP(pair2, lane2, lane34) OP(pair3, lane3, lane35) \
    OP(pair4, lane4, lane36) OP(pair5, lane5, lane37) OP(pair6, lane6, lane38) OP(pair7, lane7, lane39) \
    OP(pair8, lane8, lane40) OP(pair9, lane9, lane41) OP(pair10, lane10, lane42) OP(pair11, lane11, lane43) \
    OP(pair12, lane12, lane44) OP(pair13, lane13, lane45) OP(pair14, lane14, lane46) OP(pair15, lane15, lane47) \
    OP(pair16, lane16, lane48) OP(pair17, lane17, lane49) OP(pair18, lane18, lane50) OP(pair19, lane19, lane51) \
    OP(pair20, lane20, lane52) OP(pair21, lane21, lane53) OP(pair22, lane22, lane54) OP(pair23, lane23, lane55) \
    OP(pair24, lane24, lane56) OP(pair25, lane25, lane57) OP(pair26, lane26, lane58) OP(pair27, lane27, lane59) \
    OP(pair28, lane28, lane60) OP(pair29, lane29, lane61) OP(pair30, lane30, lane62) OP(pair31, lane31, lane63)

#define PAIR(pair, low, high) Pair() pair;
#define APPLY_PAIR(pair, low, high) pair.apply(hdr.segment.low, hdr.segment.high, meta);

struct pair_t {
    bit<32> low;
    bit<32> high;
}

// Two lanes of the sums in one register, which adds to both and gives one: the second pass fetches the other.
control Pair(inout bit<32> low, inout bit<32> high, in allreduce_metadata_t meta) {
    Register<pair_t, bit<16>>(SLOTS) sums;

    RegisterAction<pair_t, bit<16>, bit<32>>(sums) set_sums = {
        void apply(inout pair_t pair) {
            pair.low = low;
            pair.high = high;
        }
    };

    RegisterAction<pair_t, bit<16>, bit<32>>(sums) add_sums = {
        void apply(inout pair_t pair, out bit<32> sum) {
            pair.low = pair.low + low;
            pair.high = pair.high + high;
            sum = pair.low;
        }
    };

    RegisterAction<pair_t, bit<16>, bit<32>>(sums) low_sum = {
        void apply(inout pair_t pair, out bit<32> sum) {
            sum = pair.low;
        }
    };

    RegisterAction<pair_t, bit<16>, bit<32>>(sums) high_sum = {
        void apply(inout pair_t pair, out bit<32> sum) {
            sum = pair.high;
        }
    };

    action set() {
        set_sums.execute(SLOT_OF(meta));
    }

    action add() {
        low = add_sums.execute(SLOT_OF(meta));
    }

    action read_low() {
        low = low_sum.execute(SLOT_OF(meta));
    }

    action read_high() {
        high = high_sum.execute(SLOT_OF(meta));
    }

    table operation {
        key = { meta.operation: exact @name("operation"); }
        actions = { set; add; read_low; read_high; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            allreduce_operation_t.SET: set();
            allreduce_operation_t.ADD: add();
            allreduce_operation_t.READ_LOW: read_low();
            allreduce_operation_t.READ_HIGH: read_high();
        }
        size = 4;
    }

    apply {
        operation.apply();
    }
}

#endif
