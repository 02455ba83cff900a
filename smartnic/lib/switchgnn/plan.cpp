// SPDX-License-Identifier: Apache-2.0
#include "switchgnn/plan.hpp"

#include <algorithm>
#include <bit>

namespace offramp::switchgnn {
namespace {

constexpr std::uint32_t most_plans = 256, most_blocks = 65536, most_chunks = 256;
constexpr std::uint64_t most_states = 1 << 26;  // that a worker keeps of a block's packets, which take memory here

class Reader {
  public:
    explicit Reader(Bytes text) : text_(text) {}

    bool number(std::uint32_t& to) {
        if (text_.size() < 4) return false;
        to = load<std::uint32_t>(text_.data());
        text_ = text_.subspan(4);
        return true;
    }
    // A list: its length, then its numbers.
    bool list(Numbers& to) {
        std::uint32_t count = 0;
        if (!number(count) || text_.size() / 4 < count) return false;
        to.resize(count);
        if (count != 0) std::memcpy(to.data(), text_.data(), std::size_t{count} * 4);
        text_ = text_.subspan(std::size_t{count} * 4);
        return true;
    }
    [[nodiscard]] bool empty() const { return text_.empty(); }

  private:
    Bytes text_;
};

bool ascending(const Numbers& ids) {
    return std::adjacent_find(ids.begin(), ids.end(), std::greater_equal{}) == ids.end() &&
           (ids.empty() || ids.back() != no_id);
}

bool below(const Numbers& numbers, std::size_t limit) {
    return std::all_of(numbers.begin(), numbers.end(), [&](std::uint32_t n) { return n < limit; });
}

// A CSR matrix of `rows` rows whose entries are below `columns` and ascend in a row.
bool csr(const Numbers& indptr, const Numbers& entries, std::size_t rows, std::size_t columns) {
    if (indptr.size() != rows + 1 || indptr.front() != 0 || indptr.back() != entries.size()) return false;
    if (!std::is_sorted(indptr.begin(), indptr.end()) || !below(entries, columns)) return false;
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t e = indptr[r] + 1; e < indptr[r + 1]; ++e)
            if (entries[e] <= entries[e - 1]) return false;
    return true;
}

bool whole(Block& block, std::uint32_t id, std::uint32_t boundary, std::uint32_t chunks) {
    const std::size_t count = block.vertices.size();
    const std::uint64_t states = count + block.sources.size() + block.targets.size() + block.reader_locals.size();
    if (states * chunks > most_states) return false;
    block.id = static_cast<std::uint16_t>(id);
    const bool shape = id < most_blocks && ascending(block.vertices) && block.rows.size() == count &&
                       block.need.size() == count && block.fan_out.size() == count && ascending(block.rows) &&
                       below(block.rows, boundary) && below(block.need, 0x8000) && below(block.fan_out, 0x10000) &&
                       block.order.size() <= count && below(block.order, count);
    if (!shape || !ascending(block.sources) || !ascending(block.remotes)) return false;
    if (!csr(block.indptr, block.targets, block.sources.size(), count)) return false;
    if (!csr(block.reader_indptr, block.reader_locals, block.remotes.size(), count)) return false;
    if (block.way_of.size() != block.targets.size() || !below(block.way_of, block.way_vertex.size())) return false;
    if (!below(block.way_vertex, count)) return false;
    // Needs must match sources: a sum that could never be complete is refused here.
    Numbers entries(count);
    for (std::size_t e = 0; e < block.targets.size(); ++e) {
        ++entries[block.targets[e]];
        if (block.way_vertex[block.way_of[e]] != block.targets[e]) return false;
    }
    if (entries != block.need) return false;
    std::vector<bool> uploaded(count);
    for (const auto vertex : block.order) {
        if (uploaded[vertex]) return false;
        uploaded[vertex] = true;
    }
    block.vertex_ids = Ids(block.vertices);
    block.source_ids = Ids(block.sources);
    block.remote_ids = Ids(block.remotes);
    return true;
}

}  // namespace

Ids::Ids(const Numbers& ids) : slots_(std::bit_ceil(2 * ids.size() + 1)), mask_(slots_.size() - 1) {
    for (std::uint32_t place = 0; place < ids.size(); ++place) {
        std::size_t at = slot(ids[place]);
        while (slots_[at].place != none) at = (at + 1) & mask_;
        slots_[at] = {ids[place], place};
    }
}

std::uint64_t Plan::cells() const {
    std::uint64_t vertices = 0;
    for (const auto& block : blocks) vertices += block.vertices.size();
    return vertices * chunks;
}

void find_alone(Plan& plan) {
    std::vector<std::uint8_t> blocks(plan.boundary);  // that have a row, two for more
    for (const auto& block : plan.blocks)
        for (const auto row : block.rows) blocks[row] = blocks[row] == 0 ? 1 : 2;
    for (auto& block : plan.blocks) {
        block.alone.clear();
        for (const auto row : block.rows) block.alone.push_back(blocks[row] == 1);
    }
}

bool read_plans(Bytes text, std::vector<Plan>& plans, std::string& error) {
    Reader reader(text);
    std::uint32_t first = 0, count = 0;
    if (!reader.number(first) || first != plan_magic || !reader.number(count) || count > most_plans) {
        error = "plans: not what offramp.switchgnn writes";
        return false;
    }
    plans.assign(count, {});
    for (auto& plan : plans) {
        std::uint32_t blocks = 0;
        std::uint64_t rows = 0;
        const bool head = reader.number(plan.chunks) && reader.number(plan.boundary) && reader.number(blocks) &&
                          reader.number(plan.segments);
        if (!head || plan.chunks < 1 || plan.chunks > most_chunks || plan.segments < 1 ||
            plan.segments > most_segments || blocks > most_blocks) {
            error = "plans: a header of numbers that cannot be";
            return false;
        }
        for (std::uint32_t b = 0; b < blocks; ++b) {
            Block block;
            std::uint32_t id = 0;
            bool read = reader.number(id);
            for (auto* list : {&block.vertices, &block.rows, &block.need, &block.fan_out, &block.order, &block.sources,
                               &block.indptr, &block.targets, &block.way_of, &block.way_vertex, &block.remotes,
                               &block.reader_indptr, &block.reader_locals})
                read = read && reader.list(*list);
            if (!read || !whole(block, id, plan.boundary, plan.chunks)) {
                error = "plans: block " + std::to_string(b) + " is cut off or does not fit together";
                return false;
            }
            rows += block.rows.size();
            plan.blocks.push_back(std::move(block));
        }
        if (plan.boundary > rows) {
            error = "plans: " + std::to_string(plan.boundary) + " rows, of which blocks have " + std::to_string(rows);
            return false;
        }
    }
    if (!reader.empty()) {
        error = "plans: bytes behind their end";
        return false;
    }
    return true;
}

}  // namespace offramp::switchgnn
