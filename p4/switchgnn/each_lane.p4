/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_EACH_LANE_P4
#define OFFRAMP_SWITCHGNN_EACH_LANE_P4
// OP(register or control, field of the payload) for each of the 32 lanes.
#define EACH_LANE(OP) \
    OP(val0, lane0) OP(val1, lane1) OP(val2, lane2) OP(val3, lane3) \
    OP(val4, lane4) OP(val5, lane5) OP(val6, lane6) OP(val7, lane7) \
    OP(val8, lane8) OP(val9, lane9) OP(val10, lane10) OP(val11, lane11) \
    OP(val12, lane12) OP(val13, lane13) OP(val14, lane14) OP(val15, lane15) \
    OP(val16, lane16) OP(val17, lane17) OP(val18, lane18) OP(val19, lane19) \
    OP(val20, lane20) OP(val21, lane21) OP(val22, lane22) OP(val23, lane23) \
    OP(val24, lane24) OP(val25, lane25) OP(val26, lane26) OP(val27, lane27) \
    OP(val28, lane28) OP(val29, lane29) OP(val30, lane30) OP(val31, lane31)

#endif
