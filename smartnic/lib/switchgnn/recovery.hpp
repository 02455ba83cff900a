// SPDX-License-Identifier: Apache-2.0
// Timing of a worker's retransmissions, and its sending rate (offramp.switchgnn.recovery and .rate).
#pragma once

#include <algorithm>
#include <cstdint>

#include "backoff.hpp"

namespace offramp::switchgnn {

struct Recovery {
    Time timeout = 1'000'000'000, cap = 8'000'000'000;
    bool acks = false, reupload = false;
};

// The rate of uploads: halved where the switch marks congestion, raised again step by step, as DCQCN has it.
class Rate {
  public:
    explicit Rate(double line_bps) : rate_(line_bps), line_(line_bps), floor_(std::min(1e8, line_bps)) {}
    void mark(Time now) {
        advance(now);
        if (cut_ != never && now - cut_ < guard) return;
        rate_ = std::max(rate_ / 2, floor_);
        cut_ = raised_ = now;
    }
    [[nodiscard]] double ns_per_byte(Time now) {
        advance(now);
        return 8e9 / rate_;
    }
    [[nodiscard]] double bps() const { return rate_; }

  private:
    static constexpr Time never = INT64_MIN, guard = 50'000, period = 55'000;
    static constexpr double step = 5e9;

    void advance(Time now) {
        if (raised_ == never) raised_ = now;
        const Time steps = (now - raised_) / period;
        if (steps > 0) {
            raised_ += steps * period;
            rate_ = std::min(rate_ + static_cast<double>(steps) * step, line_);
        }
    }

    double rate_, line_, floor_;
    Time cut_ = never, raised_ = never;
};

}  // namespace offramp::switchgnn
