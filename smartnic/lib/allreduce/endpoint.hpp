// SPDX-License-Identifier: Apache-2.0
// The host side of all-reduce for one rank (offramp.allreduce.endpoint): frames in, frames out.
//
// Chunks of all tensors are numbered through, and chunk n is in slot n modulo the job's slots. A rank has at most half as
// many chunks on their way: it sends n once it has the sums of all up to n less a window. So when anybody takes a slot
// over, everybody has the sum that was there; and what others may still lack, this rank can send again.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "allreduce/tensor_sum.hpp"
#include "backoff.hpp"
#include "bytes.hpp"

namespace offramp::allreduce {

struct Settings {
    std::uint32_t rank, ranks, job;
    std::uint32_t pages, segments;  // of slots; of a packet
    std::uint32_t flight;           // chunks that may be on their way at once; half the slots at most
    std::uint64_t first;            // number of the first chunk, on all ranks
    Time retry;                     // without anything new before what is missing is sent again
};

struct Stats {
    std::uint64_t sent = 0, repeated = 0, results = 0, duplicates = 0, pulls = 0, foreign = 0;
};

class Endpoint {
  public:
    explicit Endpoint(const Settings& settings);

    // Starts to sum a tensor, behind what was begun before.
    void begin(const Tensor& tensor);
    // How many of those that were begun are summed.
    [[nodiscard]] std::uint64_t finished() const { return finished_; }
    [[nodiscard]] bool idle() const { return running_.empty(); }

    // Frames to send now, at most `limit`, side by side until the next call; none where there is nothing to send.
    [[nodiscard]] std::span<const std::byte> outgoing(std::size_t limit);
    void incoming(Bytes frame);
    // Repeats what may have been lost, if nothing new has come for so long.
    void tick(Time now);

    [[nodiscard]] std::size_t frame_bytes() const { return frame_bytes_; }
    [[nodiscard]] const Stats& stats() const { return stats_; }
    // Grows with every packet that told something new.
    [[nodiscard]] std::uint64_t progress() const { return progress_; }
    // Why nothing goes on: ranks sum different tensors, a tensor changed, a sum that its type does not hold. Empty until then.
    [[nodiscard]] const std::string& failure() const { return failure_; }
    // Prefix of errors: this rank, and the tensor that is summed.
    [[nodiscard]] std::string name() const;
    // What is missing, for an error message.
    [[nodiscard]] std::string state() const;

  private:
    using Number = std::int64_t;

    struct Slot {
        std::uint64_t stamp = 0;   // when its frame left, by the count of frames
        Time sent = never;         // and by the clock
        bool received = false;     // its sum is here
        bool again = false;        // its frame is to be repeated
    };
    static constexpr Time never = INT64_MIN / 2;

    [[nodiscard]] Slot& slot(Number number) { return slots_[static_cast<std::size_t>(number) % slots_.size()]; }
    [[nodiscard]] std::byte* frame(Number number) {
        return frames_.data() + static_cast<std::size_t>(number) % slots_.size() * frame_bytes_;
    }
    [[nodiscard]] Number slots() const { return static_cast<Number>(slots_.size()); }
    [[nodiscard]] Number window() const { return slots() / 2; }
    [[nodiscard]] Number sendable();
    [[nodiscard]] Number number_of(std::uint32_t chunk) const;
    std::span<const std::byte> build(Number count);
    std::span<const std::byte> repeat(std::size_t limit);
    void stamp(Number number);
    void take_result(const std::byte* header);
    void take_pull(const std::byte* header);
    bool deliver(Number number, const std::byte* header);
    void find_lost();
    void advance();
    void ask_again(Number number);

    Settings settings_;
    std::size_t frame_bytes_;
    std::vector<Slot> slots_;
    std::vector<std::byte> frames_, repeats_;
    std::uint64_t newest_ = 0, searched_ = 0;  // stamp of the newest chunk whose sum is here; that which was acted on
    Number flight_, base_, next_;  // the first chunk whose sum is missing; the first that was not sent
    std::uint32_t sequence_ = 0;
    std::deque<TensorSum> running_;
    std::deque<Number> starts_;  // their first chunks, as far as they are known
    std::deque<Number> again_;
    std::uint64_t finished_ = 0, progress_ = 0, timed_ = ~std::uint64_t{0};
    std::uint32_t present_ = 0, present_before_ = 0;  // as PULLs say it, since the last time-out and before it
    Backoff timer_;
    Time now_ = 0;
    Stats stats_;
    std::string failure_;
};

}  // namespace offramp::allreduce
