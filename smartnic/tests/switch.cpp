// SPDX-License-Identifier: Apache-2.0
#include "switch.hpp"

namespace offramp::switchgnn::testing {

Switch::Switch(const std::vector<std::vector<Plan>>& workers) : workers_(workers.size()) {
    for (std::size_t w = 0; w < workers.size(); ++w)
        for (const auto& plan : workers[w])
            for (const auto& block : plan.blocks) {
                for (std::size_t v = 0; v < block.vertices.size(); ++v) {
                    owner_[{block.id, block.vertices[v]}] = w;
                    need_[{block.id, block.vertices[v]}] = block.need[v];
                }
                for (std::size_t s = 0; s < block.sources->remotes.size(); ++s)
                    for (auto e = block.sources->indptr[s]; e < block.sources->indptr[s + 1]; ++e)
                        readers_[{block.id, block.sources->remotes[s]}].push_back(block.vertices[block.sources->locals[e]]);
            }
}

void Switch::process(Bytes frame, std::vector<Frame>& out) {
    Packet packet;
    if (parse(frame, packet) != Parsed::packet) return;
    if (packet.kind == Kind::done) return done(packet, out);
    if (packet.kind == Kind::data) return upload(packet, out);
    if (packet.kind == Kind::ack) {
        for (std::size_t port = 0; port < workers_; ++port) out.push_back({port, {frame.begin(), frame.end()}});
        return;
    }
    const auto vertex = packet.kind == Kind::fetch ? packet.src : packet.dst;
    if (packet.round == round_) aggregators_[{packet.block, vertex, packet.chunk}].dead = true;
    if (const auto owner = owner_.find({packet.block, packet.dst}); owner != owner_.end())
        out.push_back({owner->second, {frame.begin(), frame.end()}});
}

void Switch::upload(const Packet& packet, std::vector<Frame>& out) {
    if (packet.round != round_ || !seen_.insert({packet.block, packet.src, packet.chunk}).second) return;
    for (const auto vertex : readers_[{packet.block, packet.src}]) {
        auto& sum = aggregators_[{packet.block, vertex, packet.chunk}];
        if (sum.dead) continue;
        if (sum.fresh) sum.left = need_[{packet.block, vertex}];
        sum.fresh = false;
        for (std::size_t i = 0; i < packet.segments * lanes; ++i)
            sum.sum[i] =
                static_cast<std::int32_t>(static_cast<std::uint32_t>(sum.sum[i]) + load_be32(packet.payload + 4 * i));
        if (--sum.left != 0) continue;
        Packet result = packet;
        result.src = no_id;
        result.dst = vertex;
        result.count = static_cast<std::uint16_t>(need_[{packet.block, vertex}]);
        Frame frame{owner_[{packet.block, vertex}], std::vector<std::byte>(frame_bytes(packet.segments))};
        build(frame.bytes.data(), 0, result);
        for (std::size_t i = 0; i < packet.segments * lanes; ++i)
            store_be32(frame.bytes.data() + short_bytes + 4 * i, static_cast<std::uint32_t>(sum.sum[i]));
        out.push_back(std::move(frame));
    }
}

void Switch::done(const Packet& packet, std::vector<Frame>& out) {
    if (packet.round != round_) {
        if (is_newer(round_, packet.round)) go(packet.src, out);
        return;
    }
    if (packet.src >= workers_) return;
    done_.insert(packet.src);
    if (done_.size() < workers_) return;
    done_.clear();
    seen_.clear();
    aggregators_.clear();
    round_ = next_round(round_);
    for (std::size_t port = 0; port < workers_; ++port) go(port, out);
}

void Switch::go(std::size_t port, std::vector<Frame>& out) const {
    Packet packet;
    packet.kind = Kind::done;
    packet.round = round_;
    Frame frame{port, std::vector<std::byte>(short_bytes)};
    build(frame.bytes.data(), 0, packet);
    out.push_back(std::move(frame));
}

}  // namespace offramp::switchgnn::testing
