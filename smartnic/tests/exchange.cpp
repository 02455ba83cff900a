// SPDX-License-Identifier: Apache-2.0
// Exchanges of all workers of a job, in lockstep with the switch, over links that lose, double, swap and damage frames:
// `offramp-nic-exchange FILE SEED LOSS DUPLICATION RESTARTS`. The file holds, for each worker, its plans, values and
// sums as Python computed them from the graph. With RESTARTS every so many frames an endpoint is thrown away and made
// anew from the journal, as when an agent is killed.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>

#include "switch.hpp"
#include "switchgnn/endpoint.hpp"

using namespace offramp;
using namespace offramp::switchgnn;

namespace {

constexpr std::uint32_t exchanges = 3;

struct Worker {
    std::vector<std::byte> text, values, sums, expected;
    std::vector<Plan> plans;
    std::vector<std::int64_t> scratch;
    std::uint64_t journal = 0;
    std::uint32_t width = 0, number = 0;
    std::unique_ptr<Endpoint> endpoint;
    bool busy = true;

    [[nodiscard]] Exchange exchange() {
        return {0, width, number, values.data(), reinterpret_cast<std::int64_t*>(sums.data()), scratch.data()};
    }
};

std::vector<std::byte> take(std::ifstream& file) {
    std::uint32_t length = 0;
    file.read(reinterpret_cast<char*>(&length), 4);
    std::vector<std::byte> bytes(length);
    file.read(reinterpret_cast<char*>(bytes.data()), length);
    return bytes;
}

class Lab {
  public:
    Lab(std::ifstream& file, unsigned seed, double loss, double duplication, unsigned restarts)
        : random_(seed), loss_(loss), duplication_(duplication), restarts_(restarts) {
        std::uint32_t count = 0, width = 0;
        file.read(reinterpret_cast<char*>(&count), 4);
        file.read(reinterpret_cast<char*>(&width), 4);
        workers_.resize(count);
        std::string error;
        std::vector<std::vector<Plan>> all;
        for (auto& w : workers_) {
            w.text = take(file);
            w.values = take(file);
            w.expected = take(file);
            w.width = width;
            if (!read_plans(w.text, w.plans, error)) {
                std::printf("%s\n", error.c_str());
                std::exit(1);
            }
            w.sums.resize(w.expected.size());
            w.scratch.resize(std::size_t{w.plans[0].shared} * width + 1);
            all.push_back(w.plans);
        }
        switch_ = std::make_unique<testing::Switch>(all);
        for (std::uint32_t i = 0; i < count; ++i) make(i, false);
        for (auto& w : workers_) w.endpoint->start();
    }

    bool run() {
        for (steps_ = 0; steps_ < 2'000'000; ++steps_) {
            bool busy = false;
            for (std::uint32_t i = 0; i < workers_.size(); ++i) {
                if (restarts_ != 0 && random_() % restarts_ == 0) restart(i);
                if (!step(workers_[i])) return false;
                busy |= workers_[i].busy;
            }
            if (!busy) return true;
        }
        for (auto& w : workers_) std::printf("stuck: %s\n", w.endpoint->state().c_str());
        return false;
    }

    [[nodiscard]] std::uint64_t restarted() const { return restarted_; }

  private:
    void make(std::uint32_t index, bool again) {
        Worker& w = workers_[index];
        Recovery recovery{1000, 8000, index % 2 == 1, index % 2 == 1};
        w.endpoint = std::make_unique<Endpoint>(index, w.plans, recovery, &w.journal);
        if (again) w.endpoint->resume();
    }

    void restart(std::uint32_t index) {
        Worker& w = workers_[index];
        if (!w.busy) return;
        ++restarted_;
        make(index, true);
        if (w.number == 0)
            w.endpoint->start();
        else if (!w.endpoint->begin(w.exchange()))
            std::abort();
    }

    bool step(Worker& w) {
        std::byte frame[most_bytes];
        for (int burst = 0; burst < 4; ++burst) {
            const std::size_t length = w.endpoint->outgoing(frame);
            if (length == 0) {
                w.endpoint->tick(static_cast<Time>(steps_) * 10);
                break;
            }
            send({frame, length});
        }
        if (!w.busy || !w.endpoint->finished() || w.endpoint->waiting()) return true;
        if (w.number > 0) {
            w.endpoint->collect();
            if (w.sums != w.expected) {
                std::printf("wrong sums in exchange %u\n", w.number);
                return false;
            }
        }
        if (w.number == exchanges)
            w.busy = false;
        else {
            ++w.number;
            std::fill(w.sums.begin(), w.sums.end(), std::byte{0});
            if (!w.endpoint->begin(w.exchange())) std::abort();
        }
        return true;
    }

    [[nodiscard]] bool chance(double p) { return std::uniform_real_distribution<>()(random_) < p; }

    // Up through the link, the switch, and down again; what is cut must not harm.
    void send(Bytes frame) {
        for (int copy = chance(duplication_) ? 2 : 1; copy > 0; --copy) {
            if (chance(loss_)) continue;
            std::vector<testing::Frame> out;
            switch_->process(frame, out);
            for (auto& each : out) {
                if (chance(loss_)) continue;
                deliver(each);
                if (chance(duplication_)) deliver(each);
            }
        }
    }

    void deliver(const testing::Frame& frame) {
        Bytes bytes = frame.bytes;
        if (chance(loss_)) workers_[frame.port].endpoint->incoming(bytes.first(random_() % bytes.size()));
        held_.push_back(frame);
        if (held_.size() > 3 || chance(0.7)) {
            std::shuffle(held_.begin(), held_.end(), random_);
            for (auto& each : held_) workers_[each.port].endpoint->incoming(each.bytes);
            held_.clear();
        }
    }

    std::mt19937 random_;
    double loss_, duplication_;
    unsigned restarts_;
    std::vector<Worker> workers_;
    std::unique_ptr<testing::Switch> switch_;
    std::vector<testing::Frame> held_;
    std::uint64_t steps_ = 0, restarted_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
    if (count != 6) {
        std::fprintf(stderr, "usage: offramp-nic-exchange FILE SEED LOSS DUPLICATION RESTARTS\n");
        return 2;
    }
    std::ifstream file(arguments[1], std::ios::binary);
    Lab lab(file, static_cast<unsigned>(std::atoi(arguments[2])), std::atof(arguments[3]), std::atof(arguments[4]),
            static_cast<unsigned>(std::atoi(arguments[5])));
    if (!lab.run()) return 1;
    std::printf("%u exchanges right, %lu restarts\n", exchanges, static_cast<unsigned long>(lab.restarted()));
    return 0;
}
