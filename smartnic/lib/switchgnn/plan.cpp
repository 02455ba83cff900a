// SPDX-License-Identifier: Apache-2.0
#include "switchgnn/plan.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>

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
    bool lists(std::initializer_list<Numbers*> all) {
        return std::all_of(all.begin(), all.end(), [this](Numbers* to) { return list(*to); });
    }
    // Three lists; nothing where all are empty.
    bool edges(std::shared_ptr<const Edges>& to) {
        Edges read;
        if (!lists({&read.remotes, &read.indptr, &read.locals})) return false;
        if (read.remotes.empty() && read.indptr.empty() && read.locals.empty()) return true;
        read.ids = Ids(read.remotes);
        to = std::make_shared<const Edges>(std::move(read));
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
    const Edges &sources = *block.sources, &readers = *block.readers;
    const std::uint64_t states = count + sources.remotes.size() + sources.locals.size() + readers.locals.size();
    if (states * chunks > most_states) return false;
    block.id = static_cast<std::uint16_t>(id);
    const bool shape = id < most_blocks && ascending(block.vertices) && block.rows.size() == count &&
                       block.need.size() == count && block.fan_out.size() == count && ascending(block.rows) &&
                       below(block.rows, boundary) && below(block.need, 0x8000) && below(block.fan_out, 0x10000) &&
                       block.order.size() <= count && below(block.order, count);
    if (!shape || block.way_of.size() != sources.locals.size()) return false;
    for (const auto& edges : {block.sources, block.readers})
        if (!ascending(edges->remotes) || !csr(edges->indptr, edges->locals, edges->remotes.size(), count))
            return false;
    if (!below(block.way_of, block.way_vertex.size())) return false;
    if (!below(block.way_vertex, count)) return false;
    // Needs must match sources: a sum that could never be complete is refused here.
    Numbers entries(count);
    for (std::size_t e = 0; e < sources.locals.size(); ++e) {
        ++entries[sources.locals[e]];
        if (block.way_vertex[block.way_of[e]] != sources.locals[e]) return false;
    }
    if (entries != block.need) return false;
    std::vector<bool> uploaded(count);
    for (const auto vertex : block.order) {
        if (uploaded[vertex]) return false;
        uploaded[vertex] = true;
    }
    block.vertex_ids = Ids(block.vertices);
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

void number_shared(Plan& plan) {
    std::vector<std::uint8_t> blocks(plan.boundary);  // that have a row, two for more
    for (const auto& block : plan.blocks)
        for (const auto row : block.rows) blocks[row] = blocks[row] == 0 ? 1 : 2;
    plan.shared = 0;
    for (auto& block : plan.blocks) {
        block.shared.clear();
        block.shared.reserve(block.rows.size());
        for (const auto row : block.rows) block.shared.push_back(blocks[row] == 1 ? Ids::none : plan.shared++);
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
            bool read = reader.number(id) &&
                        reader.lists({&block.vertices, &block.rows, &block.need, &block.fan_out, &block.order}) &&
                        reader.edges(block.sources) && reader.lists({&block.way_of, &block.way_vertex});
            block.readers = block.sources;
            read = read && reader.edges(block.readers) && block.sources;
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
        number_shared(plan);
    }
    if (!reader.empty()) {
        error = "plans: bytes behind their end";
        return false;
    }
    return true;
}

}  // namespace offramp::switchgnn
