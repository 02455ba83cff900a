// SPDX-License-Identifier: Apache-2.0
// The control protocol (docs/smartnic.md): messages of a 12-byte header and a body, all little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "bytes.hpp"
#include "formats/allreduce.hpp"
#include "formats/control.hpp"
#include "formats/queue.hpp"
#include "status.hpp"

namespace offramp::protocol {

struct Stats {};  // without a body

struct Takeover {
    std::uint32_t version;
    std::string ports;
};

using Message = std::variant<Hello, Map, Queue, Tables, Transport, Stats, Coflows, Rank, Takeover>;

// Reads a body; returns false and the reason if it is no message. `descriptors` came with it.
[[nodiscard]] bool parse(std::uint32_t kind, Bytes body, std::size_t descriptors, Message& message, std::string& error);

// Bytes that a queue's rings take: counters, submissions, completions.
[[nodiscard]] constexpr std::uint64_t queue_bytes(std::uint64_t entries) {
    return queue::rings_at + entries * (sizeof(queue::Submission) + sizeof(queue::Completion));
}

}  // namespace offramp::protocol
