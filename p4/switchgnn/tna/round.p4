/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TNA_ROUND_P4
#define OFFRAMP_SWITCHGNN_TNA_ROUND_P4
#include "types.p4"

// The current round, as in the v1model program. It is compared where it is kept: the pipeline sees only how far the
// packet is behind it.
control Round(in headers_t hdr, inout switchgnn_metadata_t meta) {
    Register<bit<16>, bit<1>>(1) current;

    RegisterAction<bit<16>, bit<1>, bit<16>>(current) compare = {
        void apply(inout bit<16> round, out bit<16> behind) {
            behind = round - hdr.switchgnn.round;
        }
    };

    RegisterAction<bit<16>, bit<1>, bit<16>>(current) begin = {
        void apply(inout bit<16> round) {
            round = meta.pass.number;
        }
    };

    apply {
        if (hdr.switchgnn.is_ack == 1 && meta.pass.isValid()) {
            begin.execute(0);
        } else {
            meta.behind = compare.execute(0);
        }
    }
}

#endif
