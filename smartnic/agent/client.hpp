// SPDX-License-Identifier: Apache-2.0
// A client as the control socket knows it.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "control.hpp"

namespace offramp {

struct Control::Client {
    Descriptor socket;
    std::vector<std::byte> received;
    std::deque<Descriptor> descriptors;
    std::vector<std::shared_ptr<Region>> regions;
    std::vector<std::pair<std::shared_ptr<Queue>, Core*>> queues;
    bool greeted = false;
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

}  // namespace offramp
