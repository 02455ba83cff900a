// SPDX-License-Identifier: Apache-2.0
#include "reflect.hpp"

#include <poll.h>

#include <memory>
#include <vector>

#include "switchgnn/wire.hpp"

namespace offramp {
namespace {

using namespace switchgnn;

constexpr unsigned looks = 4096;  // between looks at `stop`

// Makes of a frame what goes back; false where nothing does.
bool answer(Room frame) {
    Packet packet;
    if (parse(frame, packet) != Parsed::packet) return false;
    if (packet.kind == Kind::data)
        packet.dst = packet.src;
    else if (packet.kind == Kind::done)
        packet.round = next_round(packet.round);
    else
        return false;
    packet.src = no_id;
    write_header(frame.data() + prefix_bytes, packet);
    return true;
}

}  // namespace

bool reflect(Port& port) {
    const bool busy = port.turn_round(answer) > 0;
    port.flush();
    return busy;
}

void reflect(std::vector<std::unique_ptr<Port>>& ports, int stop) {
    for (unsigned look = 1;; ++look) {
        bool busy = false;
        for (auto& port : ports) busy |= reflect(*port);
        pollfd end{stop, POLLIN, 0};
        if (look % looks == 0 && ::poll(&end, 1, busy ? 0 : 1) > 0) return;
    }
}

}  // namespace offramp
