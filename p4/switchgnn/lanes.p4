#ifndef OFFRAMP_SWITCHGNN_LANES_P4
#define OFFRAMP_SWITCHGNN_LANES_P4

#include "types.p4"

#define EACH_LANE(OP) \
    OP(val0, lane0) OP(val1, lane1) OP(val2, lane2) OP(val3, lane3) \
    OP(val4, lane4) OP(val5, lane5) OP(val6, lane6) OP(val7, lane7) \
    OP(val8, lane8) OP(val9, lane9) OP(val10, lane10) OP(val11, lane11) \
    OP(val12, lane12) OP(val13, lane13) OP(val14, lane14) OP(val15, lane15) \
    OP(val16, lane16) OP(val17, lane17) OP(val18, lane18) OP(val19, lane19) \
    OP(val20, lane20) OP(val21, lane21) OP(val22, lane22) OP(val23, lane23) \
    OP(val24, lane24) OP(val25, lane25) OP(val26, lane26) OP(val27, lane27) \
    OP(val28, lane28) OP(val29, lane29) OP(val30, lane30) OP(val31, lane31)

#define SET_LANE(val, lane) val.write(meta.index, hdr.payload.lane);
#define ADD_LANE(val, lane) val.read(sum, meta.index); val.write(meta.index, sum + hdr.payload.lane);
#define HARVEST_LANE(val, lane) val.read(sum, meta.index); hdr.payload.lane = sum + hdr.payload.lane;

// The sums: 32 lanes of int32. Only HARVEST changes the packet, since every other pass hands it on as it came.
control Lanes(inout headers_t hdr, inout metadata_t meta) {
    register<bit<32>>(AGGREGATORS) val0;
    register<bit<32>>(AGGREGATORS) val1;
    register<bit<32>>(AGGREGATORS) val2;
    register<bit<32>>(AGGREGATORS) val3;
    register<bit<32>>(AGGREGATORS) val4;
    register<bit<32>>(AGGREGATORS) val5;
    register<bit<32>>(AGGREGATORS) val6;
    register<bit<32>>(AGGREGATORS) val7;
    register<bit<32>>(AGGREGATORS) val8;
    register<bit<32>>(AGGREGATORS) val9;
    register<bit<32>>(AGGREGATORS) val10;
    register<bit<32>>(AGGREGATORS) val11;
    register<bit<32>>(AGGREGATORS) val12;
    register<bit<32>>(AGGREGATORS) val13;
    register<bit<32>>(AGGREGATORS) val14;
    register<bit<32>>(AGGREGATORS) val15;
    register<bit<32>>(AGGREGATORS) val16;
    register<bit<32>>(AGGREGATORS) val17;
    register<bit<32>>(AGGREGATORS) val18;
    register<bit<32>>(AGGREGATORS) val19;
    register<bit<32>>(AGGREGATORS) val20;
    register<bit<32>>(AGGREGATORS) val21;
    register<bit<32>>(AGGREGATORS) val22;
    register<bit<32>>(AGGREGATORS) val23;
    register<bit<32>>(AGGREGATORS) val24;
    register<bit<32>>(AGGREGATORS) val25;
    register<bit<32>>(AGGREGATORS) val26;
    register<bit<32>>(AGGREGATORS) val27;
    register<bit<32>>(AGGREGATORS) val28;
    register<bit<32>>(AGGREGATORS) val29;
    register<bit<32>>(AGGREGATORS) val30;
    register<bit<32>>(AGGREGATORS) val31;

    apply {
        bit<32> sum;
        if (meta.operation == operation_t.ADD) {
            EACH_LANE(ADD_LANE)
        } else if (meta.operation == operation_t.SET) {
            EACH_LANE(SET_LANE)
        } else if (meta.operation == operation_t.HARVEST) {
            EACH_LANE(HARVEST_LANE)
        }
    }
}

#endif
