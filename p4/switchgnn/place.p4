/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OFFRAMP_SWITCHGNN_PLACE_P4
#define OFFRAMP_SWITCHGNN_PLACE_P4
#include "types.p4"

// Role of this switch among several: a leaf adds up what its rack contributes and joins the partial sums of other
// racks for its own vertices; a spine passes on. Without an entry it is the only switch.
control Place(inout switchgnn_metadata_t meta) {
    action leaf(bit<4> index) {
        meta.two_level = 1;
        meta.leaf = index;
    }

    action spine() {
        meta.two_level = 1;
        meta.transit = 1;
    }

    table levels {
        actions = { leaf; spine; NoAction; }
        default_action = NoAction();
    }

    apply {
        levels.apply();
    }
}

#endif
