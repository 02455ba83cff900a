// SPDX-License-Identifier: Apache-2.0
// An agent takes another's place: the old one stops its queues and hands over what it has, the new one makes all of it its own
// and says so, and at the old one's word it goes on. Until that word the old one goes on itself if the new one fails.
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "client.hpp"
#include "handover.hpp"

namespace offramp {
namespace {

constexpr auto asks = static_cast<std::uint32_t>(protocol::Kind::upgrade);
constexpr std::uint32_t answers = protocol::reply | asks;

std::string names_of(const Agent& agent) {
    std::string names;
    for (const auto& port : agent.ports) names += (names.empty() ? "" : "\n") + port->name();
    return names;
}

// Names on one line.
std::string listed(std::string names) {
    std::replace(names.begin(), names.end(), '\n', ' ');
    return names.empty() ? "none" : names;
}

Bytes bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::string text_of(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

bool Control::upgrade(Client& client, const protocol::Takeover& asked) {
    const std::string error = hinders(client, asked);
    if (!error.empty()) return refuse(client, "upgrade: " + error);
    for (const auto& each : clients_)
        for (auto& [queue, core] : each->queues) core->call([&, core = core] { core->remove(queue.get()); });
    handed_over_ = hand_over(client);
    if (handed_over_) {
        path_.clear();  // the other's now
        return false;
    }
    for (const auto& each : clients_)
        for (auto& [queue, core] : each->queues) core->call([&, core = core] { core->add(queue); });
    return refuse(client, "upgrade: the new agent did not take over; this one goes on");
}

std::string Control::hinders(const Client& client, const protocol::Takeover& asked) const {
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(client.socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
        (peer.uid != ::geteuid() && peer.uid != 0))
        return "only this agent's user may";
    if (asked.version != handover::version)
        return "version " + std::to_string(asked.version) + " of what is handed over, this agent has " +
               std::to_string(handover::version) + "; stop it and start the new one";
    if (asked.ports != names_of(agent_))
        return "ports " + listed(asked.ports) + ", this agent has " + listed(names_of(agent_));
    for (const auto& each : clients_)
        for (const auto& [queue, core] : each->queues)
            if (queue->stays()) return "a client has coflows or sums, whose state stays here";
    return "";
}

// Hands over the state of all clients but the asking one; returns whether the other has it and this agent must end.
bool Control::hand_over(Client& successor) {
    handover::Line line(successor.socket.get());
    const handover::Counts counts{accepted_, cut_off_, requests_before_, clients_.size() - 1, others_, 0};
    const int listener = listener_.get();
    if (!line.send(answers, std::as_bytes(std::span(&counts, 1)), {&listener, 1})) return false;
    for (const auto& each : clients_) {
        if (each.get() == &successor) continue;
        handover::Client state{each->greeted, each->received, {}, {}};
        std::vector<int> descriptors{each->socket.get()};
        for (const auto& region : each->regions) {
            state.regions.push_back(region->size());
            descriptors.push_back(region->descriptor());
        }
        for (const auto& [queue, core] : each->queues) {
            state.queues.push_back(queue->state());
            descriptors.push_back(queue->bell());
        }
        for (const auto& spare : each->descriptors) descriptors.push_back(spare.get());
        if (!line.send(answers, handover::pack(state), descriptors)) return false;
    }
    std::uint32_t kind = 0;
    std::vector<std::byte> body;
    std::vector<Descriptor> none;
    if (!line.receive(kind, body, none) || kind != asks) return false;
    return line.send(answers, {});  // the word at which the other goes on
}

bool Control::take_over(const std::string& path, std::string& error) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    error = "--socket " + path + ": a socket path has at most 107 bytes";
    if (path.size() >= sizeof address.sun_path) return false;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        error = "--take-over " + path + ": " + std::strerror(errno);
        return false;
    }
    handover::Line line(socket.get());
    std::uint32_t kind = 0;
    std::vector<std::byte> body;
    std::vector<Descriptor> descriptors;
    const auto answered = [&](std::uint32_t expected) {
        const bool received = line.receive(kind, body, descriptors);
        if (received && kind == expected) return true;
        error = "--take-over " + path + ": " + (received && kind == protocol::error ? text_of(body) : "the agent there hung up");
        return false;
    };
    const protocol::Hello hello{protocol::version};
    const protocol::Upgrade version{handover::version};
    const std::string asked = text_of(std::as_bytes(std::span(&version, 1))) + names_of(agent_);
    if (!line.send(static_cast<std::uint32_t>(protocol::Kind::hello), std::as_bytes(std::span(&hello, 1))) ||
        !answered(protocol::reply | static_cast<std::uint32_t>(protocol::Kind::hello)) ||
        !line.send(asks, bytes_of(asked)) || !answered(answers))
        return false;
    error = "--take-over " + path + ": the agent there hands over what is none of this version";
    if (body.size() != sizeof(handover::Counts) || descriptors.size() != 1) return false;
    const auto counts = load<handover::Counts>(body.data());
    Descriptor listener = std::move(descriptors.front());
    for (std::uint64_t number = 0; number < counts.clients; ++number) {
        handover::Client state;
        if (!answered(answers)) return false;
        if (!handover::unpack(body, state) || !restore(state, std::move(descriptors), error)) {
            error = "--take-over " + path + ": " + error;
            return false;
        }
    }
    if (!line.send(asks, {}) || !answered(answers)) return false;
    listener_ = std::move(listener);
    path_ = path;
    others_ = counts.others != 0;
    accepted_ = counts.accepted;
    cut_off_ = counts.cut_off;
    requests_before_ = counts.requests;
    for (const auto& each : clients_)
        for (auto& [queue, core] : each->queues) core->call([&, core = core] { core->add(queue); });
    return true;
}

// A client as the other agent had it; its queues are on no core yet.
bool Control::restore(const handover::Client& state, std::vector<Descriptor> descriptors, std::string& error) {
    auto client = std::make_unique<Client>();
    error = "a client without its descriptors";
    if (descriptors.size() < 1 + state.regions.size() + state.queues.size()) return false;
    auto next = descriptors.begin();
    client->socket = std::move(*next++);
    client->received = state.received;
    client->greeted = state.greeted;
    for (const std::uint64_t size : state.regions) {
        auto region = Region::map(std::move(*next++), size, error);
        if (region == nullptr) return false;
        client->regions.push_back(std::move(region));
    }
    for (const QueueState& each : state.queues) {
        error = "a queue outside of its memory";
        if (each.asked.region >= client->regions.size() || !std::has_single_bit(each.asked.entries) ||
            !client->regions[each.asked.region]->holds(each.asked.offset, protocol::queue_bytes(each.asked.entries)))
            return false;
        auto queue = std::make_shared<Queue>(client->regions[each.asked.region], std::move(*next++), each);
        for (const auto& region : client->regions) queue->add(region);
        for (const auto& tables : each.tables)
            if (!queue->set_tables(tables, error)) return false;
        if (each.transport) {
            protocol::Transport asked = *each.transport;
            asked.flags |= protocol::resume;  // where its journal says
            error = "a transport on a port that there is not";
            if (asked.port >= agent_.ports.size() || !queue->open_transport(asked, *agent_.ports[asked.port], error))
                return false;
        }
        Core& core = fewest_queues();
        ++core.queues;
        client->queues.emplace_back(std::move(queue), &core);
    }
    std::move(next, descriptors.end(), std::back_inserter(client->descriptors));
    clients_.push_back(std::move(client));
    return true;
}

}  // namespace offramp
