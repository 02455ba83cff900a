// SPDX-License-Identifier: Apache-2.0
// CRC-32 (IEEE 802.3) and CRC-32C (Castagnoli) of 64-bit keys, the lowest byte first.
#pragma once

#include <array>
#include <cstdint>

namespace offramp {

template <std::uint32_t polynomial>
class Crc {
  public:
    [[nodiscard]] static constexpr std::uint32_t of(std::uint64_t key) {
        const std::uint64_t word = key ^ 0xFFFFFFFFu;
        std::uint32_t crc = 0xFFFFFFFFu;
        for (unsigned place = 0; place < 8; ++place) crc ^= tables_[place][word >> (8 * place) & 0xFF];
        return crc;
    }

  private:
    using Table = std::array<std::array<std::uint32_t, 256>, 8>;

    // A byte's contribution to the register when 7 - place more bytes follow.
    static constexpr Table make() {
        Table tables{};
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            std::uint32_t value = byte;
            for (int bit = 0; bit < 8; ++bit) value = (value & 1) ? value >> 1 ^ polynomial : value >> 1;
            tables[7][byte] = value;
        }
        for (unsigned place = 7; place-- > 0;)
            for (unsigned byte = 0; byte < 256; ++byte) {
                const std::uint32_t last = tables[place + 1][byte];
                tables[place][byte] = tables[7][last & 0xFF] ^ last >> 8;
            }
        return tables;
    }

    static constexpr Table tables_ = make();
};

using Crc32 = Crc<0xEDB88320u>;
using Crc32c = Crc<0x82F63B78u>;

}  // namespace offramp
