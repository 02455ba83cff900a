// SPDX-License-Identifier: Apache-2.0
#include "upstream.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "free.hpp"
#include "numbers.hpp"

namespace offramp::store {
namespace {

constexpr std::int64_t again_ms = 500, report_ms = 1000;
constexpr std::int64_t stuck_ms = 60'000;  // after which a leader that owes an answer or a snapshot is given up
constexpr std::size_t read_bytes = std::size_t{256} << 10, most_line = 4096;
constexpr int most_turns = 16;

void keep_alive(int socket) {
    const auto set = [&](int level, int name, int value) { ::setsockopt(socket, level, name, &value, sizeof value); };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_NODELAY, 1);
}

}  // namespace

Upstream::Upstream(Service& service, int epoll) : service_(service), epoll_(epoll) {}

bool Upstream::lead(const std::string& host, std::uint16_t port, std::string& error) {
    LeaderState& leader = service_.replication.leader;
    if (port == 0) {
        if (leader.host.empty()) return true;
        close();
        if (leader.loading && !restore(error)) return false;
        leader = {};
        service_.store.follows = false;
        lose();
        return true;
    }
    addrinfo hints{}, *places = nullptr;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    const std::string numeric = host == "localhost" ? "127.0.0.1" : host;
    if (::getaddrinfo(numeric.c_str(), std::to_string(port).c_str(), &hints, &places) != 0)
        return error = "ERR the address of a store to follow is numeric", false;
    std::memcpy(&address_, places->ai_addr, places->ai_addrlen);
    address_length_ = places->ai_addrlen;
    ::freeaddrinfo(places);
    if (leader.host == host && leader.port == port) return true;
    close();
    lose();
    leader.host = host;
    leader.port = port;
    service_.store.follows = true;
    next_ms_ = 0;
    return true;
}

// A part of a snapshot is nobody's data: the store becomes what it was before, as far as its folder has it.
bool Upstream::restore(std::string& error) {
    Store& store = service_.store;
    store.clear();
    if (disk_ != nullptr && !disk_->restore(store, error)) return error.insert(0, "ERR "), false;
    if (disk_ != nullptr) store.attach(&disk_->log());
    return true;
}

// What is followed now, and what follows this store, has nothing to do with what was before.
void Upstream::lose() {
    id_ = "?";
    service_.replication.leader.place = 0;
    if (service_.replication.feed != nullptr) {
        service_.replication.feed = std::make_unique<Feed>(service_.replication.backlog);
        service_.store.attach(service_.replication.feed.get());
    }
    for (const Follower& each : service_.replication.followers) ::shutdown(each.session->socket, SHUT_RDWR);
}

void Upstream::close() {
    if (stage_ == Stage::loading) id_ = "?";
    socket_ = Descriptor();
    stage_ = Stage::none;
    free_memory(in_);
    free_memory(input_);
    used_ = 0;
    service_.replication.leader.up = false;
    next_ms_ = service_.store.now_ms() + again_ms;
}

void Upstream::connect() {
    socket_ = Descriptor(::socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket_.get() < 0) return close();
    keep_alive(socket_.get());
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address_), address_length_) != 0 && errno != EINPROGRESS) return close();
    stage_ = Stage::connecting;
    heard_ms_ = service_.store.now_ms();
    input_.resize(read_bytes);
    epoll_event event{};
    event.events = EPOLLOUT;
    event.data.fd = socket_.get();
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket_.get(), &event);
}

void Upstream::say(const std::vector<std::string>& words) {
    std::string text = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) close();
}

// Says what comes next.
void Upstream::advance() {
    Replication& replication = service_.replication;
    if (stage_ == Stage::connecting && !service_.password.empty()) {
        stage_ = Stage::proving;
        say({"AUTH", service_.password});
    } else if (stage_ == Stage::connecting || stage_ == Stage::proving) {
        stage_ = Stage::introducing;
        say({"REPLCONF", "run-id", service_.run_id, "listening-port", std::to_string(service_.port)});
    } else {
        stage_ = Stage::asking;
        say({"FOLLOW", id_, std::to_string(replication.leader.place)});
    }
}

void Upstream::step(std::uint32_t events) {
    if (stage_ == Stage::connecting) {
        int fault = 0;
        socklen_t length = sizeof fault;
        if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &fault, &length) != 0 || fault != 0) return close();
        if ((events & EPOLLOUT) == 0) return;
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = socket_.get();
        ::epoll_ctl(epoll_, EPOLL_CTL_MOD, socket_.get(), &event);
        return advance();
    }
    try {
        for (int i = 0; i < most_turns && stage_ != Stage::none; ++i) {
            const ssize_t count = ::recv(socket_.get(), input_.data(), input_.size(), 0);
            if (count < 0 && (errno == EAGAIN || errno == EINTR)) break;
            if (count <= 0) return close();
            in_.append(input_.data(), static_cast<std::size_t>(count));
            service_.replication.leader.heard_ms = heard_ms_ = service_.store.now_ms();
            while (stage_ != Stage::none && (stage_ < Stage::loading ? take_answer() : take_record())) {}
            in_.erase(0, used_);
            used_ = 0;
        }
    } catch (const std::bad_alloc&) {
        id_ = "?";
        close();
    }
    service_.seen.clear();  // nobody has asked
    report_due_ = true;
}

bool Upstream::take_answer() {
    const std::size_t end = in_.find("\r\n", used_);
    if (end == std::string::npos) {
        if (in_.size() - used_ > most_line) close();
        return false;
    }
    const std::string line = in_.substr(used_, end - used_);
    used_ = end + 2;
    if (!answered(line)) close();
    return stage_ != Stage::none;
}

bool Upstream::answered(std::string_view line) {
    LeaderState& leader = service_.replication.leader;
    if (stage_ != Stage::asking) {
        if (line != "+OK") return false;
        advance();
        return true;
    }
    std::string_view words = line;
    const std::string_view kind = next_word(words), id = next_word(words), place = next_word(words), number = next_word(words);
    if (kind == "+CONTINUE") {
        stage_ = Stage::online;
        leader.up = true;
        return true;
    }
    if (kind != "+FULLRESYNC" || !parse_number(place, leader.place) || !parse_number(number, number_)) return false;
    id_ = id;
    stage_ = Stage::loading;
    leader.loading = true;
    number_ = 0;  // snapshots count their records for themselves
    // Until the snapshot is whole, a restart brings back what the folder has.
    service_.store.attach(static_cast<Log*>(nullptr));
    service_.store.attach(static_cast<Feed*>(nullptr));
    service_.store.clear();
    return true;
}

bool Upstream::take_record() {
    Store& store = service_.store;
    const std::string_view rest = std::string_view(in_).substr(used_);
    const std::size_t bytes = record_bytes(rest);
    if (bytes > record_header + most_record) return id_ = "?", close(), false;
    if (bytes == 0 || rest.size() < bytes) return false;
    RecordReader reader(rest.substr(0, bytes));
    const bool loading = stage_ == Stage::loading;
    // Without room for its record a change is not applied: the connection is given up, and tried again.
    if (!loading && !service_.loggable(bytes)) return close(), false;
    bool good = reader.next(number_ + 1), whole = false;
    for (Change change; good && reader.change(change);) {
        if (change.kind == Kind::end) {
            whole = loading;
            number_ = static_cast<std::uint64_t>(change.expires_ms);
        } else {
            good = store.follow(change);
        }
    }
    store.seal();
    if (!good) return id_ = "?", close(), false;
    used_ += bytes;
    if (whole) return finish_loading();
    ++number_;
    if (!loading) service_.replication.leader.place += bytes;
    return true;
}

// The snapshot becomes what a restart begins with.
bool Upstream::finish_loading() {
    std::string error;
    if (disk_ != nullptr) {
        if (disk_->saving()) disk_->saved(true, error);
        error.clear();
        if (!disk_->save(service_.store, error) || !disk_->saved(true, error) || !error.empty()) return close(), false;
        service_.store.attach(&disk_->log());
    }
    service_.replication.leader.loading = false;
    service_.replication.leader.up = true;
    stage_ = Stage::online;
    const std::string id = id_;
    const std::uint64_t place = service_.replication.leader.place;
    lose();
    id_ = id;
    service_.replication.leader.place = place;
    return true;
}

void Upstream::report() {
    if (stage_ != Stage::online || !report_due_) return;
    report_due_ = false;
    next_report_ms_ = service_.store.now_ms() + report_ms;
    say({"REPLCONF", "ACK", std::to_string(service_.replication.leader.place)});
}

void Upstream::rare() {
    const std::int64_t now = service_.store.now_ms();
    if (service_.replication.leader.host.empty()) return;
    if (stage_ != Stage::none && stage_ != Stage::online && now - heard_ms_ > stuck_ms) close();
    if (stage_ == Stage::none && now >= next_ms_) connect();
    report_due_ |= now >= next_report_ms_;
}

}  // namespace offramp::store
