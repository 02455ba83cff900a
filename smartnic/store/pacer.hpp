// SPDX-License-Identifier: Apache-2.0
// Whether to look for work before sleeping, which is measured.
//
// What sleeping costs depends on the machine: a microsecond or two where others keep the processors busy, tens of them, and
// as much again until the work is seen, where an idle processor is given back to a host. How long work takes to come to
// somebody who looks depends on the clients, who are served sooner by him. So both ways are tried: a period in which
// the server looks is compared with one in which it sleeps at once, by work per second times work per second of processor
// time. The way that does more is kept, and the other one tried again now and then, the later the oftener it has failed, or
// soon when the load becomes another. But looking may not cost a request more than a twenty-fifth of the processor time that
// it takes without, as others have a use for processors, too. Where one of them has taken the processor away while the server looked,
// this is over at once and not tried again for long: whoever has used up his share waits for his next one, with his requests.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace offramp::store {

class Pacer {
  public:
    explicit Pacer(std::int64_t most_us) : most_ns_(most_us * 1000) {}

    [[nodiscard]] static std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

    // How long to look for work, ns; 0: sleep at once.
    [[nodiscard]] std::int64_t look_ns() const { return looks_ ? most_ns_ : 0; }

    // A round has ended at now_ns, after which `work` (bytes, say) has been done since the beginning.
    void done(std::int64_t now_ns, std::uint64_t work) {
        if (++rounds_ < least_rounds || now_ns - began_ns_ < period_ns || most_ns_ == 0) return;
        const std::int64_t processor_ns = processor_now_ns();
        const auto did = static_cast<double>(work - work_);
        const double took = static_cast<double>(now_ns - began_ns_), used = static_cast<double>(std::max<std::int64_t>(1, processor_ns - processor_ns_));
        const std::int64_t losses = losses_now();
        crowded_ = losses != losses_;
        losses_ = losses;
        evaluate({did / took, did / used});
        began_ns_ = now_ns;
        processor_ns_ = processor_ns;
        work_ = work;
        rounds_ = 0;
    }

  private:
    static constexpr std::int64_t period_ns = 4'000'000;
    static constexpr unsigned least_rounds = 32, soon = 16, late = 1024;  // rounds; periods between trials
    static constexpr double least_thrift = 0.96, another = 2;

    // Work per second, and per second of processor time.
    struct Way {
        double rate = 0, thrift = 0;

        [[nodiscard]] double score() const { return rate * thrift; }
        void learn(const Way& now) {
            rate = rate == 0 ? now.rate : rate + (now.rate - rate) / 4;
            thrift = thrift == 0 ? now.thrift : thrift + (now.thrift - thrift) / 4;
        }
    };

    static std::int64_t processor_now_ns() {
        timespec now{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return now.tv_sec * 1'000'000'000 + now.tv_nsec;
    }

    // How often somebody else was given the processor though this thread had a use for it.
    static std::int64_t losses_now() {
        rusage used{};
        ::getrusage(RUSAGE_THREAD, &used);
        return used.ru_nivcsw;
    }

    // The first period after a change mixes both ways, so it does not count.
    void evaluate(const Way& now) {
        if (looks_ && crowded_) {
            looks_ = trying_ = false;
            fresh_ = true;
            until_ = wait_ = late;
            ways_[1] = {};
            return;
        }
        if (fresh_) {
            fresh_ = false;
            return;
        }
        Way& way = ways_[looks_ ? 1 : 0];
        const bool promises = trying_ && now.score() > ways_[looks_ ? 0 : 1].score();
        const bool changed = !trying_ && (now.rate > another * way.rate || way.rate > another * now.rate);
        way.learn(now);
        const auto& [sleeps, looks] = ways_;
        const bool better = looks.score() > sleeps.score() && looks.thrift > least_thrift * sleeps.thrift;
        if (promises || changed) wait_ = soon;
        else if (trying_) wait_ = std::min(2 * wait_, late);
        if (promises) until_ = 1;
        else if (trying_ || changed) until_ = wait_;
        trying_ = --until_ == 0;
        if (trying_) until_ = wait_;
        const bool next = trying_ ? !better : better;
        fresh_ = next != looks_;
        looks_ = next;
    }

    std::int64_t most_ns_, began_ns_ = 0, processor_ns_ = 0;
    std::uint64_t work_ = 0;
    std::int64_t losses_ = 0;
    Way ways_[2];
    unsigned rounds_ = 0, wait_ = soon, until_ = soon;
    bool crowded_ = false, looks_ = false, fresh_ = true, trying_ = false;
};

}  // namespace offramp::store
