/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_HEADERS_P4
#define OFFRAMP_SWITCHGNN_HEADERS_P4
#include "frame.p4"

// The headers of a program that carries SwitchGNN alone. The controls use any program's headers_t with these fields.
struct headers_t {
    ethernet_t  ethernet;
    ipv4_t      ipv4;
    switchgnn_t switchgnn;
    EACH_PAYLOAD(PAYLOAD_FIELD)
}

#endif
