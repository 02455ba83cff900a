// SPDX-License-Identifier: Apache-2.0
// The server: one thread that waits for all connections with epoll, executes what they say, logs it and answers.
//
// A round is: read from those that are readable and execute; write the log; send answers; take turns. No client waits long for what
// others want: whoever is new, sends or asks for much waits in a line for turns, in which he is accepted, or a slice of what he
// sends is read, of his commands executed, or of his answers sent. A round has turns for a few dozen microseconds. An answer leaves when everything that
// it may have seen survives what the log's policy promises, so that with `always` all connections share one sync (group commit), and
// once all guards of its keys have it, too (`guards.hpp`).
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "descriptor.hpp"
#include "disk.hpp"
#include "pacer.hpp"
#include "service.hpp"
#include "upstream.hpp"

namespace offramp::store {

enum class Protocol { resp, memcached };

struct Settings {
    Limits limits;
    std::string password, folder;  // no folder: nothing is kept
    Sync sync = Sync::every_second;
    bool cut = false;
    std::uint32_t connections = 10'000;
    std::uint32_t spin_us = 50;  // at most, before it sleeps; 0: never
    Policy eviction = Policy::none;
    std::size_t backlog = std::size_t{16} << 20;
};

class Server {
  public:
    explicit Server(const Settings& settings);
    ~Server();

    bool open(std::string& error);
    // Takes over a socket that listens, or one whose peer is proved. From any thread.
    void listen(int socket, Protocol protocol);
    void adopt(int socket, Protocol protocol);
    // Makes it a shard of a cluster, before it runs.
    void join(Cluster cluster) { service_.cluster = std::move(cluster); }
    // Follows another store from its beginning on, before it runs; false, with the reason, where the address is none.
    bool follow(const std::string& host, std::uint16_t leader_port, std::uint16_t port, std::string& error);
    // Serves until `stop`, which any thread and any signal handler may call.
    void run();
    void stop();

    [[nodiscard]] const Disk* disk() const { return disk_.get(); }
    [[nodiscard]] const Store& store() const { return store_; }
    [[nodiscard]] const Totals& totals() const { return service_.totals; }

  private:
    struct Connection;
    struct Listening {
        Descriptor socket;
        Protocol protocol;
        bool lined_up = false;
    };
    struct Arrival {
        int socket;
        Protocol protocol;
        bool listens;
    };

    int wait(epoll_event* events, std::int64_t done_ns);
    void handle(int socket, std::uint32_t what);
    void take_arrivals();
    void watch(int socket, std::uint32_t events, int how);
    void ring();
    void accept(Listening& listening);
    void welcome(Descriptor socket, Protocol protocol, bool trusted);
    void read(Connection& connection);
    void execute(Connection& connection);
    void consume(Connection& connection);
    void note(Connection& connection);
    void mark(Connection& connection, const std::vector<std::uint64_t>& seen);
    void deliver(const std::vector<std::uint64_t>& seen);
    void account(Connection& connection);
    void evict();
    [[nodiscard]] std::size_t most_buffers() const;
    void give_back_memory();
    void queue(Connection& connection);
    void line_up(Connection& connection);
    void line_up(Listening& listening);
    void take_turns();
    void take_turn(Connection& connection);
    void silence(Connection& connection);
    void hold(Connection& connection);
    void finish_round();
    std::string begin_follower(Session& session, std::string_view id, std::uint64_t place);
    void feed_followers();
    void watch_followers();
    void acknowledge(Session& session, std::uint64_t place);
    void forget_follower(Session& session);
    void settle_waits();
    void tell_guards();
    void give_up_log();
    [[nodiscard]] std::uint64_t settled(Connection& connection);
    void send(Connection& connection);
    void send_slice(Connection& connection, std::uint64_t end);
    void rest(Connection& connection);
    void release_held();
    void close(Connection& connection);
    void rare();
    void turn_out_silent();
    void turn_out_late_guards();
    void watch_snapshot();
    void finish_snapshot(const std::string& error);
    std::string save(bool wait);
    [[nodiscard]] std::vector<Client> clients() const;

    Settings settings_;
    Store store_;
    Service service_;
    std::unique_ptr<Disk> disk_;
    Pacer pacer_;
    Descriptor epoll_, bell_, spare_;
    std::vector<std::unique_ptr<Listening>> listening_;
    std::unordered_map<int, std::unique_ptr<Connection>> connections_;
    Upstream upstream_;
    std::vector<Connection*> answered_, held_, waiting_;
    std::deque<int> line_;  // sockets of those that wait for a turn
    std::vector<char> input_;
    std::mutex mutex_;
    std::vector<Arrival> arrivals_;
    std::atomic<bool> stop_ = false;
    std::int64_t next_rare_ms_ = 0, next_save_ms_ = 0, next_trim_ms_ = 0;
    std::size_t freed_bytes_ = 0;  // that clients held, since memory was given back
    unsigned ahead_ = 0;  // clients that may still be served in this round in the order of what they sent, before turns begin
    bool busy_ = false;
};

}  // namespace offramp::store
