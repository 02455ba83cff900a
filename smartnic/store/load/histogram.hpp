// SPDX-License-Identifier: Apache-2.0
// Times in buckets that are 1/32 of their value wide.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace offramp::store::load {

class Histogram {
  public:
    void add(std::uint64_t ns) {
        ++counts_[place(ns)];
        ++total_;
    }
    // The time that `part` of all are not above.
    [[nodiscard]] double quantile(double part) const {
        const auto wanted = static_cast<std::uint64_t>(part * static_cast<double>(total_));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i)
            if ((seen += counts_[i]) > wanted) return value(i);
        return 0;
    }

    // Each time that occurred, in ns, and how often.
    template <typename Visit>
    void each(Visit visit) const {
        for (std::size_t i = 0; i < counts_.size(); ++i)
            if (counts_[i] > 0) visit(value(i), counts_[i]);
    }

  private:
    static constexpr unsigned bits = 5;

    static std::size_t place(std::uint64_t ns) {
        if (ns < 1u << bits) return ns;
        const unsigned shift = static_cast<unsigned>(std::bit_width(ns)) - bits - 1;
        return (std::size_t{shift} << bits) + (ns >> shift);
    }
    static double value(std::size_t place) {
        if (place < 2u << bits) return static_cast<double>(place);
        const std::size_t shift = (place >> bits) - 1;
        return (static_cast<double>((place & ((1u << bits) - 1)) + (1u << bits)) + 0.5) * static_cast<double>(std::uint64_t{1} << shift);
    }

    std::array<std::uint64_t, 60u << bits> counts_{};
    std::uint64_t total_ = 0;
};

}  // namespace offramp::store::load
