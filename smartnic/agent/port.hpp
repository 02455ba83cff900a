// SPDX-License-Identifier: Apache-2.0
// An Ethernet port of DPDK's: its lanes, and the rules that say which of them a frame is for.
#pragma once

#include <rte_ethdev.h>

#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "hearing.hpp"
#include "lane.hpp"
#include "rules.hpp"

struct rte_flow;

namespace offramp {

// How a port is opened.
struct PortOptions {
    unsigned lanes = 1;
    unsigned vlan = 0;        // frames bear this tag; 0: none
    bool flow_rules = true;   // use the device's where it has them
    std::string interface;    // of Linux, that the device is on
};

class Port {
  public:
    // Starts it; returns nothing and the reason if the driver refuses.
    static std::unique_ptr<Port> open(std::uint16_t number, std::string name, const PortOptions& options,
                                      std::string& error);
    ~Port();

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::uint16_t number() const { return number_; }
    [[nodiscard]] std::uint16_t lanes() const { return static_cast<std::uint16_t>(lanes_.size()); }
    [[nodiscard]] Lane& lane(std::uint16_t number) const { return *lanes_[number]; }

    // Gives a lane to a client with that address; returns nothing and the reason if all are taken, the address is
    // another's, or the device does not hear it. One caller at a time.
    Lane* take(const rules::Destination& destination, std::string& error);
    void release(Lane& lane);

    // Which lanes a frame is for. To be called with `changes_` held.
    [[nodiscard]] rules::Targets match(rte_mbuf* frame, Lane::Counts& counts) const;
    // Fields that the device adds to a frame that leaves, or that are added here.
    void tag(rte_mbuf*& frame) const;

    // Counts, and what the driver can do, as JSON.
    [[nodiscard]] std::string stats() const;
    [[nodiscard]] std::string abilities() const;

  private:
    friend class Lane;

    Port(std::uint16_t number, std::string name, const PortOptions& options)
        : number_(number), name_(std::move(name)), options_(options) {}
    bool start(std::string& error);
    bool configure(std::string& error);
    // Whether the device takes flow rules like ours.
    bool try_flow_rules();
    bool add_flow_rules(const rules::Destination& destination, unsigned lane, std::vector<rte_flow*>& flows);
    void remove_flow_rules(std::vector<rte_flow*>& flows);
    bool listen_to(std::uint64_t mac, std::string& error);
    void forget(std::uint64_t mac);

    std::uint16_t number_;
    std::string name_;
    PortOptions options_;
    rte_eth_dev_info info_{};
    std::uint64_t rx_offloads_ = 0, tx_offloads_ = 0, spread_ = 0;
    bool flow_rules_ = false, isolated_ = false;
    rte_mempool* buffers_ = nullptr;
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::vector<rules::Destination> taken_by_;
    std::vector<std::vector<rte_flow*>> flows_;
    Hearing hearing_;
    rules::Rules rules_;
    mutable std::shared_mutex changes_;  // of the rules
};

}  // namespace offramp
