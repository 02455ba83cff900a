// SPDX-License-Identifier: Apache-2.0
// How long to look for work before sleeping: as long as it pays, which is measured.
//
// Sleeping and being woken costs one or two microseconds of processor time. Looking pays where the next work is expected
// within that time; the expectation is a running mean of how long it took lately. Where it takes longer, processor time
// is worth more to whoever makes the work.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace offramp::store {

class Pacer {
  public:
    explicit Pacer(std::int64_t most_us) : most_ns_(most_us * 1000) {}

    [[nodiscard]] static std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

    // How long to look for work, ns; 0: sleep at once.
    [[nodiscard]] std::int64_t look_ns() const {
        return mean_ns_ <= sleep_ns ? std::min(most_ns_, 2 * sleep_ns) : 0;
    }
    // Work has come this long after the last of it was done.
    void came(std::int64_t after_ns) {
        if (after_ns > longest) after_ns = longest;
        mean_ns_ += (after_ns - mean_ns_) / 8;
    }

  private:
    static constexpr std::int64_t sleep_ns = 1'500, longest = 100'000;

    std::int64_t most_ns_, mean_ns_ = longest;
};

}  // namespace offramp::store
