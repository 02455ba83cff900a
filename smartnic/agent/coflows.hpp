// SPDX-License-Identifier: Apache-2.0
// Hermod's end host on a port: the endpoint, and losses to try it with.
#pragma once

#include <memory>
#include <random>
#include <string>

#include "hermod/endpoint.hpp"
#include "port.hpp"
#include "protocol.hpp"
#include "region.hpp"

namespace offramp {

class Coflows {
  public:
    // Returns nothing and the reason if the ranks are not in the memory.
    static std::unique_ptr<Coflows> open(const protocol::Coflows& asked, std::shared_ptr<Region> region, Port& port,
                                         std::string& error);
    ~Coflows();

    // Begins a request; returns false and the reason if it cannot.
    bool submit(std::uint64_t request, Bytes message, const Region& region, std::string& error);
    // Moves frames; whether there was anything to do.
    bool poll(hermod::Time now);
    // A request that is over; false where there is none.
    bool finished(std::uint64_t& request) { return endpoint_.finished(request); }
    [[nodiscard]] bool active() const { return endpoint_.active(); }

  private:
    Coflows(const protocol::Coflows& asked, std::shared_ptr<Region> region, Lane& lane,
            std::vector<hermod::Address> ranks);

    std::shared_ptr<Region> region_;
    Lane& lane_;
    hermod::Endpoint endpoint_;
    double loss_;
    std::mt19937_64 random_;
};

}  // namespace offramp
