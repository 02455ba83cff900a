// SPDX-License-Identifier: Apache-2.0
#include "server.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "connection.hpp"
#include "free.hpp"
#include "memcached/session.hpp"
#include "resp/commands.hpp"
#include "resp/session.hpp"

namespace offramp::store {
namespace {

constexpr std::size_t slice_bytes = std::size_t{128} << 10;  // that are sent to a connection in a turn
constexpr std::size_t part_bytes = std::size_t{32} << 10;    // that are read from it: of a command that may never be whole,
constexpr std::size_t input_bytes = std::size_t{66} << 10;   // and of one of a client that has sent others, with a value of 64 KiB
constexpr std::size_t short_in = std::size_t{4} << 10, short_out = std::size_t{16} << 10;  // bytes that need no turn of their own
constexpr unsigned known = 8;                               // short requests, after which a client need not wait for a turn
constexpr unsigned most_ahead = 4;                          // others' short requests in a round that need not where nobody waits
constexpr std::int64_t turns_ns = 40'000;                   // of a round, for turns; they end sooner behind
constexpr std::uint64_t turn_commands = 128;                // so many commands, or a slice of bytes
constexpr std::size_t slice_pieces = 64;
constexpr std::size_t most_reserved = std::size_t{1} << 20;  // bytes of memory for a command, before they have come
constexpr std::size_t most_held = std::size_t{1} << 20;
constexpr std::size_t all_buffers = std::size_t{512} << 20;   // of all clients together, where the memory has no limit
constexpr std::size_t least_buffers = std::size_t{20} << 20;  // where it has one: the longest command fits
constexpr std::size_t trimmed_bytes = std::size_t{16} << 20;  // that clients no longer hold, before the process gives them back
constexpr std::int64_t rare_ms = 100, proof_ms = 5000, trim_ms = 1000;
constexpr std::int64_t guard_ms = 2000;      // in which a guard releases a change
constexpr std::int64_t save_again_ms = 5000;  // from a snapshot that failed to the next that nobody has asked for
constexpr std::size_t most_strangers = 256;
constexpr int most_events = 256;                   // in a round
constexpr int most_unsent = 512 << 10;             // bytes that the kernel takes beyond those on their way
constexpr std::uint32_t spare_descriptors = 64;

// Sets what a connection has, or one that will be accepted from a socket that listens. A client that reads slowly makes the kernel
// hold no more than it can use.
void prepare(int socket) {
    const int on = 1;
    ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most_unsent, sizeof most_unsent);
    ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

// Bytes that have come and are not read.
std::size_t waiting_bytes(int socket) {
    int bytes = 0;
    ::ioctl(socket, FIONREAD, &bytes);
    return static_cast<std::size_t>(bytes);
}

// Sends up to `most` bytes of what waits.
ssize_t send_some(int socket, const Answer& out, std::size_t most) {
    if (out.plain()) return ::send(socket, out.text().data(), most, MSG_NOSIGNAL);
    std::array<iovec, slice_pieces> pieces;
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = out.gather(pieces, most);
    return ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

// HOST:PORT of an end, or "unix".
std::string address_of(int socket, int (*end)(int, sockaddr*, socklen_t*)) {
    sockaddr_storage place{};
    socklen_t length = sizeof place;
    auto* at = reinterpret_cast<sockaddr*>(&place);
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> port{};
    if (end(socket, at, &length) != 0 || place.ss_family == AF_UNIX ||
        ::getnameinfo(at, length, host.data(), host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return "unix";
    return std::string(host.data()) + ":" + port.data();
}

}  // namespace

Server::Server(const Settings& settings)
    : settings_(settings),
      store_(settings.limits),
      service_(store_),
      pacer_(settings.spin_us),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      spare_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      upstream_(service_, epoll_.get()),
      input_(input_bytes) {
    store_.eviction().policy(settings.eviction);
    service_.replication.backlog = settings.backlog;
    service_.password = settings.password;
    service_.run_id = random_id();
    service_.began_ms = store_.now_ms();
    service_.saved_s = store_.now_ms() / 1000;
    service_.clients = [this] { return clients(); };
    service_.kill = [this](std::uint64_t id) {
        for (auto& [socket, each] : connections_)
            if (each->session->id == id) each->gone = true, queue(*each);  // the round that ends it is this one
    };
    service_.replication.follow = [this](Session& session, std::string_view id, std::uint64_t place) {
        return begin_follower(session, id, place);
    };
    service_.replication.acknowledge = [this](Session& session, std::uint64_t place) { acknowledge(session, place); };
    service_.replication.lead = [this](const std::string& host, std::uint16_t port) {
        std::string error;
        upstream_.lead(host, port, error);
        return error;
    };
    watch(bell_.get(), EPOLLIN, EPOLL_CTL_ADD);
}

Server::~Server() {
    for (const Arrival& each : arrivals_) ::close(each.socket);
}

bool Server::open(std::string& error) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, settings_.connections + spare_descriptors);
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (settings_.folder.empty()) return true;
    disk_ = std::make_unique<Disk>(settings_.folder, settings_.sync, bell_.get());
    if (!disk_->open(store_, settings_.cut, error)) return false;
    store_.attach(&disk_->log());
    upstream_.keep(disk_.get());
    service_.save = [this](bool wait) { return save(wait); };
    return true;
}

void Server::watch(int socket, std::uint32_t events, int how) {
    epoll_event event{};
    event.events = events;
    event.data.fd = socket;
    ::epoll_ctl(epoll_.get(), how, socket, &event);
}

void Server::listen(int socket, Protocol protocol) {
    const std::lock_guard lock(mutex_);
    arrivals_.push_back({socket, protocol, true});
    ring();
}

void Server::adopt(int socket, Protocol protocol) {
    const std::lock_guard lock(mutex_);
    arrivals_.push_back({socket, protocol, false});
    ring();
}

void Server::stop() {
    stop_.store(true, std::memory_order_release);
    ring();
}

void Server::ring() {
    ::eventfd_write(bell_.get(), 1);
}

int Server::wait(epoll_event* events, std::int64_t done_ns) {
    if (busy_) return ::epoll_wait(epoll_.get(), events, most_events, 0);
    for (const std::int64_t look_ns = pacer_.look_ns(); look_ns > 0 && Pacer::now_ns() - done_ns < look_ns;)
        if (const int count = ::epoll_wait(epoll_.get(), events, most_events, 0); count != 0) return count;
    return ::epoll_wait(epoll_.get(), events, most_events, static_cast<int>(rare_ms));
}

void Server::run() {
    std::array<epoll_event, most_events> events;
    std::int64_t done_ns = Pacer::now_ns();
    while (!stop_.load(std::memory_order_acquire)) {
        const int count = wait(events.data(), done_ns);
        store_.look_at_clock();
        busy_ = false;
        ahead_ = line_.empty() ? most_ahead : 0;
        for (int i = 0; i < count; ++i) handle(events[static_cast<std::size_t>(i)].data.fd, events[static_cast<std::size_t>(i)].events);
        if (store_.now_ms() >= next_rare_ms_) rare();
        finish_round();
        take_turns();
        ++service_.totals.rounds;
        done_ns = Pacer::now_ns();
        pacer_.done(done_ns, service_.totals.bytes_in + service_.totals.bytes_out);
    }
    if (disk_ != nullptr && disk_->log().write()) disk_->log().sync();
    release_held();
    finish_round();
}

void Server::handle(int socket, std::uint32_t what) {
    if (const auto client = connections_.find(socket); client != connections_.end()) {
        Connection& connection = *client->second;
        if (connection.finishing && (what & (EPOLLHUP | EPOLLERR)) != 0) connection.gone = true;
        if (connection.gone || (what & EPOLLOUT) != 0) queue(connection);
        if ((what & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0 || connection.deaf || connection.gone) return;
        if (connection.short_requests == known && !connection.lined_up) return read(connection);
        if (ahead_ > 0 && line_.empty() && connection.brief() && waiting_bytes(socket) <= short_in) return --ahead_, read(connection);
        connection.readable = true;
        line_up(connection);
    } else if (socket == bell_.get()) {
        eventfd_t ignored = 0;
        ::eventfd_read(bell_.get(), &ignored);
        release_held();
        take_arrivals();
    } else if (socket == upstream_.socket()) {
        upstream_.step(what);
    } else {
        for (auto& each : listening_)
            if (each->socket.get() == socket) return line_up(*each);
    }
}

void Server::take_arrivals() {
    std::vector<Arrival> arrivals;
    {
        const std::lock_guard lock(mutex_);
        arrivals.swap(arrivals_);
    }
    for (const Arrival& each : arrivals) {
        prepare(each.socket);
        if (!each.listens) {
            welcome(Descriptor(each.socket), each.protocol, true);
            continue;
        }
        listening_.push_back(std::make_unique<Listening>(Listening{Descriptor(each.socket), each.protocol}));
        watch(each.socket, EPOLLIN, EPOLL_CTL_ADD);
    }
}

void Server::queue(Connection& connection) {
    if (!connection.queued) answered_.push_back(&connection);
    connection.queued = true;
}

void Server::accept(Listening& listening) {
    Descriptor socket(::accept4(listening.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) {
        if (errno != EMFILE && errno != ENFILE) return;
        // Without a descriptor of its own the connection cannot even be closed, and would be announced for ever.
        spare_ = Descriptor();
        const Descriptor refused(::accept4(listening.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
        spare_ = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        ++service_.totals.refused;
        return;
    }
    line_up(listening);  // there may be others
    ucred peer{};
    socklen_t length = sizeof peer;
    int domain = 0;
    socklen_t domain_length = sizeof domain;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &domain_length);
    const bool foreign = domain == AF_UNIX && (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
                                               (peer.uid != ::geteuid() && peer.uid != 0));
    if (foreign || connections_.size() >= settings_.connections) {
        ++service_.totals.refused;
        return;
    }
    welcome(std::move(socket), listening.protocol, false);
}

void Server::welcome(Descriptor socket, Protocol protocol, bool trusted) {
    const int fd = socket.get();
    auto connection = std::make_unique<Connection>();
    connection->socket = std::move(socket);
    if (protocol == Protocol::resp)
        connection->session = std::make_unique<resp::RespSession>(service_, trusted);
    else
        connection->session = std::make_unique<memcached::MemcachedSession>(service_, trusted);
    connection->session->id = service_.next_id++;
    connection->session->socket = fd;
    connection->session->peer = address_of(fd, ::getpeername);
    connection->since_ms = connection->heard_ms = store_.now_ms();
    connections_[fd] = std::move(connection);
    ++service_.totals.connections;
    service_.totals.open = connections_.size();
    watch(fd, EPOLLIN, EPOLL_CTL_ADD);
}

void Server::read(Connection& connection) {
    if (connection.deaf || connection.gone) return;
    Session& session = *connection.session;
    std::string& in = connection.in;
    connection.heard_ms = store_.now_ms();
    const std::size_t most = connection.served && in.empty() ? input_.size() : part_bytes;
    const ssize_t count = ::recv(connection.socket.get(), input_.data(), most, 0);
    if (count > 0) {
        service_.totals.bytes_in += static_cast<std::size_t>(count);
        const std::string_view came(input_.data(), static_cast<std::size_t>(count));
        if (session.ended()) {
            in.clear();
        } else if (in.empty()) {
            const std::size_t used = session.consume(came, connection.out);
            if (used < came.size()) in.reserve(std::min(session.needs(), most_reserved)), in.assign(came.substr(used));
        } else {
            in.append(came);
            if (in.size() >= session.needs()) consume(connection);
        }
        const bool brief = came.size() <= short_in && in.empty() && connection.out.waiting() <= short_out;
        connection.served |= in.size() < came.size();
        connection.short_requests = brief ? std::min(connection.short_requests + 1, known) : 0;
        if (connection.executable()) line_up(connection);
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        connection.finishing = true;
        connection.gone |= count < 0;
        silence(connection);
    }
    note(connection);
}

// Goes on with commands that were more than enough for a round, or had to wait until answers were taken.
void Server::execute(Connection& connection) {
    consume(connection);
    note(connection);
}

// What is executed does not count as held: commands find the memory as if it had come at once.
void Server::consume(Connection& connection) {
    const std::size_t counted = std::min(connection.footprint, connection.in.size());
    connection.footprint -= counted;
    store_.buffers -= counted;
    drop_front(connection.in, connection.session->consume(connection.in, connection.out));
}

// Lets a connection wait for a turn of its own.
void Server::line_up(Connection& connection) {
    if (!connection.lined_up) line_.push_back(connection.socket.get());
    connection.lined_up = true;
}

void Server::line_up(Listening& listening) {
    if (!listening.lined_up) line_.push_back(listening.socket.get());
    listening.lined_up = true;
}

// For a while, slices of the work of those that have waited longest. Clients that are served by the way wait no longer than that.
void Server::take_turns() {
    if (line_.empty()) return;
    busy_ = true;  // another round finishes what turns leave
    const Totals& totals = service_.totals;
    const std::int64_t end_ns = Pacer::now_ns() + turns_ns;
    const std::uint64_t end_bytes = totals.bytes_in + totals.bytes_out + slice_bytes, end_commands = totals.commands + turn_commands;
    do {
        const int socket = line_.front();
        line_.pop_front();
        if (const auto client = connections_.find(socket); client != connections_.end()) take_turn(*client->second);
        for (auto& each : listening_)
            if (each->socket.get() == socket) {
                each->lined_up = false;
                accept(*each);
            }
    } while (!line_.empty() && totals.bytes_in + totals.bytes_out < end_bytes && totals.commands < end_commands && Pacer::now_ns() < end_ns);
}

void Server::take_turn(Connection& connection) {
    connection.lined_up = false;
    const std::uint64_t end = settled(connection);
    if (connection.gone || connection.out.sent() < end) return send_slice(connection, end);
    if (connection.executable()) return execute(connection);
    if (std::exchange(connection.readable, false)) read(connection);
}

void Server::note(Connection& connection) {
    const std::vector<std::uint64_t> seen = std::exchange(service_.seen, {});
    mark(connection, seen);
    if (connection.session->wait && std::find(waiting_.begin(), waiting_.end(), &connection) == waiting_.end())
        waiting_.push_back(&connection);
    if (service_.pubsub.posted()) deliver(seen);
}

// Hands messages to those who listen. They show what the publisher's answer shows, and wait for the same.
void Server::deliver(const std::vector<std::uint64_t>& seen) {
    for (const PubSub::Posted& each : service_.pubsub.take_posted()) {
        Connection& connection = *connections_.at(each.to->socket);
        if (connection.gone) continue;
        connection.out.append(each.bytes.text());
        connection.gone |= connection.out.waiting() > most_answer;  // it does not listen
        mark(connection, seen);
    }
}

void Server::mark(Connection& connection, const std::vector<std::uint64_t>& seen) {
    // Marks that wait have to be followed by marks: what is behind them may not overtake them.
    if (disk_ != nullptr || !connection.marks.empty() || !seen.empty())
        connection.mark(disk_ == nullptr ? 0 : disk_->log().number(), seen);
    account(connection);
    if (store_.held() > most_buffers()) evict();
    queue(connection);
}

void Server::account(Connection& connection) {
    const std::size_t bytes = connection.in.size() + connection.out.footprint() + connection.session->footprint();
    if (bytes + kept_bytes < connection.footprint) freed_bytes_ += connection.footprint - bytes;
    store_.buffers += bytes - connection.footprint;
    connection.footprint = bytes;
}

// An eighth of the memory at most, and no more than the data leave; but the longest command always fits.
std::size_t Server::most_buffers() const {
    const std::uint64_t memory = store_.limits().memory;
    if (memory == 0) return all_buffers;
    const std::uint64_t left = memory - std::min<std::uint64_t>(memory, store_.used());
    return std::max<std::size_t>(least_buffers, std::min(memory / 8, left));
}

// Closes the connections that hold most. Values that their answers show count: without them, some would have left the memory.
void Server::evict() {
    const auto extent = [](const Connection& each) { return each.footprint + each.out.extent(); };
    while (store_.held() > most_buffers()) {
        Connection* worst = nullptr;
        for (auto& [socket, each] : connections_)
            if (!each->gone && (worst == nullptr || extent(*each) > extent(*worst))) worst = each.get();
        if (worst == nullptr || extent(*worst) == 0) return;
        ++service_.totals.evicted;
        worst->gone = true;
        free_memory(worst->in);
        worst->out.release();
        worst->session->release();
        account(*worst);
        queue(*worst);
    }
}

void Server::silence(Connection& connection) {
    if (!connection.deaf) watch(connection.socket.get(), 0, EPOLL_CTL_MOD);
    connection.deaf = true;
}

void Server::finish_round() {
    while (true) {
        tell_guards();
        if (service_.pubsub.posted()) deliver({});
        if (service_.replication.feed != nullptr) feed_followers();
        if (service_.guards.rose()) release_held();
        if (disk_ != nullptr && !disk_->log().write()) give_up_log();
        if (answered_.empty()) break;
        std::vector<Connection*> round;
        round.swap(answered_);
        for (Connection* each : round) {
            each->queued = false;
            send(*each);
        }
    }
    upstream_.report();
}

void Server::tell_guards() {
    for (const Guards::Notice& notice : service_.guards.take_notices())
        for (auto& [socket, each] : connections_)
            if (each->session->id == notice.to) {
                resp::tell_change(each->out, store_, notice);
                note(*each);
                each->gone |= each->out.waiting() > most_answer;  // it does not listen
                break;
            }
}

// A change that was not logged must not be acknowledged: it may not survive. Reads go on.
void Server::give_up_log() {
    for (auto& [socket, each] : connections_)
        if (!each->marks.empty() && each->marks.back().number > disk_->log().durable()) {
            each->gone = true;
            queue(*each);
        }
    disk_->log().give_up();
}

// How far its answers may leave.
std::uint64_t Server::settled(Connection& connection) {
    if (disk_ == nullptr && connection.marks.empty()) return connection.out.position();
    return connection.settled(disk_ == nullptr ? 0 : disk_->log().durable(), service_.guards);
}

// Sends a short answer; a long one waits for turns of its own.
void Server::send(Connection& connection) {
    const std::uint64_t end = settled(connection);
    if (!connection.gone && end > connection.out.sent() + slice_bytes) return line_up(connection);
    send_slice(connection, end);
}

void Server::send_slice(Connection& connection, std::uint64_t end) {
    Answer& out = connection.out;
    for (std::size_t left = std::min<std::uint64_t>(end - out.sent(), slice_bytes); left > 0 && !connection.gone;) {
        const ssize_t count = send_some(connection.socket.get(), out, left);
        if (count > 0) {
            out.advance(static_cast<std::size_t>(count));
            left -= static_cast<std::size_t>(count);
            service_.totals.bytes_out += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN) {
            watch(connection.socket.get(), EPOLLOUT | EPOLLONESHOT, EPOLL_CTL_MOD);
            connection.deaf = true;
            return account(connection);
        } else if (errno != EINTR) {
            connection.gone = true;
        }
    }
    if (connection.gone) return close(connection);
    if (out.sent() < end) return account(connection), line_up(connection);
    if (!out.empty()) return hold(connection);
    if (connection.session->ended()) return close(connection);
    connection.marks.clear();
    if (connection.in.empty() && connection.in.capacity() > kept_bytes) connection.in.shrink_to_fit();
    account(connection);
    rest(connection);
}

// All answers of a connection are sent: what comes next.
void Server::rest(Connection& connection) {
    if (connection.executable()) return line_up(connection);
    if (connection.finishing && !connection.queued) return close(connection);
    if (connection.deaf && !connection.finishing) {
        connection.deaf = false;
        watch(connection.socket.get(), EPOLLIN, EPOLL_CTL_MOD);
    }
}

// Answers wait for the disk.
void Server::hold(Connection& connection) {
    account(connection);
    if (!connection.held) held_.push_back(&connection);
    connection.held = true;
    if (connection.out.waiting() > most_held) silence(connection);
}

void Server::release_held() {
    if (disk_ != nullptr && disk_->log().failed()) give_up_log();
    std::vector<Connection*> waiting;
    waiting.swap(held_);
    for (Connection* each : waiting) {
        each->held = false;
        queue(*each);
    }
}

void Server::close(Connection& connection) {
    std::erase(held_, &connection);
    std::erase(answered_, &connection);
    std::erase(waiting_, &connection);
    if (connection.lined_up) std::erase(line_, connection.socket.get());
    forget_follower(*connection.session);
    store_.buffers -= connection.footprint;
    freed_bytes_ += connection.footprint;
    connections_.erase(connection.socket.get());
    service_.totals.open = connections_.size();
}

void Server::rare() {
    next_rare_ms_ = store_.now_ms() + rare_ms;
    if (service_.flush_at_ms != 0 && !store_.follows && store_.now_ms() >= service_.flush_at_ms && service_.loggable(record_header + change_header)) {
        store_.clear();
        store_.seal();
        service_.flush_at_ms = 0;
    }
    busy_ = store_.tidy();
    service_.seen.clear();  // nobody has asked
    if (busy_) next_rare_ms_ = store_.now_ms();
    turn_out_silent();
    turn_out_late_guards();
    give_back_memory();
    if (disk_ != nullptr) watch_snapshot();
    watch_followers();
    settle_waits();
    upstream_.rare();
}

// Buffers of clients that lie among values stay with the process when they are freed, unless it looks for them.
void Server::give_back_memory() {
    if (freed_bytes_ < trimmed_bytes || store_.now_ms() < next_trim_ms_) return;
    ::malloc_trim(0);
    freed_bytes_ = 0;
    next_trim_ms_ = store_.now_ms() + trim_ms;
}

// Strangers have five seconds to show the password.
void Server::turn_out_silent() {
    if (service_.password.empty()) return;
    std::vector<Connection*> strangers;
    for (auto& [socket, each] : connections_)
        if (!each->session->proved()) strangers.push_back(each.get());
    std::sort(strangers.begin(), strangers.end(), [](const auto* a, const auto* b) { return a->session->id > b->session->id; });
    for (std::size_t i = 0; i < strangers.size(); ++i)
        if (i >= most_strangers || store_.now_ms() - strangers[i]->since_ms > proof_ms) {
            ++service_.totals.refused;
            close(*strangers[i]);
        }
}

// A guard that does not release a change holds up its own keys, for a while.
void Server::turn_out_late_guards() {
    for (const Guards::Connection late : service_.guards.late(store_.now_ms() - guard_ms))
        for (auto& [socket, each] : connections_)
            if (each->session->id == late) {
                ++service_.totals.refused;
                close(*each);
                break;
            }
}

void Server::watch_snapshot() {
    std::string error;
    if (disk_->saved(false, error)) finish_snapshot(error);
    service_.saving = disk_->saving();
    if (disk_->due() && !service_.replication.leader.loading && store_.now_ms() >= next_save_ms_ && !save(false).empty()) finish_snapshot("it could not begin");
}

void Server::finish_snapshot(const std::string& error) {
    service_.save_failed = !error.empty();
    if (error.empty()) service_.saved_s = store_.now_ms() / 1000;
    else next_save_ms_ = store_.now_ms() + save_again_ms;
}

std::string Server::save(bool wait) {
    std::string error;
    if (service_.replication.leader.loading) return "a part of a snapshot is not kept";
    if (!disk_->save(store_, error)) return error;
    if (wait && disk_->saved(true, error)) finish_snapshot(error);
    service_.saving = disk_->saving();
    return error;
}

std::vector<Client> Server::clients() const {
    std::vector<Client> all;
    all.reserve(connections_.size());
    for (const auto& [socket, each] : connections_) {
        if (each->gone) continue;  // it ends with this round
        all.push_back({each->session.get(), address_of(socket, ::getsockname), (store_.now_ms() - each->since_ms) / 1000, (store_.now_ms() - each->heard_ms) / 1000,
                       each->in.size(), each->out.waiting(), each->footprint, each->finishing});
    }
    return all;
}

}  // namespace offramp::store
