// SPDX-License-Identifier: Apache-2.0
// Queues in shared memory and what is asked on them (offramp.nic.wire). Written by ci/formats: change it there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace offramp::queue {

// Where the counters of a queue are: submissions given and taken, completions given and taken.
inline constexpr std::uint32_t submitted_at = 0;
inline constexpr std::uint32_t taken_at = 64;
inline constexpr std::uint32_t completed_at = 128;
inline constexpr std::uint32_t heard_at = 192;
inline constexpr std::uint32_t rings_at = 256;

// A request on a queue; the answer has room for `answer_room` bytes.
struct Submission {
    std::uint64_t request;
    std::uint32_t function, zero, message_region, answer_region;
    std::uint64_t message_offset, message_length, answer_offset, answer_room, spare;
};
static_assert(sizeof(Submission) == 64);

// How a request ended; `length` is the answer's, `busy_ns` how long the agent worked on it.
struct Completion {
    std::uint64_t request;
    std::uint32_t status, length;
    std::uint64_t busy_ns, spare;
};
static_assert(sizeof(Completion) == 32);

// A part of a function's tables; behind it, of a write, the content.
struct Memory {
    std::uint32_t function, zero;
    std::uint64_t offset, length;
};
static_assert(sizeof(Memory) == 24);

// A round of SwitchGNN; offsets are those of values, sums and scratch memory.
struct Exchange {
    std::uint32_t plan, width, number, zero;
    std::uint64_t values, sums, scratch;
};
static_assert(sizeof(Exchange) == 40);

// A coflow's transfers; the key (8 bytes each), transfers out and in, and pieces follow.
struct Coflow {
    std::uint32_t message;
    std::uint8_t dscp, priority, in_order, keys;
    std::uint32_t outgoing, incoming, pieces, zero;
};
static_assert(sizeof(Coflow) == 24);

// Bytes to or from a peer; a piece's offset is in its transfer.
struct Transfer {
    std::uint32_t peer, zero;
    std::uint64_t offset, length;
};
static_assert(sizeof(Transfer) == 24);

// A tensor to be summed over the ranks: its type (offramp.allreduce.numbers), where its values are and its sums go.
struct Sum {
    std::uint32_t type, region;
    std::uint64_t count, values, sums;
};
static_assert(sizeof(Sum) == 32);

// Where a rank is; the first number of the IPv4 address's dotted form is its highest byte.
struct Address {
    std::array<std::byte, 6> mac;
    std::uint16_t zero;
    std::uint32_t ip, spare;
};
static_assert(sizeof(Address) == 16);

}  // namespace offramp::queue
