// SPDX-License-Identifier: Apache-2.0
#include "path_router/path_router.hpp"

namespace offramp {
namespace {

enum Port { kEndpoint0 = 0, kEndpoint1 = 1, kAccelerator = 2, kNic = 3 };

}  // namespace

ap_uint<3> route(ap_uint<2> model, ap_uint<2> port, ap_uint<2> destination) {
#pragma HLS inline
    if (model > kOffPath || destination > kToNic) return kNowhere;
    switch (int(port)) {
    case kEndpoint0:  // the off-path model has it closed
        if (model == kOffPath || destination == kToCpu) return kNowhere;
        if (destination == kToAccelerator) return kAccelerator;
        return model == kOnPath ? kNic : kNowhere;
    case kEndpoint1:  // the on-path model has it closed
        if (model == kOnPath || destination == kToCpu) return kNowhere;
        if (destination == kToNic) return kNic;
        return model == kOffPath ? kAccelerator : kNowhere;
    case kAccelerator:
        if (destination == kToAccelerator) return kNowhere;
        if (destination == kToCpu) return model == kOffPath ? kEndpoint1 : kEndpoint0;
        return model == kDirect ? kEndpoint0 : kNic;  // direct: peer to peer over the PCIe switch
    default:
        if (destination == kToNic) return kNowhere;
        if (destination == kToCpu) return model == kOnPath ? kEndpoint0 : kEndpoint1;
        return model == kDirect ? kEndpoint1 : kAccelerator;
    }
}

void path_router(hls::stream<Routed> in[kPorts], hls::stream<Beat> out[kPorts], ap_uint<2> model,
                 ap_uint<32> &refused) {
#pragma HLS interface axis port = in
#pragma HLS interface axis port = out
#pragma HLS interface s_axilite port = model
#pragma HLS interface s_axilite port = refused
#pragma HLS interface s_axilite port = return
    hls::stream<Beat> queues[kPorts][kPorts];  // of each pair, so that nobody waits for another's port
#pragma HLS stream variable = queues depth = 512
    refused = 0;
    for (int port = 0; port < kPorts; ++port) {
#pragma HLS unroll
        bool begins = true;
        ap_uint<3> way = kNowhere;
        while (!in[port].empty()) {
#pragma HLS pipeline II = 1
            const Routed arrived = in[port].read();
            if (begins) {
                way = route(model, port, arrived.dest);
                if (way == kNowhere) refused += 1;
            }
            begins = arrived.last;
            Beat beat = item_of(arrived.data, arrived.last);
            beat.keep = arrived.keep;
            beat.strb = arrived.strb;
            if (way != kNowhere) queues[port][way].write(beat);
        }
    }
    for (int port = 0; port < kPorts; ++port) {
#pragma HLS unroll
        ap_uint<2> turn = 0;
        bool left = true;
        while (left) {  // a packet of each in turn
            left = false;
            for (int step = 0; step < kPorts; ++step) {
                const int from = (int(turn) + step) % kPorts;
                if (queues[from][port].empty()) continue;
                left = true;
                Beat beat;
                do {
#pragma HLS pipeline II = 1
                    beat = queues[from][port].read();
                    out[port].write(beat);
                } while (!beat.last);
                turn = from + 1;
                break;
            }
        }
    }
}

}  // namespace offramp
