/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_HERMOD_ADMISSION_P4
#define OFFRAMP_HERMOD_ADMISSION_P4
#include "types.p4"
#include "trust.p4"
#include "classify.p4"
#include "police.p4"
#include "roles.p4"

// The class of a frame that comes in, as far as its port may use that. What passes ``again`` has been counted.
control HermodAdmission(inout headers_t hdr, inout hermod_metadata_t meta, in bit<9> port, in bool again) {
    counter(DSCPS, CounterType.packets_and_bytes) by_dscp;  // what came in, IP only
    // Frames from ports that are not the job's, by port.
    counter(PORTS, CounterType.packets_and_bytes) strangers;
    Trust() trust;
    Classify() classify;
    Police() police;
    Remark() remark;
    Roles() roles;

    apply {
        classify.apply(hdr, meta);
        if (!again) {
            if (meta.is_ip == 1) {
                by_dscp.count((bit<32>)meta.dscp);
            }
            trust.apply(meta, port);
            if (meta.demoted == 1) {
                strangers.count((bit<32>)port);
            } else {
                police.apply(meta, port);
            }
        }
        if (meta.demoted == 1) {
            remark.apply(hdr, meta);
        } else {
            roles.apply(meta);
        }
    }
}

#endif
