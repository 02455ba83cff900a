/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_TNA_AGGREGATE_P4
#define OFFRAMP_SWITCHGNN_TNA_AGGREGATE_P4
#include "../each_lane.p4"
#include "congestion.p4"
#if SWITCHGNN_SEGMENTS == 1
#include "lane.p4"
#else
#include "pair.p4"
#endif
#include "types.p4"

struct state_t {
    bit<16> tag;   // the round that the entry belongs to
    bit<16> left;  // contributions still missing
}

// Count-based aggregation. An entry whose tag is not the packet's round counts as empty, so nothing is ever cleaned.
// The register says what it found, and the lanes match on that: nothing stands between them. FETCH leaves nothing
// missing: in this round no later contribution can be the last one, and what the lanes still add is never sent.
control Aggregate(inout headers_t hdr, inout switchgnn_metadata_t meta) {
    SwitchGnnCongestion() congestion;
    Register<state_t, bit<16>>(AGGREGATORS) state;

    RegisterAction<state_t, bit<16>, bit<8>>(state) contribute = {
        void apply(inout state_t entry, out bit<8> code) {
            code = this.predicate(entry.tag == hdr.switchgnn.round, entry.left == 1);
            if (entry.tag == hdr.switchgnn.round) {
                entry.left = entry.left - 1;
            } else {
                entry.tag = hdr.switchgnn.round;
                entry.left = meta.need - 1;
            }
        }
    };

    RegisterAction<state_t, bit<16>, bit<8>>(state) release = {
        void apply(inout state_t entry) {
            entry.tag = hdr.switchgnn.round;
            entry.left = 0;
        }
    };

    RegisterAction<state_t, bit<16>, bit<8>>(state) check = {
        void apply(inout state_t entry, out bit<8> code) {
            code = this.predicate(entry.tag == hdr.switchgnn.round);
        }
    };

    EACH_LANE(LANE)

    apply {
        if (meta.releases == 1) {
            release.execute(AT(meta.slot));
        } else if (meta.aggregates == 1 && (meta.repeated == NO || (meta.pass.isValid() && meta.behind == 0))) {
            if (meta.upper == 1) {
                meta.code = check.execute(AT(meta.index));
            } else {
                meta.code = contribute.execute(AT(meta.index));
                congestion.apply(hdr, meta);
            }
        }
        if (meta.code == LAST && meta.marked == YES) {
            hdr.switchgnn.ecn = 1;
        }
        EACH_LANE(APPLY_LANE)
    }
}

#endif
