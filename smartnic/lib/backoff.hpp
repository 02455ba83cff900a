// SPDX-License-Identifier: Apache-2.0
// Timing of retransmissions (offramp.backoff).
#pragma once

#include <algorithm>
#include <cstdint>

namespace offramp {

using Time = std::int64_t;  // nanoseconds on the caller's clock

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

}  // namespace offramp
