// SPDX-License-Identifier: Apache-2.0
// State that an agent hands to its successor: sockets, memory and positions of queues, in messages of the control
// protocol whose bodies only agents read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "descriptor.hpp"
#include "protocol.hpp"
#include "queue_state.hpp"

namespace offramp::handover {

// Of everything below, of what is in it, and of what both agents keep in shared memory.
inline constexpr std::uint32_t version = 1;

struct Counts {
    std::uint64_t accepted, cut_off, requests, clients;
    std::uint32_t others, zero;  // whether other users are let in
};

struct Client {
    bool greeted = false;
    std::vector<std::byte> received;  // of a message that is not whole
    std::vector<std::uint64_t> regions;  // bytes of each
    std::vector<QueueState> queues;
};

[[nodiscard]] std::vector<std::byte> pack(const Client& client);
// False where the bytes are none.
[[nodiscard]] bool unpack(Bytes body, Client& client);

// A connection on which two agents wait for each other, not for ever.
class Line {
  public:
    explicit Line(int socket);

    [[nodiscard]] bool send(std::uint32_t kind, Bytes body, std::span<const int> descriptors = {});
    [[nodiscard]] bool receive(std::uint32_t& kind, std::vector<std::byte>& body, std::vector<Descriptor>& descriptors);

  private:
    int socket_;
};

}  // namespace offramp::handover
