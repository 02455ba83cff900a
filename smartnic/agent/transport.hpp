// SPDX-License-Identifier: Apache-2.0
// A worker of SwitchGNN on a port: the endpoint, its pace, and faults to try it with.
#pragma once

#include <array>
#include <memory>
#include <random>
#include <string>

#include "port.hpp"
#include "protocol.hpp"
#include "region.hpp"
#include "switchgnn/endpoint.hpp"

namespace offramp {

class Transport {
  public:
    // Returns nothing and the reason if the host wrote no valid plan.
    static std::unique_ptr<Transport> open(const protocol::Transport& asked, std::shared_ptr<Region> region, Port& port,
                                           std::string& error);
    ~Transport();

    // Begins a request; returns false and the reason if another one runs or it is malformed.
    bool start(std::string& error);
    bool exchange(Bytes message, const Region& region, std::string& error);

    // Moves frames; whether there was anything to do.
    bool poll(Time now);

    enum class Outcome { none, running, done, failed };
    // Status of the request; `error` is the reason for a failure. Asking ends a finished request.
    Outcome outcome(Time now, std::string& error);
    [[nodiscard]] bool active() const { return active_; }

    // Statistics as the host takes them: those of the endpoint, then received, sent, dropped, malformed, missed.
    static constexpr std::size_t stats_bytes = sizeof(switchgnn::Stats) + 5 * 8;
    void write_stats(std::byte* to) const;
    using Counts = std::array<std::uint64_t, stats_bytes / 8>;
    [[nodiscard]] Counts counts() const;
    // Counts from what another process had counted.
    void count_from(const Counts& before) { before_ = before; }

  private:
    Transport(const protocol::Transport& asked, std::shared_ptr<Region> region, Lane& lane,
              std::vector<switchgnn::Plan> plans);
    bool send(Time now);
    std::size_t send_with_faults();
    [[nodiscard]] bool chance(double p) { return p > 0 && std::uniform_real_distribution<>()(random_) < p; }

    protocol::Transport asked_;
    std::shared_ptr<Region> region_;
    Lane& lane_;
    switchgnn::Endpoint endpoint_;
    switchgnn::Rate rate_;
    std::mt19937_64 random_;
    Counts before_{};
    std::uint64_t marks_ = 0, progress_ = 0, lost_before_ = 0, received_ = 0, sent_ = 0;
    std::uint32_t in_window_ = 0;
    double next_send_ = 0;
    Time since_ = 0;
    bool active_ = false, exchanging_ = false, watched_ = false;
};

}  // namespace offramp
