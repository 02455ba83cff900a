// SPDX-License-Identifier: Apache-2.0
// How requests end; the numbers are those of offramp.device.Status, and two that never reach an application.
#pragma once

#include <cstddef>
#include <cstdint>

namespace offramp {

enum class Status : std::uint32_t {
    ok = 0,
    unknown_function = 1,
    bad_length = 2,
    out_of_bounds = 3,
    aborted = 4,
    failed = 5,
    no_room = 64,  // the answer is longer than the room that the host left for it
    pending = 65,  // it will be completed later
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
};

struct Answer {
    Status status;
    std::size_t length = 0;  // bytes
};

}  // namespace offramp
