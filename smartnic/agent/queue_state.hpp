// SPDX-License-Identifier: Apache-2.0
// Where a queue stands between two requests: enough to go on with it in another process that has its memory.
#pragma once

#include <optional>
#include <vector>

#include "protocol.hpp"

namespace offramp {

struct QueueState {
    protocol::Queue asked{};
    std::uint64_t taken = 0, given = 0;  // submissions and completions
    std::uint64_t requests = 0;
    std::vector<protocol::Tables> tables;
    std::optional<protocol::Transport> transport;
    std::vector<std::uint64_t> counts;  // of the transport
    std::optional<queue::Submission> unfinished;  // which is to be begun again
};

}  // namespace offramp
