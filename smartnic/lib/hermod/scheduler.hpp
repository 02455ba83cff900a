// SPDX-License-Identifier: Apache-2.0
// Chooses the next frame, exactly like offramp.hermod.endhost.scheduler (thesis, section 5.4).
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "bytes.hpp"

namespace offramp::hermod {

struct Coflow;

// Bytes for a peer; `ready` when it waits for them.
struct Outgoing {
    std::uint32_t peer = 0, message = 0;
    const std::byte* data = nullptr;
    std::uint64_t size = 0;
    Coflow* coflow = nullptr;
    bool ready = false;
    std::uint64_t sent = 0;     // up to here each byte was sent once
    std::uint64_t repeats = 0;  // pieces that are sent again
    bool idle = false;          // nothing has happened since the last look
};

// A stretch of a transfer that is sent without a look at the coflow's other transfers.
struct Piece {
    Outgoing* outgoing;
    std::uint64_t start, stop;
    bool again = false;
};

// Transfers of one collective. `key` and `number`: smaller goes first; of one `in_order` only the first piece may go.
struct Coflow {
    std::vector<std::int64_t> key;
    std::uint64_t number = 0;
    bool in_order = false;
    std::uint8_t dscp = 0, place = 0;
    std::deque<Piece> pieces;
    std::uint64_t request = 0;   // the host's
    std::uint32_t open = 0;      // transfers that are not over
};

using Lane = std::pair<std::uint32_t, std::uint8_t>;  // peer and DSCP

// A priority queue of coflows. The most urgent one that can send does. One below it may send only to peers that no
// coflow above is ready to send to.
class Scheduler {
  public:
    struct Choice {
        Coflow* coflow = nullptr;
        std::size_t place = 0;  // of the piece

        [[nodiscard]] Piece& piece() const { return coflow->pieces[place]; }
        explicit operator bool() const { return coflow != nullptr; }
    };

    // Lets a coflow take part while it has pieces; one that does already stays where it is.
    void add(Coflow& coflow);
    // The piece whose next frame goes now; `blocked`: lanes that take nothing at the moment.
    [[nodiscard]] Choice next(const std::vector<Lane>& blocked = {});
    // Records bytes sent; the next frame of its coflow is from another piece, if any.
    void sent(const Choice& choice, std::uint64_t count);
    void remove(const Coflow& coflow);
    [[nodiscard]] bool empty() const { return coflows_.empty(); }

  private:
    std::vector<Coflow*> coflows_;  // the most urgent first
    std::vector<std::uint32_t> busy_;
};

}  // namespace offramp::hermod
