// SPDX-License-Identifier: Apache-2.0
// The control socket: clients come and go here; what they ask for is checked here and done on a core.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core.hpp"
#include "descriptor.hpp"
#include "protocol.hpp"

namespace offramp {

namespace handover {
struct Client;
}

struct Agent {
    std::vector<std::unique_ptr<Port>> ports;
    std::vector<std::unique_ptr<Core>> cores;
    std::string compression;  // name of the device; empty: there is none
};

class Control {
  public:
    explicit Control(Agent& agent);
    ~Control();
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;

    // Listens; returns false and the reason if the path is taken or cannot be used.
    bool listen(const std::string& path, unsigned mode, std::string& error);
    // Replaces the agent that listens there, with its clients; returns false and the reason if that one goes on.
    bool take_over(const std::string& path, std::string& error);
    // Serves clients until `stop` is readable or another agent has taken over.
    void run(int stop);

  private:
    struct Client;

    // False where nobody waits any more.
    bool accept();
    bool make_room();
    // False where the client is gone or to be cut off.
    bool receive(Client& client);
    bool take_messages(Client& client);
    bool serve(Client& client, std::uint32_t kind, Bytes body);
    bool refuse(Client& client, const std::string& error);
    bool reply(Client& client, std::uint32_t kind, Bytes body, int descriptor = -1);
    bool hello(Client& client, const protocol::Hello& asked);
    bool map(Client& client, const protocol::Map& asked);
    bool queue(Client& client, const protocol::Queue& asked);
    bool tables(Client& client, const protocol::Tables& asked);
    bool transport(Client& client, const protocol::Transport& asked);
    bool coflows(Client& client, const protocol::Coflows& asked);
    bool rank(Client& client, const protocol::Rank& asked);
    template <typename Asked>
    bool on_port(Client& client, const Asked& asked, const char* what,
                 bool (Queue::*open)(const Asked&, Port&, std::string&), std::uint32_t kind);
    bool stats(Client& client);
    bool upgrade(Client& client, const protocol::Takeover& asked);
    // Why the state cannot be another agent's; empty where it can.
    [[nodiscard]] std::string hinders(const Client& client, const protocol::Takeover& asked) const;
    bool hand_over(Client& successor);
    bool restore(const handover::Client& state, std::vector<Descriptor> descriptors, std::string& error);
    Core& fewest_queues();
    void leave(Client& client);

    Agent& agent_;
    Descriptor listener_;
    std::string path_;
    bool handed_over_ = false;  // to another agent
    bool others_ = false;  // the socket's permissions let other users in
    std::vector<std::unique_ptr<Client>> clients_;
    std::uint64_t accepted_ = 0, cut_off_ = 0, requests_before_ = 0;
};

}  // namespace offramp
