/* SPDX-License-Identifier: Apache-2.0 */
// Hot keys of a key-value store for Tofino: what v1model.p4 does, in one pass that accesses each register once.
#include <core.p4>
#include <tna.p4>

#include "frame.p4"

struct metadata_t {
    bit<1>  held;
    bit<1>  serves;
    bit<1>  keeps;
    bit<1>  answered;
    bit<8>  code;
    bit<16> slot;
    bit<32> floor;
    bit<9>  store;
}

parser KvCacheParser(packet_in packet,
                     out headers_t hdr,
                     out metadata_t meta,
                     out ingress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        meta.held = 0;
        meta.serves = 0;
        meta.keeps = 0;
        meta.answered = 0;
        meta.code = 0;
        meta.slot = 0;
        meta.floor = 0;
        meta.store = 0;
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

#define REGISTER(values, field) \
    Register<bit<32>, bit<16>>(SLOTS) values; \
    RegisterAction<bit<32>, bit<16>, bit<32>>(values) values##_keep = { \
        void apply(inout bit<32> word) { \
            word = hdr.kvcache.field; \
        } \
    }; \
    RegisterAction<bit<32>, bit<16>, bit<32>>(values) values##_tell = { \
        void apply(inout bit<32> word, out bit<32> stored) { \
            stored = word; \
        } \
    };
#define KEEP(values, field) values##_keep.execute(meta.slot);
#define TELL(values, field) hdr.kvcache.field = values##_tell.execute(meta.slot);

control KvCacheIngress(inout headers_t hdr,
                       inout metadata_t meta,
                       in ingress_intrinsic_metadata_t intrinsic,
                       in ingress_intrinsic_metadata_from_parser_t from_parser,
                       inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
                       inout ingress_intrinsic_metadata_for_tm_t to_tm) {
    Register<bit<32>, bit<16>>(SLOTS) newest;
    EACH_LANE(REGISTER)
    Counter<bit<32>, bit<16>>(SLOTS, CounterType_t.PACKETS) hits;
    Counter<bit<32>, bit<1>>(1, CounterType_t.PACKETS) misses;

    RegisterAction<bit<32>, bit<16>, bit<8>>(newest) raise = {
        void apply(inout bit<32> version, out bit<8> code) {
            code = this.predicate(hdr.kvcache.version >= version);
            if (hdr.kvcache.version >= version) {
                version = hdr.kvcache.version;
            }
        }
    };

    RegisterAction<bit<32>, bit<16>, bit<8>>(newest) compare = {
        void apply(inout bit<32> version, out bit<8> code) {
            code = this.predicate(version >= meta.floor);
        }
    };

    action hold(bit<32> at, bit<32> from_version, bit<9> port) {
        meta.held = 1;
        meta.slot = at[15:0];
        meta.floor = from_version;
        meta.store = port;
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
        to_tm.ucast_egress_port = port;
    }

    action drop() {
        to_deparser.drop_ctl = 1;
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
        to_tm.bypass_egress = 1;
        if (from_parser.parser_err != 0) {
            drop();
            meta.answered = 1;
        } else if (hdr.kvcache.isValid()) {
            keys.apply();
            if (meta.held == 1) {
                if (hdr.kvcache.kind == KIND_REPLY && intrinsic.ingress_port == meta.store) {
                    meta.code = raise.execute(meta.slot);
                    if (meta.code != 1) {
                        meta.keeps = 1;
                    }
                } else if (hdr.kvcache.kind == KIND_GET) {
                    meta.code = compare.execute(meta.slot);
                    if (meta.code != 1) {
                        meta.serves = 1;
                    }
                }
            }
            if (meta.keeps == 1) {
                EACH_LANE(KEEP)
            } else if (meta.serves == 1) {
                EACH_LANE(TELL)
                hits.count(meta.slot);
                hdr.kvcache.kind = KIND_REPLY;
                hdr.kvcache.hops = 1;
                bit<48> client = hdr.ethernet.src_addr;
                hdr.ethernet.src_addr = hdr.ethernet.dst_addr;
                hdr.ethernet.dst_addr = client;
                to_tm.ucast_egress_port = intrinsic.ingress_port;
                meta.answered = 1;
            } else if (hdr.kvcache.kind == KIND_GET) {
                misses.count(0);
            }
        }
        if (meta.answered == 0) {
            macs.apply();
        }
    }
}

control KvCacheDeparser(packet_out packet,
                        inout headers_t hdr,
                        in metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    apply {
        packet.emit(hdr);
    }
}

// Egress does nothing.
struct nothing_t { }

parser NoEgressParser(packet_in packet, out nothing_t hdr, out nothing_t meta, out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        transition accept;
    }
}

control NoEgress(inout nothing_t hdr,
                 inout nothing_t meta,
                 in egress_intrinsic_metadata_t intrinsic,
                 in egress_intrinsic_metadata_from_parser_t from_parser,
                 inout egress_intrinsic_metadata_for_deparser_t to_deparser,
                 inout egress_intrinsic_metadata_for_output_port_t to_port) {
    apply { }
}

control NoEgressDeparser(packet_out packet,
                         inout nothing_t hdr,
                         in nothing_t meta,
                         in egress_intrinsic_metadata_for_deparser_t to_deparser) {
    apply { }
}

Pipeline(
    KvCacheParser(), KvCacheIngress(), KvCacheDeparser(), NoEgressParser(), NoEgress(), NoEgressDeparser()
) pipe;

Switch(pipe) main;
