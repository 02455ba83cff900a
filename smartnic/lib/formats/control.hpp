// SPDX-License-Identifier: Apache-2.0
// Messages on the agent's control socket (offramp.nic.wire, docs/smartnic.md). Written by ci/formats: change it there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace offramp::protocol {

inline constexpr std::uint32_t magic = 0x43494E4F;
inline constexpr std::uint32_t version = 1;
inline constexpr std::uint32_t reply = 32768;
inline constexpr std::uint32_t error = 65535;
inline constexpr std::uint32_t most_body = 4096;
inline constexpr std::uint32_t most_entries = 65536;
inline constexpr std::uint32_t most_ranks = 4096;
inline constexpr std::uint32_t most_pages = 16;
inline constexpr std::uint32_t most_segments = 4;

enum class Kind : std::uint32_t {
    hello = 1,
    map = 2,
    queue = 3,
    tables = 4,
    transport = 5,
    stats = 6,
    coflows = 7,
    upgrade = 8,
    rank = 9,
};

// Flags of a transport.
inline constexpr std::uint32_t acks = 1;
inline constexpr std::uint32_t reupload = 2;
inline constexpr std::uint32_t resume = 4;

// In front of each message; `length` is the body's.
struct Header {
    std::uint32_t magic, kind, length;
};
static_assert(sizeof(Header) == 12);

// The first message of a client.
struct Hello {
    std::uint32_t version;
};
static_assert(sizeof(Hello) == 4);

// Names of functions follow, one per line.
struct HelloReply {
    std::uint32_t version, cores, most_entries, ports;
};
static_assert(sizeof(HelloReply) == 16);

// Memory that the client shares: a memfd, sealed against shrinking, comes with the message.
struct Map {
    std::uint64_t size;
};
static_assert(sizeof(Map) == 8);

// Rings in shared memory.
struct Queue {
    std::uint32_t region, entries;
    std::uint64_t offset;
};
static_assert(sizeof(Queue) == 16);

// Memory that a function of a queue looks things up in.
struct Tables {
    std::uint32_t queue, function, region, zero;
    std::uint64_t offset, length;
    std::uint32_t parameters[4];
};
static_assert(sizeof(Tables) == 48);

// A worker of SwitchGNN on a port. Times are nanoseconds: until a repeat, at most, until failure, between windows.
struct Transport {
    std::uint32_t queue, port, worker, flags, region, window;
    std::uint64_t text_offset, text_length, journal_offset;
    std::int64_t retry, cap, limit, gap;
    double line_bps, loss, duplication;
    std::uint64_t seed;
};
static_assert(sizeof(Transport) == 112);

// An end host of Hermod on a port; the addresses of its ranks are at `offset`, `dscp` is that of control frames.
struct Coflows {
    std::uint32_t queue, port, rank, ranks, region, dscp;
    std::uint64_t offset;
    std::int64_t retry;
    double loss;
    std::uint64_t seed;
};
static_assert(sizeof(Coflows) == 56);

// A rank of all-reduce on a port. Times are nanoseconds: until a repeat, until failure.
struct Rank {
    std::uint32_t queue, port, rank, ranks, job, pages, segments, flight;
    std::int64_t retry, limit;
    double loss;
    std::uint64_t seed;
};
static_assert(sizeof(Rank) == 64);

// From a new agent to the one that it takes the place of; the names of its ports follow, one per line.
struct Upgrade {
    std::uint32_t version;
};
static_assert(sizeof(Upgrade) == 4);

}  // namespace offramp::protocol
