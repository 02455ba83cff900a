// SPDX-License-Identifier: Apache-2.0
#include "features.hpp"

#include "formats/functions.hpp"

#include <vector>

namespace offramp {
namespace {

constexpr std::size_t word = 4;

}  // namespace

Answer features_select(const FeatureTable& table, Bytes message, Room answer) {
    constexpr std::size_t header = sizeof(formats::SelectHeader);
    if (message.size() < header) return {Status::bad_length};
    const auto asked = load<formats::SelectHeader>(message.data());
    const std::uint64_t rows = asked.rows, columns = asked.columns;
    if (message.size() != header + (rows + columns) * word) return {Status::bad_length};
    const std::byte* at = message.data() + header;
    // Numbers are read once: the host may write them while they are looked at.
    std::vector<std::uint64_t> chosen(columns != 0 ? columns : table.columns);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        chosen[i] = columns != 0 ? load<std::uint32_t>(at + (rows + i) * word) : i;
        if (chosen[i] >= table.columns) return {Status::out_of_bounds};
    }
    const std::uint64_t row_bytes = chosen.size() * word;
    if (row_bytes != 0 && rows > answer.size() / row_bytes) {
        for (std::uint64_t row = 0; row < rows; ++row)
            if (load<std::uint32_t>(at + row * word) >= table.rows) return {Status::out_of_bounds};
        return {Status::no_room};
    }
    std::byte* into = answer.data();
    for (std::uint64_t row = 0; row < rows; ++row) {
        const std::uint64_t number = load<std::uint32_t>(at + row * word);
        if (number >= table.rows) return {Status::out_of_bounds};
        const std::byte* from = table.memory.data() + number * table.columns * word;
        if (columns == 0) {
            std::memcpy(into, from, row_bytes);
            into += row_bytes;
            continue;
        }
        for (const auto column : chosen) {
            std::memcpy(into, from + column * word, word);
            into += word;
        }
    }
    return {Status::ok, static_cast<std::size_t>(rows * row_bytes)};
}

}  // namespace offramp
