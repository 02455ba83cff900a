// SPDX-License-Identifier: Apache-2.0
#include "reflect.hpp"

#include <poll.h>

#include <memory>
#include <vector>

#include "switchgnn/wire.hpp"

namespace offramp {
namespace {

using namespace switchgnn;

constexpr unsigned looks = 4096;   // between looks at `stop`
constexpr unsigned patience = 256;  // looks in vain before it sleeps

// Returns a frame to its sender. The sum over a header stays the same when its addresses change places.
void send_back(std::byte* frame) {
    const std::uint64_t from_mac = ethernet::src_addr(frame);
    ethernet::src_addr.set(frame, ethernet::dst_addr(frame));
    ethernet::dst_addr.set(frame, from_mac);
    std::byte* ip = frame + ethernet::size;
    const std::uint64_t from_ip = ipv4::src_addr(ip);
    ipv4::src_addr.set(ip, ipv4::dst_addr(ip));
    ipv4::dst_addr.set(ip, from_ip);
}

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
    send_back(frame.data());
    return true;
}

}  // namespace

bool reflect(Lane& lane) {
    const bool busy = lane.turn_round(answer) > 0;
    lane.flush();
    return busy;
}

void reflect(const std::vector<Lane*>& lanes, int stop) {
    unsigned vain = 0;
    for (unsigned look = 1;; ++look) {
        bool busy = false;
        for (Lane* lane : lanes) busy |= reflect(*lane);
        vain = busy ? 0 : vain + 1;
        const bool idle = vain >= patience;
        if (look % looks != 0 && !idle) continue;
        // As long as the agent's cores, so that both ends can share a processor.
        const timespec pause{0, idle ? 20'000 : 0};
        pollfd end{stop, POLLIN, 0};
        if (::ppoll(&end, 1, &pause, nullptr) > 0) return;
    }
}

}  // namespace offramp
