// SPDX-License-Identifier: Apache-2.0
// One of several shards that clients see as redis' cluster: each serves a part of the 16,384 slots that keys hash to.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace offramp::store {

struct Cluster {
    static constexpr unsigned slots = 16'384;

    std::vector<std::uint16_t> ports;  // of all shards; none: there is no cluster
    unsigned self = 0;
    std::string id;  // of the cluster

    [[nodiscard]] bool on() const { return !ports.empty(); }
    [[nodiscard]] unsigned first_slot(std::size_t shard) const { return static_cast<unsigned>((slots * shard + ports.size() - 1) / ports.size()); }
    [[nodiscard]] unsigned shard_of(unsigned slot) const { return static_cast<unsigned>(slot * ports.size() / slots); }
    // 40 hexadecimal digits.
    [[nodiscard]] std::string node(std::size_t shard) const {
        std::string number;
        for (int shift = 28; shift >= 0; shift -= 4) number.push_back("0123456789abcdef"[shard >> shift & 15]);
        return id + number;
    }

    // CRC-16/XMODEM of the key, or of what is between its first braces.
    [[nodiscard]] static unsigned slot_of(std::string_view key) {
        if (const std::size_t open = key.find('{'); open != std::string_view::npos) {
            const std::size_t close = key.find('}', open + 1);
            if (close != std::string_view::npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
        }
        unsigned remainder = 0;
        for (const char each : key) remainder = (remainder << 8 ^ table[(remainder >> 8 ^ static_cast<unsigned char>(each)) & 0xFF]) & 0xFFFF;
        return remainder % slots;
    }

  private:
    static constexpr auto table = [] {
        std::array<std::uint16_t, 256> remainders{};
        for (unsigned byte = 0; byte < 256; ++byte) {
            unsigned value = byte << 8;
            for (int bit = 0; bit < 8; ++bit) value = (value & 0x8000) != 0 ? value << 1 ^ 0x1021 : value << 1;
            remainders[byte] = static_cast<std::uint16_t>(value);
        }
        return remainders;
    }();
};

}  // namespace offramp::store
