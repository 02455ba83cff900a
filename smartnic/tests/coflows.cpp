// SPDX-License-Identifier: Apache-2.0
// Coflows among three of Hermod's endpoints over links that lose, double and swap frames:
// `offramp-nic-coflows SEED LOSS DUPLICATION`.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "hermod/endpoint.hpp"

using namespace offramp;
using namespace offramp::hermod;

namespace {

constexpr std::uint32_t ranks = 3, rounds = 12;
constexpr std::size_t memory_bytes = 1 << 20;

struct Host {
    std::vector<std::byte> memory = std::vector<std::byte>(memory_bytes);
    std::unique_ptr<Endpoint> endpoint;
    std::size_t used = 0, unfinished = 0;

    // Creates a new piece of memory.
    std::size_t place(std::size_t length) {
        const std::size_t at = used;
        used += length;
        return at;
    }
};

struct Check {
    std::size_t from, from_at, to, to_at, length;
};

template <typename T>
void append(std::vector<std::byte>& to, const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) {
        std::fprintf(stderr, "usage: offramp-nic-coflows SEED LOSS DUPLICATION\n");
        return 2;
    }
    std::mt19937 random(static_cast<unsigned>(std::atoi(arguments[1])));
    const double loss = std::atof(arguments[2]), duplication = std::atof(arguments[3]);
    const auto chance = [&](double p) { return std::uniform_real_distribution<>()(random) < p; };
    std::vector<Host> hosts(ranks);
    std::vector<Address> addresses(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) addresses[rank].ip = rank;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        for (auto& byte : hosts[rank].memory) byte = static_cast<std::byte>(random());
        hosts[rank].endpoint = std::make_unique<Endpoint>(rank, addresses, 46, 1000);
    }
    std::vector<Check> checks;
    for (std::uint32_t message = 0; message < rounds; ++message) {
        std::vector<std::vector<queue::Transfer>> out(ranks), in(ranks);
        for (std::uint32_t a = 0; a < ranks; ++a)
            for (std::uint32_t b = 0; b < ranks; ++b) {
                if (a == b) continue;
                const std::size_t length = 1 + random() % 12000;
                const std::size_t from = hosts[a].place(length), to = hosts[b].place(length);
                out[a].push_back({b, 0, from, length});
                in[b].push_back({a, 0, to, length});
                checks.push_back({a, from, b, to, length});
            }
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            const bool in_order = random() % 2 != 0;
            std::vector<std::byte> text;
            const std::uint32_t pieces = in_order ? static_cast<std::uint32_t>(out[rank].size()) : 0;
            append(text, queue::Coflow{message, 10, static_cast<std::uint8_t>(random() % 8), in_order, 1,
                               static_cast<std::uint32_t>(out[rank].size()),
                               static_cast<std::uint32_t>(in[rank].size()), pieces, 0});
            append(text, static_cast<std::int64_t>(random() % 4));
            for (const auto* list : {&out[rank], &in[rank]})
                for (const auto& each : *list) append(text, each);
            if (in_order)
                for (const auto& each : out[rank]) append(text, queue::Transfer{each.peer, 0, 0, each.length});
            std::string error;
            if (!hosts[rank].endpoint->submit(message, text, hosts[rank].memory, error)) {
                std::printf("%s\n", error.c_str());
                return 1;
            }
            ++hosts[rank].unfinished;
        }
    }
    std::vector<std::pair<std::size_t, std::vector<std::byte>>> held;
    std::size_t left = ranks * rounds;
    for (Time now = 0; left > 0; now += 10) {
        if (now > 100'000'000) {
            std::printf("stuck with %zu coflows\n", left);
            return 1;
        }
        for (auto& host : hosts) {
            std::byte frame[frame_bytes];
            unsigned place = 0;
            const std::size_t length = host.endpoint->outgoing(frame, place);
            host.endpoint->tick(now);
            if (length != 0) {
                for (int copies = chance(duplication) ? 2 : 1; copies > 0; --copies)
                    if (!chance(loss))
                        held.emplace_back(&host - hosts.data(), std::vector<std::byte>(frame, frame + length));
            }
            for (std::uint64_t request = 0; host.endpoint->finished(request);) --left, --host.unfinished;
        }
        if (held.size() < 4 && !chance(0.2)) continue;
        std::shuffle(held.begin(), held.end(), random);
        for (auto& [from, frame] : held) {
            const std::size_t to = load_be32(frame.data() + 30);
            if (to >= ranks || to == from) std::abort();
            hosts[to].endpoint->incoming(frame);
            hosts[to].endpoint->incoming(Bytes(frame).first(random() % frame.size()));  // cut off
        }
        held.clear();
    }
    for (const auto& check : checks)
        if (std::memcmp(&hosts[check.from].memory[check.from_at], &hosts[check.to].memory[check.to_at], check.length)) {
            std::printf("wrong bytes from %zu to %zu\n", check.from, check.to);
            return 1;
        }
    std::uint64_t repeated = 0;
    for (const auto& host : hosts) repeated += host.endpoint->stats().repeated;
    std::printf("%u coflows right, %llu repeats\n", ranks * rounds, static_cast<unsigned long long>(repeated));
    return 0;
}
