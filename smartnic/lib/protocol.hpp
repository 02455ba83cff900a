// SPDX-License-Identifier: Apache-2.0
// The control protocol (docs/smartnic.md): messages of a 12-byte header and a body, all little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "bytes.hpp"
#include "status.hpp"

namespace offramp::protocol {

inline constexpr std::uint32_t magic = 0x43494E4F;  // "ONIC"
inline constexpr std::uint32_t version = 1;
inline constexpr std::size_t header_size = 12;  // magic, kind, bytes of the body
inline constexpr std::uint32_t most_body = 4096;
inline constexpr std::uint32_t reply = 0x8000, error = 0xFFFF;
inline constexpr std::uint32_t most_entries = 65536;  // of a queue's rings

enum class Kind : std::uint32_t { hello = 1, map = 2, queue = 3, tables = 4, transport = 5, stats = 6, coflows = 7 };

struct Hello {
    std::uint32_t version;
};
// Memory that the client shares: a memfd, sealed against shrinking, comes with the message.
struct Map {
    std::uint64_t size;
};
struct Queue {
    std::uint32_t region, entries;
    std::uint64_t offset;
};
struct Tables {
    std::uint32_t queue, function, region, zero;
    std::uint64_t offset, length;
    std::uint32_t parameters[4];
};
// A worker of SwitchGNN on a port. Times are nanoseconds.
struct Transport {
    std::uint32_t queue, port, worker, flags, region, window;
    std::uint64_t text_offset, text_length, journal_offset;
    std::int64_t retry, cap, limit, gap;
    double line_bps, loss, duplication;
    std::uint64_t seed;

    static constexpr std::uint32_t acks = 1, reupload = 2, resume = 4;
};
struct Stats {};
// An end host of Hermod on a port; the addresses of its ranks are at `offset`.
struct Coflows {
    std::uint32_t queue, port, rank, ranks, region, dscp;
    std::uint64_t offset;
    std::int64_t retry;
    double loss;
    std::uint64_t seed;

    static constexpr std::uint32_t most_ranks = 4096;
};

using Message = std::variant<Hello, Map, Queue, Tables, Transport, Stats, Coflows>;

struct Header {
    std::uint32_t magic, kind, length;
};
static_assert(sizeof(Header) == header_size);

// Reads a body; false, and why, where it is no message. `descriptors` came with it.
[[nodiscard]] bool parse(std::uint32_t kind, Bytes body, std::size_t descriptors, Message& message, std::string& why);

// Bytes that a queue's rings take: counters, submissions, completions.
[[nodiscard]] constexpr std::uint64_t queue_bytes(std::uint64_t entries) {
    return 256 + entries * (64 + 32);
}

}  // namespace offramp::protocol
