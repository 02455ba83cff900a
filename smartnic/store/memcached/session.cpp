// SPDX-License-Identifier: Apache-2.0
#include "memcached/session.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include "foreign.hpp"
#include "memcached/binary.hpp"
#include "numbers.hpp"

namespace offramp::store::memcached {
namespace {

constexpr std::size_t most_other_line = 2048;  // bytes of a line that names no keys
constexpr std::size_t most_words = 1 << 16;    // of one that does
constexpr std::size_t record_overhead = 128;
constexpr std::int64_t longest_from_now_s = 60 * 60 * 24 * 30;

constexpr std::size_t kept_words = 512;
constexpr std::array<std::string_view, 6> storing = {"set", "add", "replace", "append", "prepend", "cas"};
constexpr std::array<std::string_view, 13> quietable = {"set",  "add",   "replace",   "append",    "prepend",       "cas",   "incr",
                                                        "decr", "touch", "flush_all", "verbosity", "cache_memlimit", "delete"};

template <typename Names>
bool one_of(std::string_view word, const Names& names) {
    return std::find(names.begin(), names.end(), word) != names.end();
}

}  // namespace

MemcachedSession::MemcachedSession(Service& service, bool trusted) : service_(service) {
    proved_ = trusted || service.password.empty();
}

std::int64_t end_of(const Store& store, std::int64_t time) {
    if (time == 0) return 0;
    if (time < 0) return 1;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 1000 - longest_from_now_s;
    if (time > longest_from_now_s) return std::min(time, most) * 1000;
    return store.now_ms() + time * 1000;
}

bool good_key(std::string_view key) {
    for (const char each : key)
        if (static_cast<unsigned char>(each) <= ' ' || each == '\x7f') return false;
    return !key.empty() && key.size() <= most_key;
}

std::size_t MemcachedSession::consume(std::string_view in, Answer& out) {
    std::size_t used = 0;
    needs_ = 1;
    std::size_t words = 0;
    if (!began_ && !in.empty()) began_ = true, binary_ = in[0] == binary_request;
    while (used < in.size() && !ended_ && words < turn_words && out.waiting() < long_answers) {
        if (swallow_ > 0) {
            const std::size_t taken = std::min<std::uint64_t>(swallow_, in.size() - used);
            swallow_ -= taken;
            used += taken;
            continue;
        }
        const std::size_t taken = binary_ ? binary_command(in.substr(used), out) : command(in.substr(used), out);
        if (taken == 0) break;
        used += taken;
        words += 1 + words_.size();
    }
    return used;
}

std::size_t MemcachedSession::command(std::string_view in, Answer& out) {
    const bool keys = proved_ && (in.starts_with("get") || in.starts_with("gat"));
    const std::size_t most = keys ? most_command : most_other_line;
    const std::size_t end = in.substr(0, most).find('\n', searched_);
    if (end == std::string_view::npos) {
        if (in.size() >= most) {
            ++service_.totals.protocol_errors;
            out.append("CLIENT_ERROR line too long\r\n");
            ended_ = true;
        }
        searched_ = in.size();
        needs_ = in.size() + 1;
        return 0;
    }
    searched_ = 0;
    std::string_view line = in.substr(0, end - (end > 0 && in[end - 1] == '\r'));
    if (words_.capacity() > kept_words) free_memory(words_);
    words_.clear();
    for (std::string_view word = next_word(line); !word.empty() && words_.size() <= most_words; word = next_word(line))
        words_.push_back(word);
    if (words_.size() > most_words) {
        ++service_.totals.protocol_errors;
        out.append("CLIENT_ERROR more than 65536 words\r\n");
        ended_ = true;
        return end + 1;
    }
    if (words_.empty()) return out.append("ERROR\r\n"), end + 1;
    const bool stores = one_of(words_[0], storing) && words_.size() >= 5;
    const bool meta_store = words_[0] == "ms" && words_.size() >= 3;
    const bool quiet = words_.back() == "noreply" && one_of(words_[0], quietable) && words_.size() > 1;
    scratch_.release();
    Answer& to = quiet ? scratch_ : out;
    std::string_view data;
    std::size_t used = end + 1;
    if (stores || meta_store) {
        bool good = false;
        used = block(in, used, words_[meta_store ? 2 : 4], data, good, to);
        if (used == 0 || !good) return used;
    }
    ++service_.totals.commands;
    if (!proved_) {
        prove(data, out);
        return used;
    }
    if (quiet) words_.pop_back();
    execute_line(data, stores, meta_store, to);
    return used;
}

void MemcachedSession::execute_line(std::string_view data, bool stores, bool meta_store, Answer& out) {
    if (service_.replication.leader.loading) return void(out.append("SERVER_ERROR this store is loading what it follows\r\n"));
    try {
        if (stores)
            store_value(data, out);
        else if (meta_store)
            meta_set(data, out);
        else
            simple(out);
    } catch (const std::bad_alloc&) {
        out.append("SERVER_ERROR out of memory\r\n");
    }
    seal();
}

std::size_t MemcachedSession::block(std::string_view in, std::size_t line, std::string_view length, std::string_view& data,
                                    bool& good, Answer& out) {
    std::uint32_t bytes = 0;
    if (!parse_number(length, bytes) || bytes > std::numeric_limits<std::int32_t>::max() - 2) {
        out.append(bad_format);
        return line;
    }
    if (bytes > (proved_ ? service_.store.limits().value : most_before_proof)) {
        out.append("SERVER_ERROR object too large for cache\r\n");
        if (proved_ && (words_[0] == "set" || words_[0] == "ms")) drop_old(words_[1]);
        swallow_ = std::uint64_t{bytes} + 2;
        ended_ = !proved_;
        return line;
    }
    if (in.size() < line + bytes + 2) {
        needs_ = line + bytes + 2;
        return 0;
    }
    data = in.substr(line, bytes);
    good = in.substr(line + bytes, 2) == "\r\n";
    if (good) return line + bytes + 2;
    out.append("CLIENT_ERROR bad data chunk\r\n");
    const std::size_t next = in.find('\n', line + bytes);
    return next == std::string_view::npos ? in.size() : next + 1;
}

// memcached's authentication over text: the data of a first "set" are a name, a space and the password.
void MemcachedSession::prove(std::string_view data, Answer& out) {
    const std::size_t space = data.find(' ');
    if (words_[0] == "set" && space != std::string_view::npos && service_.accepts(data.substr(space + 1))) {
        proved_ = true;
        out.append("STORED\r\n");
        return;
    }
    ++service_.totals.refused;
    out.append("CLIENT_ERROR unauthenticated\r\n");
    ended_ = true;
}

const char* MemcachedSession::refusal(std::size_t bytes, bool grows) {
    if (service_.store.follows) return "this store follows another one";
    if (grows && !service_.store.make_room(0)) return "out of memory storing object";
    return service_.loggable(bytes + record_overhead + most_key) ? nullptr : service_.store.log()->fault().c_str();
}

bool MemcachedSession::may_change(std::size_t bytes, bool grows, Answer& out) {
    const char* reason = refusal(bytes, grows);
    if (reason != nullptr) out.append("SERVER_ERROR ").append(reason).append("\r\n");
    return reason == nullptr;
}

void MemcachedSession::drop_old(std::string_view key) {
    if (!good_key(key) || service_.store.follows || !service_.loggable(record_overhead + most_key)) return;
    service_.store.erase(key);
    seal();
}

void MemcachedSession::seal() {
    service_.store.seal();
}

void MemcachedSession::simple(Answer& out) {
    const std::string_view name = words_[0];
    if (name == "get") return retrieve(out, 1, false, false);
    if (name == "gets") return retrieve(out, 1, true, false);
    if (name == "gat") return retrieve(out, 2, false, true);
    if (name == "gats") return retrieve(out, 2, true, true);
    if (name == "delete") return remove(out);
    if (name == "incr") return count(out, true);
    if (name == "decr") return count(out, false);
    if (name == "touch") return touch(out);
    if (name == "mg") return meta_get(out);
    if (name == "md") return meta_delete(out);
    if (name == "ma") return meta_count(out);
    if (name == "me") return meta_debug(out);
    if (name == "flush_all") return flush(out);
    if (name == "stats") return stats(out);
    if (name == "ms" && words_.size() > 1) return void(out.append(bad_format));
    if (name == "mn") {
        out.append("MN\r\n");
    } else if (name == "version") {
        out.append("VERSION ").append(version).append("\r\n");
    } else if (name == "verbosity") {
        std::uint32_t level = 0;
        out.append(words_.size() < 2 ? "ERROR\r\n" : parse_number(words_[1], level) ? "OK\r\n" : bad_format);
    } else if (name == "cache_memlimit") {
        std::uint64_t megabytes = 0;
        const bool known = words_.size() == 2 && parse_number(words_[1], megabytes) && megabytes >> 44 == 0;
        if (known) service_.store.limits().memory = megabytes << 20;
        out.append(known ? "OK\r\n" : "ERROR\r\n");
    } else if (name == "quit") {
        ended_ = true;
    } else {
        // A web page's request, redis' protocol, TLS.
        if (is_http(words_) || name[0] == '*' || name[0] == '$' || name[0] < '!' || name[0] > '~') {
            ++service_.totals.protocol_errors;
            ended_ = true;
        }
        if (!is_http(words_)) out.append("ERROR\r\n");
    }
}

}  // namespace offramp::store::memcached
