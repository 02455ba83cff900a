// SPDX-License-Identifier: Apache-2.0
#include "port.hpp"

#include <netinet/in.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_flow.h>
#include <rte_ip.h>
#include <rte_lcore.h>
#include <rte_udp.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "hermod/wire.hpp"

namespace offramp {
namespace {

constexpr std::uint16_t most_descriptors = 512;
constexpr unsigned inbox_frames = 1024;
constexpr std::uint64_t rx_checksums = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
constexpr std::uint64_t tx_checksums = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
constexpr std::uint16_t udp_at = RTE_ETHER_HDR_LEN + sizeof(rte_ipv4_hdr);

rte_ether_addr address(std::uint64_t mac) {
    rte_ether_addr address{};
    for (int i = 5; i >= 0; --i, mac >>= 8) address.addr_bytes[i] = static_cast<std::uint8_t>(mac);
    return address;
}

std::uint64_t mac_of(const rte_ether_addr& address) {
    std::uint64_t mac = 0;
    for (const std::uint8_t byte : address.addr_bytes) mac = mac << 8 | byte;
    return mac;
}

Hearing::Address bytes_of(const rte_ether_addr& address) {
    return std::to_array(address.addr_bytes);
}

void add_number(std::string& text, const char* name, std::uint64_t value) {
    text += std::string("\"") + name + "\": " + std::to_string(value) + ", ";
}

void add_flag(std::string& text, const char* name, bool value, const char* end = ", ") {
    text += std::string("\"") + name + "\": " + (value ? "true" : "false") + end;
}

}  // namespace

std::unique_ptr<Port> Port::open(std::uint16_t number, std::string name, const PortOptions& options, std::string& error) {
    std::unique_ptr<Port> port(new Port(number, std::move(name), options));
    return port->start(error) ? std::move(port) : nullptr;
}

bool Port::configure(std::string& error) {
    const auto lanes = static_cast<std::uint16_t>(options_.lanes);
    rte_eth_conf config{};
    config.rxmode.offloads = rx_offloads_;
    config.txmode.offloads = tx_offloads_;
    if (spread_ != 0) {
        config.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        config.rx_adv_conf.rss_conf.rss_hf = spread_;
    }
    std::uint16_t receiving = most_descriptors, sending = most_descriptors;
    const auto socket = static_cast<unsigned>(rte_socket_id());
    bool good = rte_eth_dev_configure(number_, lanes, lanes, &config) == 0 &&
                rte_eth_dev_adjust_nb_rx_tx_desc(number_, &receiving, &sending) == 0;
    for (std::uint16_t lane = 0; lane < lanes; ++lane)
        good = good && rte_eth_rx_queue_setup(number_, lane, receiving, socket, nullptr, buffers_) == 0 &&
               rte_eth_tx_queue_setup(number_, lane, sending, socket, nullptr) == 0;
    if (good && rte_eth_dev_start(number_) == 0) return true;
    error = "port " + name_ + ": the driver refuses " + std::to_string(lanes) + (lanes == 1 ? " queue" : " queues") +
          " each way";
    return false;
}

bool Port::start(std::string& error) {
    const int socket = static_cast<int>(rte_socket_id());
    if (rte_eth_dev_info_get(number_, &info_) != 0) {
        error = "port " + name_ + ": the driver says nothing about it";
        return false;
    }
    if (const unsigned most = std::min({unsigned{info_.max_rx_queues}, unsigned{info_.max_tx_queues}, rules::most_targets});
        options_.lanes > most) {
        error = "port " + name_ + ": " + std::to_string(options_.lanes) + " queues, it has at most " + std::to_string(most);
        return false;
    }
    const auto pool = 8192 + static_cast<unsigned>(Lane::most_waiting) * options_.lanes;
    buffers_ = rte_pktmbuf_pool_create(("port-" + std::to_string(number_)).c_str(), pool, 256, 0,
                                       RTE_MBUF_DEFAULT_BUF_SIZE, socket);
    for (std::uint16_t lane = 0; lane < options_.lanes && buffers_ != nullptr; ++lane) {
        const std::string name = "inbox-" + std::to_string(number_) + "-" + std::to_string(lane);
        rte_ring* inbox = rte_ring_create(name.c_str(), inbox_frames, socket, RING_F_SC_DEQ);
        if (inbox == nullptr) break;
        lanes_.push_back(std::make_unique<Lane>(*this, lane, buffers_, inbox));
    }
    if (lanes_.size() < options_.lanes) {
        error = "port " + name_ + ": no memory for its frames; more by --memory";
        return false;
    }
    taken_by_.resize(lanes_.size());
    flows_.resize(lanes_.size());
    rx_offloads_ = info_.rx_offload_capa & (rx_checksums | (options_.vlan ? RTE_ETH_RX_OFFLOAD_VLAN_STRIP : 0));
    tx_offloads_ = info_.tx_offload_capa & (tx_checksums | (options_.vlan ? RTE_ETH_TX_OFFLOAD_VLAN_INSERT : 0));
    if (options_.lanes > 1) spread_ = info_.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP);
    rte_flow_error ignored{};
    isolated_ = options_.flow_rules && rte_flow_isolate(number_, 1, &ignored) == 0;  // before it starts: mlx5 asks for that
    if (!configure(error)) return false;
    flow_rules_ = options_.flow_rules && try_flow_rules();
    if (isolated_ && !flow_rules_) {  // else nothing would arrive at all
        rte_eth_dev_stop(number_);
        isolated_ = rte_flow_isolate(number_, 0, &ignored) != 0;
        if (!configure(error)) return false;
    }
    return true;
}

Port::~Port() {
    for (auto& flows : flows_) remove_flow_rules(flows);
    rte_eth_dev_stop(number_);
    lanes_.clear();
    rte_eth_dev_close(number_);
    rte_mempool_free(buffers_);
}

Lane* Port::take(const rules::Destination& destination, std::string& error) {
    const auto free_lane = std::find_if(lanes_.begin(), lanes_.end(), [](const auto& lane) { return !lane->taken(); });
    if (free_lane == lanes_.end()) {
        error = lanes_.size() == 1 ? "another worker has port " + name_
                                 : "others have all " + std::to_string(lanes_.size()) + " queues of port " + name_;
        return nullptr;
    }
    Lane& lane = **free_lane;
    const bool first = std::none_of(lanes_.begin(), lanes_.end(), [](const auto& each) { return each->taken(); });
    const std::unique_lock lock(changes_);
    // Behind a router frames come to the interface's own address, whatever the table of hosts says.
    rte_ether_addr own{};
    std::vector<rules::Destination> wanted{destination};
    if (rte_eth_macaddr_get(number_, &own) == 0 && mac_of(own) != 0 && mac_of(own) != destination.mac)
        wanted.push_back({destination.protocol, mac_of(own), destination.ip});
    for (const auto& each : wanted) {
        if (rules_.add(each, lane.number())) continue;
        rules_.remove(lane.number());
        error = "port " + name_ + ": another worker gets the frames of this one's address";
        return nullptr;
    }
    if (!listen_to(destination.mac, error)) {
        rules_.remove(lane.number());
        return nullptr;
    }
    taken_by_[lane.number()] = destination;
    // Where the device does not steer, it gives frames to any queue, and `sort` finds theirs.
    for (const auto& each : wanted)
        if (flow_rules_) add_flow_rules(each, lane.number(), flows_[lane.number()]);
    lane.drain();
    if (first) {  // what came for nobody is of no use to this worker
        Lane::Frames frames;
        for (std::uint16_t queue = 0; queue < lanes(); ++queue)
            for (int i = 0; i < 4096; ++i) {
                const unsigned count = lane.from_queue(queue, frames);
                if (count == 0) break;
                rte_pktmbuf_free_bulk(frames.data(), count);
                lane.counts_.unmatched += count;
            }
    }
    lane.taken_.store(true, std::memory_order_release);
    return &lane;
}

void Port::release(Lane& lane) {
    const std::unique_lock lock(changes_);
    rules_.remove(lane.number());
    remove_flow_rules(flows_[lane.number()]);
    forget(taken_by_[lane.number()].mac);
    lane.drain();
    lane.taken_.store(false, std::memory_order_release);
}

// A device hears its own address and broadcasts, and no more: it is not promiscuous. Those that are memory between two
// processes hear everything anyway.
bool Port::listen_to(std::uint64_t mac, std::string& error) {
    rte_ether_addr own{}, wanted = address(mac);
    if (rte_eth_macaddr_get(number_, &own) == 0 && rte_is_same_ether_addr(&own, &wanted)) return true;
    if (!options_.interface.empty()) {
        if (hearing_.add(options_.interface, bytes_of(wanted), error)) return true;
        error = "port " + name_ + ": " + error;
        return false;
    }
    const int code = rte_eth_dev_mac_addr_add(number_, &wanted, 0);
    const bool is_virtual = name_.find(',') != std::string::npos || name_.rfind("net_", 0) == 0 || name_ == "loop";
    if (code == 0 || is_virtual) return true;
    error = "port " + name_ + ": the driver takes no further address: " + rte_strerror(-code);
    return false;
}

void Port::forget(std::uint64_t mac) {
    rte_ether_addr own{}, left = address(mac);
    if (rte_eth_macaddr_get(number_, &own) == 0 && rte_is_same_ether_addr(&own, &left)) return;
    if (options_.interface.empty())
        rte_eth_dev_mac_addr_remove(number_, &left);
    else
        hearing_.remove(options_.interface, bytes_of(left));
}

bool Port::try_flow_rules() {
    std::vector<rte_flow*> flows;
    const rules::Destination probe{rules::Protocol::hermod, 0x020000000001, 0x0A000001};
    const bool good = add_flow_rules(probe, 0, flows);
    remove_flow_rules(flows);
    return good;
}

bool Port::add_flow_rules(const rules::Destination& destination, unsigned lane, std::vector<rte_flow*>& flows) {
    const auto add = [&](std::uint64_t mac, std::uint32_t ip) {
        rte_flow_item_eth eth{}, eth_mask{};
        eth.dst = address(mac);
        eth_mask.dst = address(rules::broadcast_mac);
        rte_flow_item_ipv4 ipv4{}, ipv4_mask{};
        ipv4.hdr.next_proto_id = rules::ip_protocol(destination.protocol);
        ipv4_mask.hdr.next_proto_id = 0xFF;
        ipv4.hdr.dst_addr = rte_cpu_to_be_32(ip);
        ipv4_mask.hdr.dst_addr = rte_cpu_to_be_32(rules::broadcast_ip);
        rte_flow_item_udp udp{}, udp_mask{};
        udp.hdr.dst_port = rte_cpu_to_be_16(hermod::udp_port);
        udp_mask.hdr.dst_port = 0xFFFF;
        rte_flow_item_vlan vlan{}, vlan_mask{};
        vlan.tci = rte_cpu_to_be_16(static_cast<std::uint16_t>(options_.vlan));
        vlan_mask.tci = rte_cpu_to_be_16(0x0FFF);
        std::vector<rte_flow_item> items{{RTE_FLOW_ITEM_TYPE_ETH, &eth, nullptr, &eth_mask}};
        if (options_.vlan != 0) items.push_back({RTE_FLOW_ITEM_TYPE_VLAN, &vlan, nullptr, &vlan_mask});
        items.push_back({RTE_FLOW_ITEM_TYPE_IPV4, &ipv4, nullptr, &ipv4_mask});
        if (destination.protocol == rules::Protocol::hermod)
            items.push_back({RTE_FLOW_ITEM_TYPE_UDP, &udp, nullptr, &udp_mask});
        items.push_back({RTE_FLOW_ITEM_TYPE_END, nullptr, nullptr, nullptr});
        rte_flow_action_queue queue{static_cast<std::uint16_t>(lane)};
        const rte_flow_action actions[] = {{RTE_FLOW_ACTION_TYPE_QUEUE, &queue}, {RTE_FLOW_ACTION_TYPE_END, nullptr}};
        rte_flow_attr attributes{};
        attributes.ingress = 1;
        rte_flow_error fault{};
        rte_flow* flow = rte_flow_create(number_, &attributes, items.data(), actions, &fault);
        if (flow != nullptr) flows.push_back(flow);
        return flow != nullptr;
    };
    const bool own = add(destination.mac, destination.ip);
    // The first worker's lane gets broadcasts, and hands them to the others.
    if (own && rules::has_broadcasts(destination.protocol) && flows.size() == 1)
        add(rules::broadcast_mac, rules::broadcast_ip);
    return own;
}

void Port::remove_flow_rules(std::vector<rte_flow*>& flows) {
    rte_flow_error ignored{};
    for (rte_flow* flow : flows) rte_flow_destroy(number_, flow, &ignored);
    flows.clear();
}

rules::Targets Port::match(rte_mbuf* frame, Lane::Counts& counts) const {
    if (options_.vlan != 0) {
        const bool stripped = (frame->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
        if ((!stripped && rte_vlan_strip(frame) != 0) || (frame->vlan_tci & 0xFFF) != options_.vlan) {
            counts.unmatched += 1;
            return 0;
        }
    }
    const Bytes bytes{rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len};
    rules::Destination destination{};
    const rules::Targets targets = rules::read(bytes, destination) ? rules_.match(destination) : 0;
    if (targets == 0) {
        counts.unmatched += 1;
        return 0;
    }
    const auto ip = frame->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK, udp = frame->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
    const bool checked = ip == RTE_MBUF_F_RX_IP_CKSUM_GOOD &&
                         (destination.protocol != rules::Protocol::hermod || udp == RTE_MBUF_F_RX_L4_CKSUM_GOOD);
    const bool bad = ip == RTE_MBUF_F_RX_IP_CKSUM_BAD || udp == RTE_MBUF_F_RX_L4_CKSUM_BAD;
    if (bad || (!checked && !rules::intact(bytes))) {
        counts.corrupt += 1;
        return 0;
    }
    return targets;
}

void Port::tag(rte_mbuf*& frame) const {
    frame->ol_flags = 0;
    auto* ip = rte_pktmbuf_mtod_offset(frame, rte_ipv4_hdr*, RTE_ETHER_HDR_LEN);
    if ((tx_offloads_ & tx_checksums) != 0 && frame->data_len >= udp_at) {
        frame->l2_len = RTE_ETHER_HDR_LEN;
        frame->l3_len = sizeof(rte_ipv4_hdr);
        if (tx_offloads_ & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM) {
            ip->hdr_checksum = 0;
            frame->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
        }
        if ((tx_offloads_ & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) && ip->next_proto_id == IPPROTO_UDP) {
            frame->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
            auto* udp = rte_pktmbuf_mtod_offset(frame, rte_udp_hdr*, udp_at);
            udp->dgram_cksum = rte_ipv4_phdr_cksum(ip, frame->ol_flags);
        }
    }
    if (options_.vlan == 0) return;
    frame->vlan_tci = static_cast<std::uint16_t>(options_.vlan);
    if (tx_offloads_ & RTE_ETH_TX_OFFLOAD_VLAN_INSERT)
        frame->ol_flags |= RTE_MBUF_F_TX_VLAN;
    else
        rte_vlan_insert(&frame);
}

std::string Port::stats() const {
    Lane::Counts all;
    std::string lanes, by_class;
    std::uint64_t sent = 0;
    for (const auto& lane : lanes_) {
        const Lane::Counts& counts = lane->counts();
        std::uint64_t lane_sent = 0;
        for (unsigned i = 0; i < classes; ++i) {
            all.sent[i] += counts.sent[i];
            lane_sent += counts.sent[i];
        }
        all.received += counts.received;
        all.unmatched += counts.unmatched;
        all.corrupt += counts.corrupt;
        all.handed += counts.handed;
        all.broken += counts.broken;
        sent += lane_sent;
        lanes += lanes.empty() ? "{" : ", {";
        add_number(lanes, "received", counts.received);
        add_number(lanes, "sent", lane_sent);
        add_flag(lanes, "taken", lane->taken(), "}");
    }
    for (const Count& count : all.sent) by_class += (by_class.empty() ? "" : ", ") + std::to_string(count);
    rte_eth_stats device{};
    const bool known = rte_eth_stats_get(number_, &device) == 0;
    std::string text = "{\"name\": \"" + name_ + "\", ";
    add_number(text, "received", all.received);
    add_number(text, "sent", sent);
    add_number(text, "missed", all.broken + (known ? device.imissed + device.rx_nombuf + device.oerrors : 0));
    add_number(text, "unmatched", all.unmatched);
    add_number(text, "corrupt", all.corrupt);
    add_number(text, "handed", all.handed);
    text += std::string("\"steering\": \"") + (flow_rules_ ? "rte_flow" : "software") + "\", \"queues\": [" + lanes +
            "], \"classes\": [" + by_class + "]}";
    return text;
}

std::string Port::abilities() const {
    std::string text = "{\"name\": \"" + name_ + "\", \"driver\": \"" + info_.driver_name + "\", ";
    std::uint16_t mtu = 0;
    rte_eth_dev_get_mtu(number_, &mtu);
    rte_eth_link link{};
    const bool known = rte_eth_link_get_nowait(number_, &link) == 0;
    add_number(text, "receive_queues", info_.max_rx_queues);
    add_number(text, "send_queues", info_.max_tx_queues);
    add_number(text, "mtu", mtu);
    add_number(text, "addresses", info_.max_mac_addrs);
    add_number(text, "representor", info_.switch_info.domain_id != RTE_ETH_DEV_SWITCH_DOMAIN_ID_INVALID);
    add_flag(text, "up", known && link.link_status == RTE_ETH_LINK_UP);
    add_flag(text, "promiscuous", rte_eth_promiscuous_get(number_) == 1);
    add_flag(text, "rss", (info_.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP)) != 0);
    add_flag(text, "flow_rules", flow_rules_);
    add_flag(text, "isolated", isolated_);
    add_flag(text, "rx_checksum", (info_.rx_offload_capa & rx_checksums) == rx_checksums);
    add_flag(text, "tx_checksum", (info_.tx_offload_capa & tx_checksums) == tx_checksums);
    add_flag(text, "vlan_strip", (info_.rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0);
    add_flag(text, "vlan_insert", (info_.tx_offload_capa & RTE_ETH_TX_OFFLOAD_VLAN_INSERT) != 0, "}");
    return text;
}

}  // namespace offramp
