// SPDX-License-Identifier: Apache-2.0
// A queue's two rings in shared memory. The other side may write anything there at any time: counters and entries are
// read once, and what is owned here is kept here.
#pragma once

#include <atomic>
#include <memory>

#include "protocol.hpp"
#include "region.hpp"

namespace offramp {

using queue::Completion;
using queue::Submission;

class Rings {
  public:
    enum class Next { none, entry, lie };

    // `taken` submissions and `given` completions have passed before.
    Rings(const Region& region, std::uint64_t offset, std::uint32_t entries, std::uint64_t taken, std::uint64_t given)
        : base_(region.data() + offset), entries_(entries), taken_(taken), given_(given) {}

    // The next submission; `lie` where the client's counter says that there are more than fit.
    Next take(Submission& entry) {
        const std::uint64_t tail = counter(queue::submitted_at).load(std::memory_order_acquire);
        if (tail == taken_) return Next::none;
        if (tail - taken_ > entries_) return Next::lie;
        entry = load<Submission>(base_ + queue::rings_at + (taken_ & (entries_ - 1)) * sizeof(Submission));
        counter(queue::taken_at).store(++taken_, std::memory_order_release);
        return Next::entry;
    }
    // Whether a completion can be put; a client that does not take them holds itself back only.
    [[nodiscard]] bool room() const { return given_ - counter(queue::heard_at).load(std::memory_order_acquire) < entries_; }
    void put(const Completion& entry) {
        store(base_ + queue::rings_at + entries_ * sizeof(Submission) + (given_ & (entries_ - 1)) * sizeof(Completion), entry);
        counter(queue::completed_at).store(++given_, std::memory_order_release);
    }

    [[nodiscard]] std::uint64_t taken() const { return taken_; }
    [[nodiscard]] std::uint64_t given() const { return given_; }

  private:
    [[nodiscard]] std::atomic_ref<std::uint64_t> counter(std::size_t at) const {
        return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(base_ + at));
    }

    std::byte* base_;
    std::uint64_t entries_, taken_, given_;
};

}  // namespace offramp
