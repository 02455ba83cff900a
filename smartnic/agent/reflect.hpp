// SPDX-License-Identifier: Apache-2.0
// The other end of a link for measurements: answers each upload of SwitchGNN with the result that a switch would send
// if every vertex were its own only neighbour, and each DONE with GO.
#pragma once

#include <vector>

#include "port.hpp"

namespace offramp {

// Answers a burst; whether there was one.
bool reflect(Lane& lane);
// Until `stop` is readable.
void reflect(const std::vector<Lane*>& lanes, int stop);

}  // namespace offramp
