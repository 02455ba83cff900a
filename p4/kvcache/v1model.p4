/* SPDX-License-Identifier: Apache-2.0 */
// Hot keys of a key-value store, answered by the switch in front of its host.
//
// Every reply of the store passes here before a client sees it, and says the key's version. The newest one is kept, with its
// value: what the switch answers is never older than what anybody has been told, whatever is lost, doubled or late. A key that is
// new here is followed first; the control plane sets its floor to the version that the store says then, and from
// there on it is answered: older replies may have passed before the switch followed the key.
#include <core.p4>
#include <v1model.p4>

#include "frame.p4"

struct metadata_t { }

parser KvCacheParser(packet_in packet,
                     out headers_t hdr,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHER_TYPE_KVCACHE: kvcache;
            default: accept;
        }
    }

    state kvcache {
        packet.extract(hdr.kvcache);
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

#define REGISTER(values, field) register<bit<32>>(SLOTS) values;
#define KEEP(values, field) values.write(slot, hdr.kvcache.field);
#define TELL(values, field) values.read(hdr.kvcache.field, slot);

control KvCacheIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<32>>(SLOTS) newest;
    EACH_LANE(REGISTER)
    counter(SLOTS, CounterType.packets) hits;
    counter(1, CounterType.packets) misses;
    bit<1> held = 0;
    bit<32> slot = 0;
    bit<32> floor = 0;
    bit<9> store = 0;
    bit<32> version;

    // Replies count from the store's port alone.
    action hold(bit<32> at, bit<32> from_version, bit<9> port) {
        held = 1;
        slot = at;
        floor = from_version;
        store = port;
    }

    table keys {
        key = {
            hdr.kvcache.key: exact @name("key");
        }
        actions = { hold; @defaultonly NoAction; }
        const default_action = NoAction();
        size = SLOTS;
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    table macs {
        key = {
            hdr.ethernet.dst_addr: exact @name("dst_addr");
        }
        actions = { forward; @defaultonly drop; }
        const default_action = drop();
        size = HOSTS;
    }

    apply {
        bit<1> answered = 0;
        if (standard_metadata.parser_error != error.NoError) {
            drop();
            answered = 1;
        } else if (hdr.kvcache.isValid()) {
            keys.apply();
            if (held == 1) {
                newest.read(version, slot);
                if (hdr.kvcache.kind == KIND_REPLY && standard_metadata.ingress_port == store) {
                    if (hdr.kvcache.version >= version) {
                        newest.write(slot, hdr.kvcache.version);
                        EACH_LANE(KEEP)
                    }
                } else if (hdr.kvcache.kind == KIND_GET && version >= floor) {
                    EACH_LANE(TELL)
                    hits.count(slot);
                    hdr.kvcache.kind = KIND_REPLY;
                    hdr.kvcache.hops = 1;
                    bit<48> client = hdr.ethernet.src_addr;
                    hdr.ethernet.src_addr = hdr.ethernet.dst_addr;
                    hdr.ethernet.dst_addr = client;
                    standard_metadata.egress_spec = standard_metadata.ingress_port;
                    answered = 1;
                }
            }
            if (answered == 0 && hdr.kvcache.kind == KIND_GET) {
                misses.count(0);
            }
        }
        if (answered == 0) {
            macs.apply();
        }
    }
}

control KvCacheDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(
    KvCacheParser(),
    NoChecksum(),
    KvCacheIngress(),
    NoEgress(),
    NoChecksum(),
    KvCacheDeparser()
) main;
