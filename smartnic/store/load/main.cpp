// SPDX-License-Identifier: Apache-2.0
// offramp-store-load: requests to a store, a redis or a memcached, in a closed loop of a depth, every answer checked.
//
//   offramp-store-load ADDRESS resp|memcached MIX RECORDS VALUE_BYTES CONNECTIONS DEPTH SECONDS SEED [PASSWORD]
//
// MIX: fill, or a letter of YCSB's workloads. DEPTH requests are under way on all connections together. Writes a line of JSON.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "client/dial.hpp"
#include "load/dialect.hpp"
#include "load/histogram.hpp"
#include "load/workload.hpp"

using namespace offramp::store;
using namespace offramp::store::load;

namespace {

constexpr std::size_t read_bytes = 1 << 18, fill_depth = 512;

std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

struct Waiting {
    std::uint64_t since_ns, record;
    unsigned values;  // asked for; 0: something is stored
    bool modifies;    // a write of the record follows
    bool inserts;
};

struct Link {
    offramp::Descriptor socket;
    std::string out, in;
    std::size_t begin = 0;
    std::deque<Waiting> waiting;
};

[[noreturn]] void fail(const std::string& error) {
    std::fprintf(stderr, "offramp-store-load: %s\n", error.c_str());
    std::exit(2);
}

class Load {
  public:
    Load(const Dialect& dialect, Workload* workload, std::uint64_t records, std::size_t depth)
        : dialect_(dialect), workload_(workload), left_(records), depth_(depth) {}

    void connect(const std::string& address, std::size_t count, const char* password) {
        for (std::size_t i = 0; i < count; ++i) {
            auto link = std::make_unique<Link>();
            std::string error;
            link->socket = offramp::store::dial(address, 10'000, error);
            if (!error.empty()) fail(address + ": " + error);
            if (password != nullptr) prove(*link, password);
            ::fcntl(link->socket.get(), F_SETFL, O_NONBLOCK);
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.ptr = link.get();
            ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, link->socket.get(), &event);
            links_.push_back(std::move(link));
        }
    }

    void run(double seconds) {
        const std::uint64_t began = now_ns();
        end_ns_ = began + static_cast<std::uint64_t>(seconds * 1e9);
        for (auto& link : links_) {
            const std::size_t share = depth_ / links_.size() + (&link - links_.data() < static_cast<std::ptrdiff_t>(depth_ % links_.size()));
            for (std::size_t i = 0; i < share; ++i) ask(*link, began);
            flush(*link);
        }
        std::array<epoll_event, 256> events;
        while (under_way_ > 0) {
            const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), 5000);
            if (count == 0) fail("no answer in five seconds");
            for (int i = 0; i < count; ++i) answer(*static_cast<Link*>(events[static_cast<std::size_t>(i)].data.ptr));
        }
        const double took = static_cast<double>(now_ns() - began) / 1e9;
        std::printf("{\"requests\": %llu, \"seconds\": %.6f, \"median_us\": %.3f, \"p99_us\": %.3f, \"wrong\": %llu, \"times_us\": [",
                    static_cast<unsigned long long>(done_), took, times_.quantile(0.5) / 1000, times_.quantile(0.99) / 1000,
                    static_cast<unsigned long long>(wrong_));
        const char* comma = "";
        times_.each([&comma](double ns, std::uint64_t count) {
            std::printf("%s[%.3f, %llu]", comma, ns / 1000, static_cast<unsigned long long>(count));
            comma = ", ";
        });
        std::puts("]}");
    }

  private:
    static void prove(Link& link, std::string_view password) {
        std::string text = "*2\r\n$4\r\nAUTH\r\n$" + std::to_string(password.size()) + "\r\n";
        text.append(password).append("\r\n");
        std::array<char, 256> answer{};
        if (::send(link.socket.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0 || ::recv(link.socket.get(), answer.data(), answer.size(), 0) < 3 ||
            answer[0] != '+')
            fail("the password is not accepted");
    }

    void ask(Link& link, std::uint64_t now) {
        if (workload_ == nullptr) {
            if (left_ == 0) return;
            return store(link, --left_, now, false);
        }
        if (now >= end_ns_) return;
        switch (workload_->operation()) {
            case Operation::read: return fetch(link, workload_->record(), 1, false, now);
            case Operation::update: return store(link, workload_->record(), now, false);
            case Operation::insert: return store(link, workload_->insert(), now, true);
            case Operation::scan: return fetch(link, workload_->record(), workload_->scan_length(), false, now);
            case Operation::modify: return fetch(link, workload_->record(), 1, true, now);
        }
    }
    void fetch(Link& link, std::uint64_t record, unsigned count, bool modifies, std::uint64_t now) {
        dialect_.get(link.out, record, count);
        link.waiting.push_back({now, record, count, modifies, false});
        ++under_way_;
    }
    void store(Link& link, std::uint64_t record, std::uint64_t now, bool inserts) {
        dialect_.set(link.out, record);
        link.waiting.push_back({now, record, 0, false, inserts});
        ++under_way_;
    }

    void flush(Link& link) {
        std::size_t sent = 0;
        while (sent < link.out.size()) {
            const ssize_t count = ::send(link.socket.get(), link.out.data() + sent, link.out.size() - sent, MSG_NOSIGNAL);
            if (count < 0 && errno == EAGAIN) {
                link.out.erase(0, sent);
                return watch(link, EPOLLIN | EPOLLOUT);
            }
            if (count <= 0) fail(std::string("the connection is lost: ") + std::strerror(errno));
            sent += static_cast<std::size_t>(count);
        }
        link.out.clear();
    }
    void watch(Link& link, std::uint32_t events) {
        epoll_event event{};
        event.events = events;
        event.data.ptr = &link;
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, link.socket.get(), &event);
    }

    void answer(Link& link) {
        if (!link.out.empty()) watch(link, EPOLLIN);
        const std::size_t had = link.in.size();
        link.in.resize(had + read_bytes);
        const ssize_t count = ::recv(link.socket.get(), link.in.data() + had, read_bytes, 0);
        if (count == 0 || (count < 0 && errno != EAGAIN)) fail("the connection is lost");
        link.in.resize(had + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        const std::uint64_t now = now_ns();
        while (!link.waiting.empty() && link.begin < link.in.size()) {
            const Waiting first = link.waiting.front();
            // A scan may go beyond the last record.
            const Seen seen = dialect_.read(std::string_view(link.in).substr(link.begin), first.record, first.values, first.values == 1);
            if (seen.used == 0) break;
            link.begin += seen.used;
            link.waiting.pop_front();
            --under_way_;
            ++done_;
            wrong_ += seen.wrong;
            times_.add(now - first.since_ns);
            if (first.inserts) workload_->was_inserted(first.record);
            if (first.modifies)
                store(link, first.record, now, false);
            else
                ask(link, now);
        }
        if (link.begin == link.in.size()) link.in.clear(), link.begin = 0;
        if (link.begin > read_bytes) link.in.erase(0, link.begin), link.begin = 0;
        flush(link);
    }

    const Dialect& dialect_;
    Workload* workload_;
    std::uint64_t left_, end_ns_ = 0, done_ = 0, wrong_ = 0;
    std::size_t depth_, under_way_ = 0;
    Histogram times_;
    offramp::Descriptor epoll_{::epoll_create1(EPOLL_CLOEXEC)};
    std::vector<std::unique_ptr<Link>> links_;
};

template <typename T>
T number(const char* text, const char* what, T least) {
    T number{};
    if (!parse_number(std::string_view(text), number) || number < least) fail(std::string(what) + " " + text + ": expected a number");
    return number;
}

}  // namespace

int main(int count, char** words) {
    if (count != 10 && count != 11)
        fail("expected ADDRESS resp|memcached fill|A-F RECORDS VALUE_BYTES CONNECTIONS DEPTH SECONDS SEED [PASSWORD]");
    const bool memcached = std::string_view(words[2]) == "memcached", fill = std::string_view(words[3]) == "fill";
    const auto records = number<std::uint64_t>(words[4], "records", 1);
    const auto connections = number<std::size_t>(words[6], "connections", 1);
    const auto depth = std::max(number<std::size_t>(words[7], "depth", 1), connections);
    const Mix* mix = nullptr;
    for (const Mix& each : mixes)
        if (each.name == words[3][0] && words[3][1] == '\0') mix = &each;
    if (!fill && mix == nullptr) fail(std::string("no mix ") + words[3]);
    const Dialect dialect(memcached, number<std::size_t>(words[5], "value bytes", 1));
    std::unique_ptr<Workload> workload;
    if (!fill) workload = std::make_unique<Workload>(*mix, records, number<std::uint64_t>(words[9], "seed", 0));
    Load load(dialect, workload.get(), records, fill ? std::max(depth, fill_depth) : depth);
    load.connect(words[1], connections, count == 11 ? words[10] : nullptr);
    load.run(std::strtod(words[8], nullptr));
}
