// SwitchGNN (Li et al., USENIX ATC 2025) for v1model: in-network multicast and aggregation of GNN features.
// Each pass of a packet accesses each register at most once.

#include <core.p4>
#include <v1model.p4>

#include "types.p4"
#include "parser.p4"
#include "round.p4"
#include "barrier.p4"
#include "guard.p4"
#include "fanout.p4"
#include "aggregate.p4"
#include "telemetry.p4"
#include "forward.p4"
#include "again.p4"

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control SwitchGnnIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(16, CounterType.packets) outcomes;
    Round() round;
    Barrier() barrier;
    Guard(AGGREGATORS) guard;
    Fanout() fanout;
    Aggregate() aggregate;
    Telemetry() telemetry;
    Forward() forward;

    apply {
        meta.outcome = outcome_t.FOREIGN;
        if (standard_metadata.parser_error != error.NoError) {
            meta.outcome = outcome_t.MALFORMED;
        } else if (hdr.switchgnn.isValid()) {
            round.apply(hdr, meta);
            if (hdr.switchgnn.is_ack == 1 && hdr.switchgnn.is_fetch == 1 && hdr.switchgnn.resend == 0) {
                barrier.apply(hdr, meta);
            } else if (hdr.payload.isValid()) {
                if (hdr.switchgnn.round != meta.now) {
                    meta.outcome = outcome_t.STALE;
                } else {
                    bool go_on = true;
                    if (meta.hop == 0) {
                        guard.apply(hdr, meta, go_on);
                    }
                    if (go_on) {
                        fanout.apply(hdr, meta, go_on);
                    }
                    if (go_on) {
                        if (meta.need == 1) {
                            meta.outcome = outcome_t.DELIVERED;
                            meta.reply = 1;
                        } else {
                            aggregate.apply(hdr, meta);
                        }
                        if (meta.reply == 1) {
                            hdr.switchgnn.src_id = NO_ID;
                            hdr.switchgnn.dst_id = meta.dst_id;
                            hdr.switchgnn.count = meta.need;
                        }
                        meta.again = ~meta.last;
                    }
                }
            }
        }
        telemetry.apply(meta.outcome, meta.reopened);
        outcomes.count((bit<32>)(bit<8>)meta.outcome);
        forward.apply(hdr, meta, standard_metadata);
    }
}

V1Switch(
    SwitchGnnParser(),
    NoChecksum(),
    SwitchGnnIngress(),
    Again(),
    ReplyChecksum(),
    SwitchGnnDeparser()
) main;
