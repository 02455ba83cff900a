// SPDX-License-Identifier: Apache-2.0
#include "kvs.hpp"

#include "crc.hpp"
#include "formats/functions.hpp"

namespace offramp {
namespace {

using formats::line;
using formats::slot;
constexpr std::size_t word = 8;

std::uint64_t in_bucket(const std::byte* bucket, std::uint64_t key) {
    for (std::size_t at = 0; at < line; at += slot) {
        const auto address = load<std::uint64_t>(bucket + at + word);
        if (address != 0 && load<std::uint64_t>(bucket + at) == key) return address;
    }
    return 0;
}

}  // namespace

Answer kvs_lookup(const KvsTable& table, Bytes message, Room answer) {
    if (message.size() != word) return {Status::bad_length};
    if (table.buckets == 0) return {Status::out_of_bounds};
    if (answer.size() < word) return {Status::no_room};
    const auto key = load<std::uint64_t>(message.data());
    const std::uint64_t mask = table.buckets - 1;
    auto address = in_bucket(table.memory.data() + (Crc32c::of(key) & mask) * line, key);
    if (address == 0) address = in_bucket(table.memory.data() + (Crc32::of(key) & mask) * line, key);
    store(answer.data(), address);
    return {Status::ok, word};
}

}  // namespace offramp
