// SPDX-License-Identifier: Apache-2.0
#include "protocol.hpp"

#include <bit>
#include <cmath>

namespace offramp::protocol {
namespace {

template <typename T>
bool take(Bytes body, Message& message, std::string& error, const char* name) {
    if constexpr (std::is_empty_v<T>) {
        if (body.empty()) {
            message = T{};
            return true;
        }
    } else if (body.size() == sizeof(T)) {
        message = load<T>(body.data());
        return true;
    }
    error = std::string(name) + ": a body of " + std::to_string(body.size()) + " bytes";
    return false;
}

bool sane(const Transport& asked) {
    constexpr std::int64_t most = 3'600'000'000'000;  // an hour
    const auto fraction = [](double p) { return p >= 0 && p < 1; };
    return asked.flags < 8 && asked.window > 0 && asked.retry > 0 && asked.retry <= asked.cap && asked.cap <= most &&
           asked.limit > 0 && asked.limit <= most && asked.gap >= 0 && asked.gap <= most &&
           std::isfinite(asked.line_bps) && asked.line_bps > 0 && fraction(asked.loss) && fraction(asked.duplication) &&
           asked.journal_offset % 8 == 0;
}

bool sane(const Coflows& asked) {
    return asked.ranks > 1 && asked.ranks <= most_ranks && asked.dscp < 64 && asked.retry > 0 &&
           asked.retry <= 3'600'000'000'000 && asked.loss >= 0 && asked.loss < 1;
}

bool sane(const Rank& asked) {
    constexpr std::int64_t most = 3'600'000'000'000;  // an hour
    return asked.ranks > 0 && asked.ranks <= allreduce::most_ranks && asked.rank < asked.ranks && asked.pages > 0 &&
           asked.pages <= most_pages && asked.segments > 0 && asked.segments <= most_segments && asked.flight > 0 &&
           asked.retry > 0 && asked.retry <= most && asked.limit > 0 && asked.limit <= most && asked.loss >= 0 &&
           asked.loss < 1;
}

}  // namespace

bool parse(std::uint32_t kind, Bytes body, std::size_t descriptors, Message& message, std::string& error) {
    const auto wanted = static_cast<Kind>(kind) == Kind::map ? 1u : 0u;
    if (descriptors != wanted) {
        error = "message " + std::to_string(kind) + " with " + std::to_string(descriptors) + " file descriptors";
        return false;
    }
    switch (static_cast<Kind>(kind)) {
        case Kind::hello:
            return take<Hello>(body, message, error, "hello");
        case Kind::map:
            return take<Map>(body, message, error, "map");
        case Kind::queue: {
            if (!take<Queue>(body, message, error, "queue")) return false;
            const auto& asked = std::get<Queue>(message);
            if (std::has_single_bit(asked.entries) && asked.entries <= most_entries && asked.offset % 64 == 0)
                return true;
            error = "queue: expected a power of two of entries up to 65536, at a multiple of 64";
            return false;
        }
        case Kind::tables:
            if (!take<Tables>(body, message, error, "tables")) return false;
            if (std::get<Tables>(message).offset % 64 == 0) return true;
            error = "tables: expected an offset that is a multiple of 64";
            return false;
        case Kind::transport:
            if (!take<Transport>(body, message, error, "transport")) return false;
            if (sane(std::get<Transport>(message))) return true;
            error = "transport: times, rates or flags that cannot be";
            return false;
        case Kind::stats:
            return take<Stats>(body, message, error, "stats");
        case Kind::coflows:
            if (!take<Coflows>(body, message, error, "coflows")) return false;
            if (sane(std::get<Coflows>(message))) return true;
            error = "coflows: ranks, times or a DSCP that cannot be";
            return false;
        case Kind::rank:
            if (!take<Rank>(body, message, error, "rank")) return false;
            if (sane(std::get<Rank>(message))) return true;
            error = "rank: ranks, pages, segments or times that cannot be";
            return false;
        case Kind::upgrade:
            if (body.size() >= sizeof(Upgrade)) {
                const auto* names = reinterpret_cast<const char*>(body.data() + sizeof(Upgrade));
                message = Takeover{load<Upgrade>(body.data()).version, std::string(names, body.size() - sizeof(Upgrade))};
                return true;
            }
            error = "upgrade: a body of " + std::to_string(body.size()) + " bytes";
            return false;
    }
    error = "message of unknown kind " + std::to_string(kind);
    return false;
}

}  // namespace offramp::protocol
