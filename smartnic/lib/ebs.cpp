// SPDX-License-Identifier: Apache-2.0
#include "ebs.hpp"

#include <algorithm>

#include "formats/functions.hpp"

namespace offramp {
namespace {

__extension__ using Wide = unsigned __int128;

using formats::block;
using formats::Outcome;
using formats::Place;
using formats::Request;
using formats::segment;
using formats::Volume;

Place ended(Outcome outcome) {
    return {static_cast<std::uint32_t>(outcome), 0, 0};
}

// Returns nothing if a table's entry names memory that does not exist.
bool find(const EbsTables& tables, const Request& asked, const Volume& volume, Place& place) {
    if (asked.blocks == 0 || asked.blocks > volume.blocks || asked.start > volume.blocks - asked.blocks) {
        place = ended(Outcome::out_of_range);
        return true;
    }
    const std::uint64_t number = asked.start / segment, within = asked.start % segment;
    if (within + asked.blocks > segment) {
        place = ended(Outcome::split);
        return true;
    }
    const std::uint64_t entry = volume.first + number;
    if (entry >= tables.entries) return false;
    const std::byte* at = tables.memory.data() + tables.blocks_at() + entry * 8;
    const auto server = load<std::uint32_t>(at), stored = load<std::uint32_t>(at + 4);
    place = ended(Outcome::unmapped);
    if (stored == 0 || stored > tables.segments) return true;
    const auto base =
        load<std::uint64_t>(tables.memory.data() + tables.addresses_at() + (std::uint64_t{stored} - 1) * 8);
    if (base != 0) place = {static_cast<std::uint32_t>(Outcome::found), server, base + within * block};
    return true;
}

bool take(Volume& volume, std::uint64_t tokens, std::uint64_t tick) {
    const std::uint64_t now = std::max(tick, volume.tick);
    const std::uint64_t passed = std::min<std::uint64_t>(now - volume.tick, 0xFFFFFFFFu);
    const Wide held = std::min<Wide>(volume.burst, volume.tokens + Wide{passed} * volume.rate);
    if (held < tokens) return false;
    volume.tokens = static_cast<std::uint64_t>(held) - tokens;
    volume.tick = now;
    volume.spare = 0;
    volume.spares[0] = volume.spares[1] = 0;
    return true;
}

}  // namespace

Answer ebs_lookup(const EbsTables& tables, Bytes message, Room answer) {
    if (message.size() != sizeof(Request)) return {Status::bad_length};
    if (tables.memory.empty()) return {Status::out_of_bounds};
    if (answer.size() < sizeof(Place)) return {Status::no_room};
    const auto asked = load<Request>(message.data());
    Place place = ended(Outcome::no_volume);
    if (asked.volume < tables.volumes) {
        std::byte* line = tables.memory.data() + std::uint64_t{asked.volume} * sizeof(Volume);
        auto volume = load<Volume>(line);
        if (volume.blocks != 0) {
            if (!find(tables, asked, volume, place)) return {Status::out_of_bounds};
            if (place.outcome == static_cast<std::uint32_t>(Outcome::found)) {
                if (take(volume, std::uint64_t{asked.blocks} * block, asked.tick))
                    store(line, volume);
                else
                    place = ended(Outcome::wait);
            }
        }
    }
    store(answer.data(), place);
    return {Status::ok, sizeof(Place)};
}

}  // namespace offramp
