// SPDX-License-Identifier: Apache-2.0
// Position of a queue between two requests: enough to continue it in another process that has its memory.
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
