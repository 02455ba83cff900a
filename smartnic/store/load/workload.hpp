// SPDX-License-Identifier: Apache-2.0
// Workloads of a load generator: YCSB's (Cooper et al., SoCC 2010), and reads alone.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string_view>

namespace offramp::store::load {

enum class Operation { read, update, insert, scan, modify };

struct Mix {
    char name;
    double read, update, insert, scan, modify;
    bool latest;  // reads prefer what was inserted last
};

constexpr Mix mixes[] = {
    {'A', 0.5, 0.5, 0, 0, 0, false},  {'B', 0.95, 0.05, 0, 0, 0, false}, {'C', 1, 0, 0, 0, 0, false},
    {'D', 0.95, 0, 0.05, 0, 0, true}, {'E', 0, 0, 0.05, 0.95, 0, false}, {'F', 0.5, 0, 0, 0, 0.5, false},
};
constexpr unsigned longest_scan = 100;

// Numbers by Zipf's law with exponent 0.99 (Gray et al., SIGMOD 1994), as YCSB draws them.
class Zipf {
  public:
    explicit Zipf(std::uint64_t count) : count_(count) {
        for (std::uint64_t i = 1; i <= count; ++i) zeta_ += std::pow(static_cast<double>(i), -theta);
        const double two = 1 + std::pow(2.0, -theta);
        eta_ = (1 - std::pow(2.0 / static_cast<double>(count), 1 - theta)) / (1 - two / zeta_);
    }
    template <typename Random>
    std::uint64_t operator()(Random& random) const {
        const double drawn = std::uniform_real_distribution<double>()(random), scaled = drawn * zeta_;
        if (scaled < 1) return 0;
        if (scaled < 1 + std::pow(0.5, theta)) return 1 < count_ ? 1 : 0;
        const double rank = static_cast<double>(count_) * std::pow(eta_ * drawn - eta_ + 1, 1 / (1 - theta));
        return std::min(static_cast<std::uint64_t>(rank), count_ - 1);
    }

  private:
    static constexpr double theta = 0.99;
    std::uint64_t count_;
    double zeta_ = 0, eta_ = 0;
};

class Workload {
  public:
    Workload(const Mix& mix, std::uint64_t records, std::uint64_t seed)
        : mix_(mix), records_(records), zipf_(records), first_(records), random_(seed) {}

    Operation operation() {
        double drawn = std::uniform_real_distribution<double>()(random_);
        if ((drawn -= mix_.read) < 0) return Operation::read;
        if ((drawn -= mix_.update) < 0) return Operation::update;
        if ((drawn -= mix_.insert) < 0) return Operation::insert;
        return (drawn - mix_.scan) < 0 ? Operation::scan : Operation::modify;
    }
    // A record that is there.
    std::uint64_t record() {
        const std::uint64_t rank = zipf_(random_);
        if (mix_.latest) return inserted_ - 1 - std::min(rank, inserted_ - 1);
        return (rank * 0x9E3779B97F4A7C15u >> 20) % first_;  // popular ones are spread over all
    }
    std::uint64_t insert() { return records_++; }
    void was_inserted(std::uint64_t record) { inserted_ = std::max(inserted_, record + 1); }
    unsigned scan_length() { return 1 + static_cast<unsigned>(random_() % longest_scan); }

  private:
    const Mix& mix_;
    std::uint64_t records_;
    Zipf zipf_;
    std::uint64_t first_, inserted_ = first_;
    std::mt19937_64 random_;
};

}  // namespace offramp::store::load
