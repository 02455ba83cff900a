// SPDX-License-Identifier: Apache-2.0
#include "control.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "client.hpp"
#include "reduce.hpp"

namespace offramp {
namespace {

constexpr std::size_t most_clients = 256, most_regions = 64, most_queues = 8;
constexpr int sweep_ms = 50;  // how long a client that lied to a core goes unnoticed
constexpr int backlog = 128;
constexpr int most_turns = 16;  // connections, and reads from one client, before the others are heard
constexpr auto patience = std::chrono::seconds(5);  // for a client's hello
constexpr const char* functions =
    "kvs.lookup\nebs.lookup\nreduce\ncompress\ndecompress\nsylvie.quantise\nsylvie.dequantise\nfeatures.select\necho";

template <typename T>
Bytes bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

Bytes bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

}  // namespace

Control::Control(Agent& agent) : agent_(agent) {}

Control::~Control() {
    for (auto& client : clients_) leave(*client);
    if (!path_.empty()) ::unlink(path_.c_str());
}

bool Control::listen(const std::string& path, unsigned mode, std::string& error) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        error = "--socket " + path + ": a socket path has at most 107 bytes";
        return false;
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const auto* at = reinterpret_cast<const sockaddr*>(&address);
    Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0) {
        if (!S_ISSOCK(status.st_mode) || ::connect(probe.get(), at, sizeof address) == 0) {
            error = "--socket " + path + ": " + (S_ISSOCK(status.st_mode) ? "an agent is there" : "is not a socket");
            return false;
        }
        ::unlink(path.c_str());  // of an agent that was killed
    }
    listener_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const mode_t before = ::umask(0777 & ~mode);
    const bool bound = ::bind(listener_.get(), at, sizeof address) == 0;
    ::umask(before);
    if (!bound || ::listen(listener_.get(), backlog) != 0) {
        error = "--socket " + path + ": " + std::strerror(errno);
        return false;
    }
    path_ = path;
    others_ = (mode & 077) != 0;
    return true;
}

void Control::run(int stop) {
    std::vector<pollfd> watched;
    while (true) {
        watched.assign({{stop, POLLIN, 0}, {listener_.get(), POLLIN, 0}});
        for (const auto& client : clients_) watched.push_back({client->socket.get(), POLLIN, 0});
        if (::poll(watched.data(), watched.size(), clients_.empty() ? -1 : sweep_ms) < 0 && errno != EINTR) return;
        if (watched[0].revents != 0) return;
        for (std::size_t i = clients_.size(); i-- > 0;) {
            Client& client = *clients_[i];
            bool stays = watched[i + 2].revents == 0 || receive(client);
            if (handed_over_) return;
            if (stays && !client.greeted && std::chrono::steady_clock::now() - client.since > patience)
                stays = refuse(client, "no hello in time");
            for (const auto& [queue, core] : client.queues)
                if (stays && queue->broken()) stays = refuse(client, queue->lie());
            if (stays) continue;
            leave(client);
            clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        for (int turn = 0; watched[1].revents != 0 && turn < most_turns && accept(); ++turn) {}
    }
}

bool Control::accept() {
    Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) {
        if (errno == EMFILE || errno == ENFILE) make_room();
        return false;
    }
    ucred peer{};
    socklen_t length = sizeof peer;
    const bool known = ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
    if (!others_ && (!known || (peer.uid != ::geteuid() && peer.uid != 0))) {
        ++cut_off_;
        std::fprintf(stderr, "client refused: of user %u\n", static_cast<unsigned>(peer.uid));
        return true;
    }
    if (clients_.size() >= most_clients && !make_room()) {
        ++cut_off_;
        std::fprintf(stderr, "client refused: there are %zu\n", clients_.size());
        return true;
    }
    ++accepted_;
    clients_.push_back(std::make_unique<Client>());
    clients_.back()->socket = std::move(socket);
    return true;
}

// Of those that have not said hello the one that came first goes.
bool Control::make_room() {
    const auto silent = std::find_if(clients_.begin(), clients_.end(), [](const auto& each) { return !each->greeted; });
    if (silent == clients_.end()) return false;
    refuse(**silent, "too many clients without hello");
    leave(**silent);
    clients_.erase(silent);
    return true;
}

void Control::leave(Client& client) {
    for (auto& [queue, core] : client.queues) {
        // The queue ends on its core: nothing of it is used any more when this returns.
        core->call([&, core = core] {
            core->remove(queue.get());
            requests_before_ += queue->requests();
            queue.reset();
        });
        --core->queues;
    }
    client.queues.clear();
}

bool Control::receive(Client& client) {
    for (int turn = 0; turn < most_turns; ++turn) {
        std::array<std::byte, 8192> buffer;
        alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> extra;
        iovec part{buffer.data(), buffer.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = extra.data();
        message.msg_controllen = extra.size();
        const ssize_t length = ::recvmsg(client.socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (length < 0) return errno == EAGAIN || errno == EINTR;
        for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
            if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
            const std::size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t i = 0; i < count; ++i) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(each) + i * sizeof fd, sizeof fd);
                client.descriptors.emplace_back(fd);
            }
        }
        if (length == 0) return false;
        if (client.descriptors.size() > 4) return refuse(client, "more file descriptors than messages need");
        client.received.insert(client.received.end(), buffer.begin(), buffer.begin() + length);
        if (!take_messages(client)) return false;
    }
    return true;
}

bool Control::take_messages(Client& client) {
    std::size_t at = 0;
    while (client.received.size() - at >= sizeof(protocol::Header)) {
        const auto header = load<protocol::Header>(client.received.data() + at);
        if (header.magic != protocol::magic || header.length > protocol::most_body)
            return refuse(client, "not a message of this protocol");
        if (client.received.size() - at - sizeof(protocol::Header) < header.length) break;
        const Bytes body{client.received.data() + at + sizeof(protocol::Header), header.length};
        at += sizeof(protocol::Header) + header.length;
        if (!serve(client, header.kind, body)) return false;
    }
    client.received.erase(client.received.begin(), client.received.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
}

bool Control::serve(Client& client, std::uint32_t kind, Bytes body) {
    protocol::Message message;
    std::string error;
    const bool with = static_cast<protocol::Kind>(kind) == protocol::Kind::map;
    if (!protocol::parse(kind, body, with ? std::min<std::size_t>(client.descriptors.size(), 1) : 0, message, error))
        return refuse(client, error);
    if (!client.greeted && !std::holds_alternative<protocol::Hello>(message))
        return refuse(client, "expected hello first");
    return std::visit(
        [&](const auto& asked) {
            using Asked = std::decay_t<decltype(asked)>;
            if constexpr (std::is_same_v<Asked, protocol::Hello>)
                return hello(client, asked);
            else if constexpr (std::is_same_v<Asked, protocol::Map>)
                return map(client, asked);
            else if constexpr (std::is_same_v<Asked, protocol::Queue>)
                return queue(client, asked);
            else if constexpr (std::is_same_v<Asked, protocol::Tables>)
                return tables(client, asked);
            else if constexpr (std::is_same_v<Asked, protocol::Transport>)
                return transport(client, asked);
            else if constexpr (std::is_same_v<Asked, protocol::Coflows>)
                return coflows(client, asked);
            else if constexpr (std::is_same_v<Asked, protocol::Rank>)
                return rank(client, asked);
            else if constexpr (std::is_same_v<Asked, protocol::Takeover>)
                return upgrade(client, asked);
            else
                return stats(client);
        },
        message);
}

// Says why and cuts off.
bool Control::refuse(Client& client, const std::string& error) {
    ++cut_off_;
    std::fprintf(stderr, "client refused: %s\n", error.c_str());
    reply(client, protocol::error, bytes_of(error));
    return false;
}

bool Control::reply(Client& client, std::uint32_t kind, Bytes body, int descriptor) {
    const protocol::Header header{protocol::magic, kind, static_cast<std::uint32_t>(body.size())};
    iovec parts[2] = {{const_cast<protocol::Header*>(&header), sizeof header},
                      {const_cast<std::byte*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> extra{};
    if (descriptor >= 0) {
        message.msg_control = extra.data();
        message.msg_controllen = extra.size();
        cmsghdr* first = CMSG_FIRSTHDR(&message);
        first->cmsg_level = SOL_SOCKET;
        first->cmsg_type = SCM_RIGHTS;
        first->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(first), &descriptor, sizeof descriptor);
    }
    // A client that does not read its answers is cut off.
    return ::sendmsg(client.socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(sizeof header + body.size());
}

bool Control::hello(Client& client, const protocol::Hello& asked) {
    if (asked.version != protocol::version)
        return refuse(client, "hello: version " + std::to_string(asked.version) + ", this agent speaks " +
                                  std::to_string(protocol::version));
    client.greeted = true;
    const std::uint32_t numbers[4] = {protocol::version, static_cast<std::uint32_t>(agent_.cores.size()),
                                      protocol::most_entries, static_cast<std::uint32_t>(agent_.ports.size())};
    std::string body(reinterpret_cast<const char*>(numbers), sizeof numbers);
    return reply(client, protocol::reply | 1, bytes_of(body + functions));
}

bool Control::map(Client& client, const protocol::Map& asked) {
    Descriptor fd = std::move(client.descriptors.front());
    client.descriptors.pop_front();
    std::string error = "map: too many regions";
    auto region = client.regions.size() < most_regions ? Region::map(std::move(fd), asked.size, error) : nullptr;
    if (region == nullptr) return refuse(client, error);
    for (auto& [queue, core] : client.queues) core->call([&, queue = queue] { queue->add(region); });
    client.regions.push_back(region);
    return reply(client, protocol::reply | 2, bytes_of(static_cast<std::uint32_t>(client.regions.size() - 1)));
}

bool Control::queue(Client& client, const protocol::Queue& asked) {
    if (client.queues.size() >= most_queues) return refuse(client, "queue: too many queues");
    if (asked.region >= client.regions.size() ||
        !client.regions[asked.region]->holds(asked.offset, protocol::queue_bytes(asked.entries)))
        return refuse(client, "queue: rings outside of the memory that was mapped");
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return refuse(client, "queue: no more sockets");
    const Descriptor theirs(ends[1]);
    QueueState fresh;
    fresh.asked = asked;
    auto queue = std::make_shared<Queue>(client.regions[asked.region], Descriptor(ends[0]), fresh);
    for (const auto& region : client.regions) queue->add(region);
    Core& core = fewest_queues();
    ++core.queues;
    client.queues.emplace_back(queue, &core);
    core.call([&] { core.add(queue); });
    return reply(client, protocol::reply | 3, bytes_of(static_cast<std::uint32_t>(client.queues.size() - 1)),
                 theirs.get());
}

Core& Control::fewest_queues() {
    return **std::min_element(agent_.cores.begin(), agent_.cores.end(),
                              [](const auto& a, const auto& b) { return a->queues < b->queues; });
}

bool Control::tables(Client& client, const protocol::Tables& asked) {
    if (asked.queue >= client.queues.size()) return refuse(client, "tables: no such queue");
    auto& [queue, core] = client.queues[asked.queue];
    std::string error;
    bool done = false;
    core->call([&, queue = queue] { done = queue->set_tables(asked, error); });
    return done ? reply(client, protocol::reply | 4, {}) : refuse(client, error);
}

bool Control::transport(Client& client, const protocol::Transport& asked) {
    return on_port(client, asked, "transport", &Queue::open_transport, 5);
}

bool Control::coflows(Client& client, const protocol::Coflows& asked) {
    return on_port(client, asked, "coflows", &Queue::open_coflows, 7);
}

bool Control::rank(Client& client, const protocol::Rank& asked) {
    return on_port(client, asked, "rank", &Queue::open_rank, 9);
}

template <typename Asked>
bool Control::on_port(Client& client, const Asked& asked, const char* what,
                      bool (Queue::*open)(const Asked&, Port&, std::string&), std::uint32_t kind) {
    const std::string name = std::string(what) + ": ";
    if (asked.queue >= client.queues.size()) return refuse(client, name + "no such queue");
    if (asked.port >= agent_.ports.size())
        return refuse(client, name + "port " + std::to_string(asked.port) + " of " + std::to_string(agent_.ports.size()));
    auto& [queue, core] = client.queues[asked.queue];
    std::string error;
    bool done = false;
    core->call([&, queue = queue] { done = (queue.get()->*open)(asked, *agent_.ports[asked.port], error); });
    return done ? reply(client, protocol::reply | kind, {}) : refuse(client, error);
}

bool Control::stats(Client& client) {
    std::uint64_t requests = requests_before_, queues = 0;
    for (const auto& each : clients_)
        for (const auto& [queue, core] : each->queues) {
            requests += queue->requests();
            ++queues;
        }
    std::string text = "{\"clients\": " + std::to_string(clients_.size()) +
                       ", \"accepted\": " + std::to_string(accepted_) + ", \"cut_off\": " + std::to_string(cut_off_) +
                       ", \"queues\": " + std::to_string(queues) + ", \"requests\": " + std::to_string(requests) +
                       ", \"cores\": " + std::to_string(agent_.cores.size()) + ", \"compression\": \"" +
                       agent_.compression + "\", \"simd\": \"" + reduce_target() + "\", \"ports\": [";
    for (std::size_t i = 0; i < agent_.ports.size(); ++i) text += (i == 0 ? "" : ", ") + agent_.ports[i]->stats();
    return reply(client, protocol::reply | 6, bytes_of(text + "]}"));
}

}  // namespace offramp
