// SPDX-License-Identifier: Apache-2.0
// What every device is to the host (offramp.device, offramp.nic.wire). Written by ci/formats: change it there.
#pragma once

#include <cstdint>

namespace offramp {

// How requests end. The last two never reach an application: an answer that is longer than the
// room for it, and one that comes later.
enum class Status : std::uint32_t {
    ok = 0,
    unknown_function = 1,
    bad_length = 2,
    out_of_bounds = 3,
    aborted = 4,
    failed = 5,
    no_room = 64,
    pending = 65,
};

// The numbers of functions on a queue.
enum class Function : std::uint32_t {
    kvs_lookup = 0,
    ebs_lookup = 1,
    reduce = 2,
    compress = 3,
    decompress = 4,
    quantise = 5,
    dequantise = 6,
    features_select = 7,
    echo = 8,
    memory_write = 16,
    memory_read = 17,
    switchgnn_start = 32,
    switchgnn_exchange = 33,
    hermod_exchange = 48,
    allreduce = 64,
};

}  // namespace offramp
