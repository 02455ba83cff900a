// SPDX-License-Identifier: Apache-2.0
// When a worker repeats what may have been lost, and how fast it sends (offramp.switchgnn.recovery and .rate).
// Times are nanoseconds on the caller's clock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace offramp::switchgnn {

using Time = std::int64_t;

struct Recovery {
    Time timeout = 1'000'000'000, cap = 8'000'000'000;
    bool acks = false, reupload = false;
};

// A time-out that doubles whenever it fires, up to a cap.
class Backoff {
  public:
    Backoff(Time first, Time cap) : first_(first), cap_(cap), interval_(first) {}
    void restart() {
        interval_ = first_;
        due_ = never;
    }
    [[nodiscard]] bool fires(Time now) {
        if (due_ == never) due_ = now + interval_;
        if (now < due_) return false;
        interval_ = std::min(2 * interval_, cap_);
        due_ = now + interval_;
        return true;
    }

  private:
    static constexpr Time never = INT64_MIN;
    Time first_, cap_, interval_, due_ = never;
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
