// SPDX-License-Identifier: Apache-2.0
// The host side of SwitchGNN's protocol for one worker (offramp.switchgnn.endpoint): frames in, frames out.
//
// The features that it uploads and the sums lie in the host's memory, as does a journal of one word. With these an
// agent that was started anew goes on in the middle of an exchange: the switch drops what was uploaded before, and sums
// that were lost with the old agent are fetched as if the network had lost them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "switchgnn/plan.hpp"
#include "switchgnn/reception.hpp"
#include "switchgnn/recovery.hpp"
#include "formats/stats.hpp"

namespace offramp::switchgnn {

// One exchange's arrays, in memory that others may write at any time: that spoils their own sums only.
struct Exchange {
    std::uint32_t plan = 0, width = 0;  // features of a row
    std::uint32_t number = 0;           // of this exchange among those of the worker, from 1
    const std::byte* values = nullptr;  // (boundary, width) int32
    std::int64_t* sums = nullptr;       // (boundary, width)
    std::int64_t* scratch = nullptr;    // (vertices whose row several blocks have, width)
};

// Values of the journal's word.
struct Journal {
    std::uint16_t round = 0;
    bool waiting = false;        // DONE was sent for this round, GO has not come
    bool complete = false;       // the exchange is over and its sums are with the host
    std::uint16_t exchange = 0;  // number of the exchange that began last, modulo 2^14
    std::uint32_t finished = 0;  // blocks of the exchange whose sums are in the scratch memory

    static constexpr std::uint32_t exchanges = 1 << 14;

    [[nodiscard]] std::uint64_t word() const {
        return std::uint64_t{round} | std::uint64_t{waiting} << 16 | std::uint64_t{complete} << 17 |
               std::uint64_t{exchange % exchanges} << 18 | std::uint64_t{finished} << 32;
    }
    static Journal of(std::uint64_t word) {
        return {static_cast<std::uint16_t>(word), (word >> 16 & 1) != 0, (word >> 17 & 1) != 0,
                static_cast<std::uint16_t>(word >> 18 & (exchanges - 1)), static_cast<std::uint32_t>(word >> 32)};
    }
};

class Endpoint {
  public:
    Endpoint(std::uint32_t worker, std::vector<Plan> plans, Recovery recovery, std::uint64_t* journal);

    // Joins the start barrier; after a restart of the agent, unless this worker has passed it.
    void start();
    // Starts an exchange whose arrays fit `plans()[exchange.plan]`, or goes on with it where the journal says; false
    // where that speaks of another one.
    [[nodiscard]] bool begin(const Exchange& exchange);
    // Believes the journal that an earlier agent left; to be called first.
    void resume();

    void incoming(Bytes frame);
    // Writes the next frame to send, at most `most_bytes` long; 0 where there is none.
    [[nodiscard]] std::size_t outgoing(std::byte* frame);
    [[nodiscard]] bool has_outgoing() const {
        return reply_at_ < replies_.size() || upload_at_ < uploads_.size() || !control_.empty();
    }
    // To be called when nothing is left to send: repeats what may have been lost.
    void tick(Time now);

    // Whether every block of the exchange is complete, here and (not waiting) everywhere.
    [[nodiscard]] bool finished() const { return next_ >= blocks() && !reception_; }
    [[nodiscard]] bool waiting() const { return waiting_; }
    // Adds up the blocks' sums once an exchange is finished everywhere.
    void collect();

    [[nodiscard]] const std::vector<Plan>& plans() const { return plans_; }
    [[nodiscard]] const Stats& stats() const { return stats_; }
    // Grows with every packet that told something new.
    [[nodiscard]] std::uint64_t progress() const { return progress_; }
    // Describes what this worker waits for, for an error message.
    [[nodiscard]] std::string state() const;

  private:
    // A vertex of the block and a chunk of its features.
    struct Upload {
        std::uint32_t vertex, chunk;
    };
    struct Reply {
        Packet packet;
        Upload of;  // whose features are its payload
    };

    [[nodiscard]] std::size_t blocks() const { return running_ ? plan().blocks.size() : 0; }
    [[nodiscard]] const Plan& plan() const { return plans_[exchange_.plan]; }
    [[nodiscard]] const Block& block() const { return plan().blocks[current_]; }
    void take_go(const Packet& packet);
    void take_round(const Packet& packet, Bytes frame);
    void serve(const Packet& packet);
    void acknowledge_news();
    void answer(const Packet& fetch);
    void fetch_missing(bool anew);
    bool acknowledge(const Packet& ack);
    void enter(std::uint16_t round);
    void next_block();
    void transmit(std::size_t number);
    void upload_all();
    void upload_silent();
    void check_complete();
    void complete_round();
    void finish_round();
    void say_done();
    void note();
    void count(LinkCounts& link, std::size_t length, std::uint8_t chunk, bool payload);
    void payload(std::byte* frame, Upload of) const;

    std::uint32_t worker_;
    Builder builder_;
    std::vector<Plan> plans_;
    Recovery recovery_;
    std::uint64_t* journal_;
    Stats stats_;

    std::uint16_t round_ = 0;
    bool waiting_ = false, running_ = false, first_pass_ = false, strayed_ = false;
    std::uint16_t stray_round_ = 0, block_id_ = 0;
    std::uint64_t progress_ = 0, timed_ = 0;
    Exchange exchange_;
    std::size_t next_ = 0, current_ = 0;  // the block that begins next; that of this round
    bool transmitting_ = false;           // the features of `current_` are answerable
    bool resumed_ = false, complete_ = false;
    std::unique_ptr<Reception> reception_;
    std::vector<std::uint8_t> acked_;  // the send bitmaps, by edge of the readers and chunk
    std::vector<Reply> replies_;
    std::vector<Upload> uploads_;         // in order
    std::size_t reply_at_ = 0, upload_at_ = 0;
    std::vector<Packet> control_;
    static constexpr std::size_t remembered = 64;
    std::deque<Packet> said_;     // DONE of the last rounds that were finished here
    std::size_t repeats_ = 0;     // since something new came
    static constexpr std::size_t fetches = 256;  // that wait for their answers: more at once would come back in bursts
    bool fetching_ = false;        // there may be more to fetch than was asked for
    std::size_t unanswered_ = 0;  // FETCHes since the last time-out
    std::vector<std::array<std::byte, most_bytes>> early_;  // of this round, before its block began here
    std::array<std::uint64_t, 256> ahead_{};                // payloads by chunk, of the exchange that begins next
    Backoff soft_, hard_;
    std::vector<Packet> packets_;
};

}  // namespace offramp::switchgnn
