// SPDX-License-Identifier: Apache-2.0
#include "ebs.hpp"

#include <algorithm>

namespace offramp {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t block = 4096, segment = 512;
constexpr std::size_t request_size = 24, answer_size = 16;

enum class Outcome : std::uint32_t { found, no_volume, out_of_range, split, unmapped, wait };

// A line of the table of volumes.
struct Volume {
    std::uint32_t first, spare;
    std::uint64_t blocks, rate, burst, tokens, tick, spare_1, spare_2;
};
static_assert(sizeof(Volume) == 64);

struct Place {
    Outcome outcome;
    std::uint32_t server = 0;
    std::uint64_t address = 0;
};

struct Request {
    std::uint32_t volume, blocks;
    std::uint64_t start, tick;
};
static_assert(sizeof(Request) == request_size);

// Nothing where a table's entry names memory that is not there.
bool find(const EbsTables& tables, const Request& asked, const Volume& volume, Place& place) {
    if (asked.blocks == 0 || asked.blocks > volume.blocks || asked.start > volume.blocks - asked.blocks) {
        place = {Outcome::out_of_range};
        return true;
    }
    const std::uint64_t number = asked.start / segment, within = asked.start % segment;
    if (within + asked.blocks > segment) {
        place = {Outcome::split};
        return true;
    }
    const std::uint64_t entry = volume.first + number;
    if (entry >= tables.entries) return false;
    const std::byte* at = tables.memory.data() + tables.blocks_at() + entry * 8;
    const auto server = load<std::uint32_t>(at), stored = load<std::uint32_t>(at + 4);
    place = {Outcome::unmapped};
    if (stored == 0 || stored > tables.segments) return true;
    const auto base =
        load<std::uint64_t>(tables.memory.data() + tables.addresses_at() + (std::uint64_t{stored} - 1) * 8);
    if (base != 0) place = {Outcome::found, server, base + within * block};
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
    volume.spare_1 = volume.spare_2 = 0;
    return true;
}

}  // namespace

Answer ebs_lookup(const EbsTables& tables, Bytes message, Room answer) {
    if (message.size() != request_size) return {Status::bad_length};
    if (tables.memory.empty()) return {Status::out_of_bounds};
    if (answer.size() < answer_size) return {Status::no_room};
    const auto asked = load<Request>(message.data());
    Place place{Outcome::no_volume};
    if (asked.volume < tables.volumes) {
        std::byte* line = tables.memory.data() + std::uint64_t{asked.volume} * 64;
        auto volume = load<Volume>(line);
        if (volume.blocks != 0) {
            if (!find(tables, asked, volume, place)) return {Status::out_of_bounds};
            if (place.outcome == Outcome::found) {
                if (take(volume, std::uint64_t{asked.blocks} * block, asked.tick))
                    store(line, volume);
                else
                    place = {Outcome::wait};
            }
        }
    }
    store(answer.data(), static_cast<std::uint32_t>(place.outcome));
    store(answer.data() + 4, place.server);
    store(answer.data() + 8, place.address);
    return {Status::ok, answer_size};
}

}  // namespace offramp
