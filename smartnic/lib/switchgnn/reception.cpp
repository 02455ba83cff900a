// SPDX-License-Identifier: Apache-2.0
#include "switchgnn/reception.hpp"

#include <algorithm>

namespace offramp::switchgnn {

Reception::Reception(const Block& block, const Plan& plan, Sums sums, Stats& stats, bool acks)
    : block_(block), sources_(*block.sources), chunks_(plan.chunks), sums_(sums), stats_(stats), acks_(acks) {
    const std::uint32_t chunks = chunks_;
    for (std::uint32_t c = 0; c < chunks; ++c) segments_.push_back(plan.segments_of(sums.width, c));
    const std::size_t cells = block.vertices.size() * chunks;
    finished_.assign(cells, 0);
    begun_.assign(cells, 0);
    marked_.assign(cells, 0);
    missing_.resize(cells);
    unreleased_.assign(cells, 0);
    released_.assign(block.way_vertex.size() * chunks, 0);
    cached_.assign(sources_.remotes.size() * chunks, 0);
    asked_.assign(sources_.locals.size() * chunks, 0);
    tried_ = asked_;
    if (acks) news_.reserve(cells);
    open_ = cells;
    std::size_t cell = 0;
    for (std::uint32_t vertex = 0; vertex < block.vertices.size(); ++vertex)
        for (std::uint32_t c = 0; c < chunks; ++c, ++cell) {
            missing_[cell] = block.need[vertex];
            if (missing_[cell] != 0) continue;
            finished_[cell] = 1;
            --open_;
            std::fill_n(sums.at(block, vertex, c), sums.count(c), 0);
        }
    for (const auto vertex : block.way_vertex)
        for (std::uint32_t c = 0; c < chunks; ++c) ++unreleased_[vertex * chunks + c];
}

bool Reception::accept(const Packet& packet) {
    if (packet.block != block_.id || packet.chunk >= chunks_ || packet.segments < segments_[packet.chunk]) {
        ++stats_.rejected;
        return false;
    }
    return packet.src == no_id ? accept_result(packet) : accept_feature(packet);
}

bool Reception::accept_result(const Packet& packet) {
    const auto vertex = block_.vertex_ids.find(packet.dst);
    if (vertex == Ids::none || packet.kind != Kind::data || packet.count != block_.need[vertex]) {
        ++stats_.rejected;
        return false;
    }
    const std::uint32_t cell = vertex * chunks_ + packet.chunk;
    if (finished_[cell]) {
        ++stats_.duplicates;
        return false;
    }
    set(sums_.at(block_, vertex, packet.chunk), packet);
    marked_[cell] = packet.ecn;
    stats_.marks += packet.ecn && !acks_;
    finish(cell);
    ++stats_.results;
    return true;
}

bool Reception::accept_feature(const Packet& packet) {
    const auto source = sources_.ids.find(packet.src);
    const bool resend = packet.kind == Kind::resend;
    std::uint32_t to = Ids::none;
    bool known = source != Ids::none && packet.count == 1;
    bool released = false;
    if (known && resend) {
        const auto target = block_.vertex_ids.find(packet.dst);
        known = target != Ids::none;
        if (known) {
            const auto* first = sources_.locals.data() + sources_.indptr[source];
            const auto* last = sources_.locals.data() + sources_.indptr[source + 1];
            known = std::binary_search(first, last, target);
        }
        if (known) released = release(source, target, packet.chunk, to);
    } else if (known) {
        known = packet.dst == no_id;
    }
    if (!known) {
        ++stats_.rejected;
        return false;
    }
    std::uint8_t& cached = cached_[source * chunks_ + packet.chunk];
    const bool fresh = cached == 0;
    cached = 1;
    if (fresh) {
        ++(resend ? stats_.pulled : stats_.raws);
        for (std::uint32_t e = sources_.indptr[source]; e < sources_.indptr[source + 1]; ++e) {
            const std::uint32_t cell = sources_.locals[e] * chunks_ + packet.chunk;
            if (finished_[cell]) continue;
            std::int64_t* sum = sums_.at(block_, sources_.locals[e], packet.chunk);
            if (begun_[cell]) {
                for (std::size_t i = 0; i < sums_.count(packet.chunk); ++i)
                    add(sum[i], static_cast<std::int32_t>(load_be32(packet.payload + 4 * i)));
            } else {
                set(sum, packet);
                begun_[cell] = 1;
            }
            --missing_[cell];
            if (!resend) unreleased_[cell] = 0;  // the strawman's: there was no aggregator to release
            if (missing_[cell] == 0 && unreleased_[cell] == 0) finish(cell);
        }
    } else {
        ++stats_.duplicates;
    }
    if (released && missing_[to] == 0 && unreleased_[to] == 0 && !finished_[to]) finish(to);
    return fresh || released;
}

// Notes that the aggregator of `target` is released on the way from `source`; false where that was known.
bool Reception::release(std::uint32_t source, std::uint32_t target, std::uint32_t chunk, std::uint32_t& cell) {
    const auto* first = sources_.locals.data() + sources_.indptr[source];
    const auto* last = sources_.locals.data() + sources_.indptr[source + 1];
    const auto entry = static_cast<std::size_t>(std::lower_bound(first, last, target) - sources_.locals.data());
    std::uint8_t& way = released_[std::size_t{block_.way_of[entry]} * chunks_ + chunk];
    if (way != 0) return false;
    way = 1;
    cell = target * chunks_ + chunk;
    if (unreleased_[cell] != 0) --unreleased_[cell];
    return true;
}

// A packet with too few segments for its chunk was refused.
void Reception::set(std::int64_t* sum, const Packet& packet) const {
    const std::size_t count = sums_.count(packet.chunk);
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) from_network(packet.payload + 4 * i, sum + i);
    for (; i < count; ++i) sum[i] = static_cast<std::int32_t>(load_be32(packet.payload + 4 * i));
}

void Reception::finish(std::uint32_t cell) {
    finished_[cell] = 1;
    --open_;
    if (acks_) news_.push_back(cell);
}

void Reception::missing(std::vector<Packet>& to, std::size_t limit, bool anew) {
    if (anew) std::fill(tried_.begin(), tried_.end(), 0);
    std::vector<std::uint8_t> wanted(asked_.size()), by_way(released_.size());
    for (std::size_t s = 0; s < sources_.remotes.size(); ++s)
        for (std::uint32_t e = sources_.indptr[s]; e < sources_.indptr[s + 1]; ++e)
            for (std::uint32_t c = 0; c < chunks_; ++c)
                if (!finished_[sources_.locals[e] * chunks_ + c] && !cached_[s * chunks_ + c]) {
                    wanted[std::size_t{e} * chunks_ + c] = 1;
                    by_way[std::size_t{block_.way_of[e]} * chunks_ + c] = 1;
                }
    // All features from behind a leaf are here, but no FETCH is known to have passed it: ask once more, for any.
    for (std::size_t e = 0; e < sources_.locals.size(); ++e)
        for (std::uint32_t c = 0; c < chunks_; ++c) {
            const std::size_t way = std::size_t{block_.way_of[e]} * chunks_ + c;
            if (!finished_[sources_.locals[e] * chunks_ + c] && !by_way[way] && !released_[way]) {
                wanted[e * chunks_ + c] = 1;
                by_way[way] = 1;
            }
        }
    for (std::size_t s = 0; s < sources_.remotes.size(); ++s)
        for (std::size_t e = sources_.indptr[s]; e < sources_.indptr[s + 1]; ++e)
            for (std::uint32_t c = 0; c < chunks_; ++c)
                if (wanted[e * chunks_ + c] && !tried_[e * chunks_ + c]) {
                    if (limit-- == 0) return;
                    Packet packet;
                    packet.kind = Kind::fetch;
                    packet.src = block_.vertices[sources_.locals[e]];
                    packet.dst = sources_.remotes[s];
                    packet.chunk = static_cast<std::uint8_t>(c);
                    packet.again = asked_[e * chunks_ + c] != 0;
                    asked_[e * chunks_ + c] = tried_[e * chunks_ + c] = 1;
                    to.push_back(packet);
                }
}

void Reception::finished_since(std::vector<Packet>& to) {
    for (const auto cell : news_) {
        Packet packet;
        packet.kind = Kind::ack;
        packet.src = block_.vertices[cell / chunks_];
        packet.count = static_cast<std::uint16_t>(block_.need[cell / chunks_]);
        packet.chunk = static_cast<std::uint8_t>(cell % chunks_);
        packet.ecn = marked_[cell] != 0;
        to.push_back(packet);
    }
    news_.clear();
}

Numbers Reception::missing_vertices() const {
    Numbers missing;
    for (std::size_t v = 0; v < block_.vertices.size(); ++v) {
        const auto* first = finished_.data() + v * chunks_;
        if (std::find(first, first + chunks_, 0) != first + chunks_) missing.push_back(block_.vertices[v]);
    }
    return missing;
}

}  // namespace offramp::switchgnn
