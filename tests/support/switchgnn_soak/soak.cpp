// SPDX-License-Identifier: Apache-2.0
// Soak runs of SwitchGNN in virtual time: workers as the smartNIC's agent has them, P4 programs as machine code of the
// native engine, and links that lose, double, delay and replay frames. A run is a pure function of its seed.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "switchgnn/endpoint.hpp"

using namespace offramp;
using namespace offramp::switchgnn;

namespace {

using I64 = std::int64_t;
constexpr int exchanges = 2, replays_kept = 512, stall_ticks = 16;
constexpr I64 silent_caps = 2000;  // of the longest time-out, until a run has hung

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {  // splitmix64
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        return z ^ z >> 31;
    }
    I64 below(I64 n) { return static_cast<I64>(next() % static_cast<std::uint64_t>(n)); }
    bool chance(double p) { return static_cast<double>(next() >> 11) * 0x1p-53 < p; }
    template <std::size_t n>
    I64 one_of(const I64 (&values)[n]) {
        return values[below(n)];
    }

  private:
    std::uint64_t state_;
};

}  // namespace

extern "C" {

// What leads where: port `port` of a switch to a worker, or to a port of another switch.
struct Wire {
    std::int32_t port, worker, other, its_port;
};
struct Memory {
    std::byte* at;
    I64 size;
};
// One P4 program in machine code: its context's words, its entry, its registers.
struct SoakSwitch {
    I64* words;
    I64 (*run)(I64, I64, I64, I64, I64, I64);
    const Memory* registers;
    I64 register_count;
    const std::byte* open;  // how many aggregators are open
    I64 open_bytes;
    const Wire* wires;
    I64 wire_count;
};
struct SoakWorker {
    const std::byte* plans;
    I64 plans_size;
    const std::int32_t* rows;  // vertices of each plan's rows, one plan after the other
    std::int32_t leaf, port;   // the switch that it is joined to
};
struct SoakJob {
    const SoakSwitch* switches;
    I64 switch_count;
    const SoakWorker* workers;
    I64 worker_count;
    I64 vertices;
    const std::int32_t* edges;  // both ends of each cut edge
    I64 edge_count;
    const std::int32_t* widths;  // most features of each plan
    I64 out_words, index_words;  // which words of a context are the buffers of frames that leave
    double loss, duplication, delay, inner_loss;
    std::int32_t acks, restarts;
};
struct SoakResult {
    I64 verdict, frames, ticks, rounds;
    char error[240];
};
}

namespace {

enum Verdict : I64 { right, wrong, leaked, hung, refused };
enum Pattern : I64 { none, bursts, last_lost, kind_lost, blackout, patterns };

struct Frame {
    std::array<std::byte, most_bytes> bytes;
    std::uint32_t length;
    [[nodiscard]] Bytes view() const { return {bytes.data(), length}; }
    [[nodiscard]] unsigned kind() const {
        return length < short_bytes ? 0 : std::to_integer<unsigned>(bytes[prefix_bytes + 12]) >> 5 & 6;
    }
};

// Where a frame goes: a worker, or a port of a switch.
struct Target {
    std::int32_t worker, node, port;
};
struct Event {
    I64 at, number;
    Target to;
    std::uint32_t frame;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : number > other.number; }
};

// What befalls the frames of one direction beyond independent loss, for the length of a run.
struct Weather {
    I64 pattern = none, worker = 0, kind = 0, begins = 0, ends = 0;
    bool bad = false;
    static Weather of(Random& random, I64 workers) {
        Weather w;
        w.pattern = random.below(patterns + 2) % patterns;  // calm in two runs of seven
        w.worker = random.below(workers);
        w.begins = random.below(300);
        w.ends = w.begins + 20 + random.below(400);
        w.kind = random.one_of({0, 2, 4, 6});
        return w;
    }
    // Whether it is on in this tick; times are random, or what has a period itself might never meet a pause.
    bool now(Random& random, I64 tick) {
        while (tick >= ends) {
            begins = ends + 100 + random.below(800);
            ends = begins + 20 + random.below(400);
        }
        return tick >= begins;
    }
    // Whether a frame to or from `who` vanishes; `last`: of those that leave together.
    bool takes(Random& random, I64 tick, I64 who, const Frame& frame, bool last) {
        switch (pattern) {
            case bursts:
                bad = bad ? !random.chance(0.05) : random.chance(0.05);
                return bad;
            case last_lost:
                return last && random.chance(0.5);
            case kind_lost:
                return now(random, tick) && frame.kind() == kind && (worker % 2 == 0 || who == worker);
            case blackout:
                return now(random, tick) && (worker % 3 == 2 || who == worker);
            default:
                return false;
        }
    }
};

// What one exchange adds up: random features, and their sums straight from the cut edges.
struct Features {
    std::vector<std::int32_t> x;
    std::vector<std::int64_t> sums;
    std::size_t plan = 0;
    I64 width = 0;

    void make(const SoakJob& job, I64 of_plan, Random& random) {
        plan = static_cast<std::size_t>(of_plan);
        width = 1 + random.below(job.widths[plan]);
        x.resize(static_cast<std::size_t>(job.vertices * width));
        for (auto& each : x) each = static_cast<std::int32_t>(random.below(1 << 27) - (1 << 26));
        sums.assign(x.size(), 0);
        for (I64 e = 0; e < job.edge_count; ++e)
            for (I64 f = 0; f < width; ++f) {
                const I64 u = job.edges[2 * e] * width + f, v = job.edges[2 * e + 1] * width + f;
                sums[u] += x[v];
                sums[v] += x[u];
            }
    }
};

struct Worker {
    std::vector<Plan> plans;
    std::vector<std::vector<std::int32_t>> rows;
    std::vector<std::int32_t> values;
    std::vector<std::int64_t> sums, scratch;
    std::uint64_t journal = 0, stalls = 0;
    std::unique_ptr<Endpoint> endpoint;
    std::vector<std::uint32_t> inbox;
    I64 late = 0;
    int number = 0;
    bool started = false, done = false;
};

class Run {
  public:
    Run(const SoakJob& job, std::uint64_t seed) : job_(job), random_(seed * 0x2545F4914F6CDD1Du + 1) {
        const I64 first = random_.one_of({40, 80, 160});
        recovery_ = {first, first * random_.one_of({2, 8}), job.acks != 0, job.acks != 0 && random_.chance(0.5)};
        window_ = random_.one_of({1, 2, 8, 1000});
        longest_ = random_.one_of({4, 30, 300});
        replay_ = random_.chance(0.5) ? 0.05 : 0;
        for (auto& each : weather_) each = Weather::of(random_, job.worker_count);
        if (job.restarts != 0 && random_.chance(0.5))
            for (I64 i = 1 + random_.below(2); i > 0; --i) restarts_.push_back(1 + random_.below(1500));
        plan_ = random_.below(2);
        same_ = !restarts_.empty() || random_.chance(0.5);
        workers_.resize(static_cast<std::size_t>(job.worker_count));
        for (I64 i = 0; i < job.worker_count; ++i) prepare(i);
        for (I64 i = 0; i < job.switch_count; ++i) forget(job.switches[i]);
    }

    void run(SoakResult& result) {
        std::uint64_t progress = 0;
        I64 since = 0;
        const I64 patience = silent_caps * recovery_.cap;
        for (tick_ = 0; result.verdict == right; ++tick_) {
            if (!restarts_.empty()) restart();
            deliver();
            bool done = true;
            std::uint64_t now = static_cast<std::uint64_t>(settled_);
            for (std::size_t i = 0; i < workers_.size() && result.verdict == right; ++i) {
                step(i, result);
                done = done && workers_[i].done;
                now += workers_[i].endpoint->progress();
            }
            if (now != progress) {
                progress = now;
                since = tick_;
            }
            if (done && tick_ > settled_at_ + longest_ + 4) break;
            if (!done && tick_ - since > patience) report_hang(result);
        }
        finish(result);
    }

  private:
    void prepare(I64 index) {
        const SoakWorker& setting = job_.workers[index];
        Worker& w = workers_[static_cast<std::size_t>(index)];
        std::string error;
        if (!read_plans({setting.plans, static_cast<std::size_t>(setting.plans_size)}, w.plans, error)) std::abort();
        const std::int32_t* rows = setting.rows;
        std::uint64_t cells = 0;
        for (const auto& plan : w.plans) {
            w.rows.emplace_back(rows, rows + plan.boundary);
            rows += plan.boundary;
            cells = std::max(cells, std::uint64_t{plan.shared} * plan.chunks);
        }
        w.scratch.resize(cells * lanes + 1);
        w.late = random_.below(100);
        w.stalls = random_.chance(0.3) ? random_.next() & random_.next() : 0;
        w.endpoint = std::make_unique<Endpoint>(index, w.plans, recovery_, &w.journal);
    }

    static void forget(const SoakSwitch& s) {
        for (I64 i = 0; i < s.register_count; ++i) std::memset(s.registers[i].at, 0, s.registers[i].size);
    }

    void restart() {
        auto due = std::remove_if(restarts_.begin(), restarts_.end(), [this](I64 at) { return at <= tick_; });
        if (due == restarts_.end()) return;
        restarts_.erase(due, restarts_.end());
        for (I64 i = 0; i < job_.switch_count; ++i) forget(job_.switches[i]);
    }

    // Everybody begins the same exchange, whoever is the first makes its features and what their sums must be.
    void begin(std::size_t index) {
        Worker& w = workers_[index];
        Features& features = features_[static_cast<std::size_t>(w.number)];
        if (features.width == 0) {
            features.make(job_, same_ || w.number == 0 ? plan_ : 1 - plan_, random_);
            if (w.number + 1 == exchanges) restarts_.clear();  // every aggregator is used once more after a restart
        }
        ++w.number;
        const auto& rows = w.rows[features.plan];
        const auto width = features.width;
        w.values.clear();
        for (const auto vertex : rows)
            w.values.insert(w.values.end(), &features.x[vertex * width], &features.x[vertex * width] + width);
        w.values.push_back(0);
        w.sums.assign(rows.size() * width + 1, -1);
        const Exchange exchange{static_cast<std::uint32_t>(features.plan), static_cast<std::uint32_t>(width),
                                static_cast<std::uint32_t>(w.number), reinterpret_cast<std::byte*>(w.values.data()),
                                w.sums.data(), w.scratch.data()};
        if (!w.endpoint->begin(exchange)) std::abort();
    }

    bool exact(std::size_t index) {
        Worker& w = workers_[index];
        const Features& features = features_[static_cast<std::size_t>(w.number - 1)];
        const auto& rows = w.rows[features.plan];
        const auto width = features.width;
        w.endpoint->collect();
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const std::int64_t* expected = &features.sums[rows[i] * width];
            if (!std::equal(expected, expected + width, &w.sums[i * width])) return false;
        }
        return true;
    }

    void step(std::size_t index, SoakResult& result) {
        Worker& w = workers_[index];
        if (tick_ < w.late || (w.stalls >> (tick_ / stall_ticks % 64) & 1) != 0) return;
        if (!w.started) {
            w.endpoint->start();
            w.started = true;
        }
        for (const auto frame : w.inbox) {
            w.endpoint->incoming(frames_[frame].view());
            free_.push_back(frame);
        }
        w.inbox.clear();
        for (I64 sent = 0; sent < window_; ++sent) {
            Frame frame;
            frame.length = static_cast<std::uint32_t>(w.endpoint->outgoing(frame.bytes.data()));
            if (frame.length == 0) break;
            const SoakWorker& setting = job_.workers[index];
            const bool last = sent + 1 == window_ || !w.endpoint->has_outgoing();
            if (!weather_[0].takes(random_, tick_, static_cast<I64>(index), frame, last))
                travel(frame, {-1, setting.leaf, setting.port}, job_.loss);
        }
        if (!w.endpoint->has_outgoing()) w.endpoint->tick(tick_);
        if (w.done || !w.endpoint->finished() || w.endpoint->waiting()) return;
        if (w.number > 0 && !exact(index)) {
            result.verdict = wrong;
            std::snprintf(result.error, sizeof result.error, "worker %zu: wrong sums in exchange %d", index, w.number);
            return;
        }
        ++settled_;
        settled_at_ = tick_;
        if (w.number == exchanges)
            w.done = true;
        else
            begin(index);
    }

    // Puts a frame on its way, once or twice or not at all, and sometimes an old one with it.
    void travel(const Frame& frame, const Target& to, double loss) {
        ++sent_;
        if (!random_.chance(loss))
            for (int copies = random_.chance(job_.duplication) ? 2 : 1; copies > 0; --copies) put(frame, to);
        if (replay_ == 0) return;
        if (past_.size() < replays_kept)
            past_.push_back({frame, to});
        else
            past_[static_cast<std::size_t>(random_.below(replays_kept))] = {frame, to};
        if (random_.chance(replay_)) {
            const auto& old = past_[static_cast<std::size_t>(random_.below(static_cast<I64>(past_.size())))];
            put(old.first, old.second);
        }
    }

    void put(const Frame& frame, const Target& to) {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(frames_.size()));
            frames_.emplace_back();
        }
        const auto at = free_.back();
        free_.pop_back();
        frames_[at] = frame;
        const I64 extra = random_.chance(job_.delay) ? 1 + random_.below(longest_) : 0;
        events_.push({tick_ + 1 + extra, ++number_, to, at});
    }

    void deliver() {
        while (!events_.empty() && events_.top().at <= tick_) {
            const Event event = events_.top();
            events_.pop();
            if (event.to.worker >= 0) {
                workers_[static_cast<std::size_t>(event.to.worker)].inbox.push_back(event.frame);
                continue;
            }
            Frame frame = frames_[event.frame];
            free_.push_back(event.frame);
            process(job_.switches[event.to.node], event.to.port, frame);
        }
    }

    // One frame through a switch; what leaves goes on its way.
    void process(const SoakSwitch& s, std::int32_t port, Frame& frame) {
        auto length = static_cast<std::int32_t>(frame.length);
        s.run(reinterpret_cast<I64>(s.words), reinterpret_cast<I64>(frame.bytes.data()), most_bytes,
              reinterpret_cast<I64>(&length), reinterpret_cast<I64>(&port), 1);
        enum { at, size, used, start };
        I64* out = s.words + job_.out_words;
        I64* index = s.words + job_.index_words;
        const auto* bytes = reinterpret_cast<const std::byte*>(out[at]);
        const auto* pairs = reinterpret_cast<const I64*>(index[at]);
        const I64 count = index[used] / 16;
        for (I64 i = 0; i < count; bytes += pairs[2 * i + 1], ++i) {
            Frame next;
            next.length = static_cast<std::uint32_t>(std::min<I64>(pairs[2 * i + 1], most_bytes));
            std::memcpy(next.bytes.data(), bytes, next.length);
            for (I64 w = 0; w < s.wire_count; ++w) {
                const Wire& wire = s.wires[w];
                if (wire.port != pairs[2 * i]) continue;
                const bool inner = wire.worker < 0;
                if (inner || !weather_[1].takes(random_, tick_, wire.worker, next, i + 1 == count))
                    travel(next, {wire.worker, wire.other, wire.its_port}, inner ? job_.inner_loss : job_.loss);
            }
        }
        out[used] = out[start] = index[used] = index[start] = 0;
    }

    void report_hang(SoakResult& result) {
        result.verdict = hung;
        for (std::size_t i = 0; i < workers_.size(); ++i)
            if (!workers_[i].done)
                std::snprintf(result.error, sizeof result.error, "worker %zu: nothing moves in %s", i,
                              workers_[i].endpoint->state().c_str());
    }

    void finish(SoakResult& result) {
        result.frames = sent_;
        result.ticks = tick_;
        for (const auto& w : workers_) {
            const Stats& stats = w.endpoint->stats();
            result.rounds = static_cast<I64>(stats.rounds);
            if (result.verdict == right && stats.foreign + stats.truncated + stats.rejected != 0) {
                result.verdict = refused;
                std::snprintf(result.error, sizeof result.error, "foreign %lu, truncated %lu, rejected %lu",
                              static_cast<unsigned long>(stats.foreign), static_cast<unsigned long>(stats.truncated),
                              static_cast<unsigned long>(stats.rejected));
            }
        }
        for (I64 i = 0; i < job_.switch_count && result.verdict == right; ++i) {
            const SoakSwitch& s = job_.switches[i];
            if (std::any_of(s.open, s.open + s.open_bytes, [](std::byte b) { return b != std::byte{0}; })) {
                result.verdict = leaked;
                std::snprintf(result.error, sizeof result.error, "switch %ld: an aggregator stayed open", static_cast<long>(i));
            }
        }
    }

    const SoakJob& job_;
    Random random_;
    Recovery recovery_;
    std::array<Weather, 2> weather_;  // to the switches, to the workers
    std::vector<I64> restarts_;
    std::vector<Worker> workers_;
    std::vector<Frame> frames_;
    std::vector<std::uint32_t> free_;
    std::vector<std::pair<Frame, Target>> past_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::array<Features, exchanges> features_;
    I64 window_ = 1, longest_ = 1, plan_ = 0, tick_ = 0, number_ = 0, sent_ = 0, settled_ = 0, settled_at_ = 0;
    double replay_ = 0;
    bool same_ = true;
};

}  // namespace

extern "C" void soak(const SoakJob* job, I64 first_seed, I64 count, SoakResult* results) {
    for (I64 i = 0; i < count; ++i) {
        results[i] = {};
        Run(*job, static_cast<std::uint64_t>(first_seed + i)).run(results[i]);
    }
}
