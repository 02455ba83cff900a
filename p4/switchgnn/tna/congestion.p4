/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TNA_CONGESTION_P4
#define OFFRAMP_SWITCHGNN_TNA_CONGESTION_P4
#include "types.p4"

// The mark of a sum, as in the v1model program.
control SwitchGnnCongestion(in headers_t hdr, inout switchgnn_metadata_t meta) {
    Register<bit<16>, bit<16>>(AGGREGATORS) marked;  // the last round with a mark

    RegisterAction<bit<16>, bit<16>, bit<8>>(marked) mark = {
        void apply(inout bit<16> last_round) {
            last_round = hdr.switchgnn.round;
        }
    };

    RegisterAction<bit<16>, bit<16>, bit<8>>(marked) look = {
        void apply(inout bit<16> last_round, out bit<8> same_round) {
            same_round = this.predicate(last_round == hdr.switchgnn.round);
        }
    };

    apply {
        if (hdr.switchgnn.ecn == 1) {
            mark.execute(AT(meta.index));
        } else {
            meta.marked = look.execute(AT(meta.index));
        }
    }
}

#endif
