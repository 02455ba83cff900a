// SPDX-License-Identifier: Apache-2.0
#include "memcached/binary.hpp"

#include <algorithm>
#include <new>

#include "memcached/session.hpp"
#include "numbers.hpp"

namespace offramp::store::memcached {
namespace {

constexpr std::uint32_t never_create = 0xFFFFFFFF;  // an expiry with which a counter that is not there stays away

// What a request may have: a key, extras of one length or none where they may be left out, a value.
struct Shape {
    bool known = true, key = false, value = false, optional = false;
    std::size_t extras = 0;
};

Shape shape_of(Opcode opcode) {
    switch (opcode) {
        case Opcode::get: case Opcode::remove: return {.key = true};
        case Opcode::set: case Opcode::add: case Opcode::replace: return {.key = true, .value = true, .extras = 8};
        case Opcode::append: case Opcode::prepend: return {.key = true, .value = true};
        case Opcode::increment: case Opcode::decrement: return {.key = true, .extras = 20};
        case Opcode::touch: case Opcode::get_touch: return {.key = true, .extras = 4};
        case Opcode::flush: return {.optional = true, .extras = 4};
        case Opcode::stat: return {.key = true, .optional = true};
        case Opcode::quit: case Opcode::noop: case Opcode::version: return {};
        default: return {.known = false};  // SASL among them: who needs a password shows it in the text protocol
    }
}

// Splits an opcode into its plain form and what the form that was sent adds to it.
BinaryRequest form_of(std::uint8_t sent) {
    const auto opcode = static_cast<Opcode>(sent);
    BinaryRequest request;
    request.opcode = opcode;
    request.sent_opcode = sent;
    const auto is = [&](Opcode plain, bool quiet, bool with_key) {
        request.opcode = plain, request.quiet = quiet, request.with_key = with_key;
    };
    if (opcode >= Opcode::set_quiet && opcode <= Opcode::flush_quiet)
        is(static_cast<Opcode>(sent - static_cast<std::uint8_t>(Opcode::set_quiet) + static_cast<std::uint8_t>(Opcode::set)), true, false);
    else if (opcode == Opcode::append_quiet || opcode == Opcode::prepend_quiet)
        is(opcode == Opcode::append_quiet ? Opcode::append : Opcode::prepend, true, false);
    else if (opcode == Opcode::get_quiet || opcode == Opcode::get_key || opcode == Opcode::get_key_quiet)
        is(Opcode::get, opcode != Opcode::get_key, opcode != Opcode::get_quiet);
    else if (opcode == Opcode::get_touch_quiet || opcode == Opcode::get_touch_key || opcode == Opcode::get_touch_key_quiet)
        is(Opcode::get_touch, opcode != Opcode::get_touch_key, opcode != Opcode::get_touch_quiet);
    return request;
}

const char* text_of(BinaryStatus status) {
    switch (status) {
        case BinaryStatus::not_found: return "Not found";
        case BinaryStatus::exists: return "Data exists for key.";
        case BinaryStatus::too_large: return "Too large.";
        case BinaryStatus::invalid: return "Invalid arguments";
        case BinaryStatus::not_stored: return "Not stored.";
        case BinaryStatus::not_a_number: return "Non-numeric server-side value for incr or decr";
        case BinaryStatus::no_proof: return "Auth failure.";
        case BinaryStatus::busy: return "Busy";
        case BinaryStatus::unknown: return "Unknown command";
        default: return "";
    }
}

// What goes before so many bytes of a value.
void begin_answer(Answer& out, const BinaryRequest& request, BinaryStatus status, std::string_view extras, std::string_view key,
                  std::size_t value, std::uint64_t version) {
    out.push_back(binary_response);
    out.push_back(static_cast<char>(request.sent_opcode));
    append_big(out, static_cast<std::uint16_t>(key.size()));
    out.push_back(static_cast<char>(extras.size()));
    out.push_back('\0');
    append_big(out, static_cast<std::uint16_t>(status));
    append_big(out, static_cast<std::uint32_t>(extras.size() + key.size() + value));
    append_big(out, request.opaque);
    append_big(out, version);
    out.append(extras).append(key);
}

void answer(Answer& out, const BinaryRequest& request, BinaryStatus status, std::string_view extras, std::string_view key,
            std::string_view value, std::uint64_t version) {
    begin_answer(out, request, status, extras, key, value.size(), version);
    out.append(value);
}

void refuse(Answer& out, const BinaryRequest& request, BinaryStatus status) {
    answer(out, request, status, {}, {}, text_of(status), 0);
}

void succeed(Answer& out, const BinaryRequest& request, std::uint64_t version = 0) {
    if (!request.quiet) answer(out, request, BinaryStatus::ok, {}, {}, {}, version);
}

}  // namespace

std::size_t MemcachedSession::binary_command(std::string_view in, Answer& out) {
    if (in.size() < binary_header) return needs_ = binary_header, 0;
    const std::size_t key = get_big<std::uint16_t>(in, 2), extras = static_cast<unsigned char>(in[4]);
    const std::size_t body = get_big<std::uint32_t>(in, 8);
    BinaryRequest request = form_of(static_cast<std::uint8_t>(in[1]));
    request.opaque = get_big<std::uint32_t>(in, 12);
    request.version = get_big<std::uint64_t>(in, 16);
    const Shape shape = shape_of(request.opcode);
    const bool extras_fit = extras == shape.extras || (shape.optional && extras == 0);
    const bool key_fits = shape.key ? key <= most_key && (key > 0 || shape.optional) : key == 0;
    const bool fits = key + extras <= body && extras_fit && key_fits && (shape.value || body == key + extras);
    if (in[0] != binary_request || (shape.known && !fits) || !proved_) {
        // Where the next request would begin is not certain, or this client is nobody's.
        if (in[0] == binary_request) refuse(out, request, proved_ ? BinaryStatus::invalid : BinaryStatus::no_proof);
        ++(proved_ ? service_.totals.protocol_errors : service_.totals.refused);
        ended_ = true;
        return in.size();
    }
    ++service_.totals.commands;
    if (!shape.known) {
        refuse(out, request, BinaryStatus::unknown);
        swallow_ = body;
        return binary_header;
    }
    if (body - key - extras > service_.store.limits().value) {
        if (in.size() < binary_header + extras + key) return needs_ = binary_header + extras + key, 0;
        if (request.opcode == Opcode::set) drop_old(in.substr(binary_header + extras, key));
        refuse(out, request, BinaryStatus::too_large);
        swallow_ = body;
        return binary_header;
    }
    if (in.size() < binary_header + body) return needs_ = binary_header + body, 0;
    request.extras = in.substr(binary_header, extras);
    request.key = in.substr(binary_header + extras, key);
    request.value = in.substr(binary_header + extras + key, body - extras - key);
    try {
        execute(request, out);
    } catch (const std::bad_alloc&) {
        answer(out, request, BinaryStatus::no_room, {}, {}, "Out of memory", 0);
    }
    seal();
    return binary_header + body;
}

void MemcachedSession::execute(const BinaryRequest& request, Answer& out) {
    if (service_.replication.leader.loading) return refuse(out, request, BinaryStatus::busy);
    switch (request.opcode) {
        case Opcode::get: case Opcode::touch: case Opcode::get_touch: return binary_get(request, out);
        case Opcode::increment: case Opcode::decrement: return binary_count(request, out);
        case Opcode::remove: return binary_remove(request, out);
        case Opcode::append: case Opcode::prepend: return binary_join(request, out);
        case Opcode::set: case Opcode::add: case Opcode::replace: return binary_store(request, out);
        case Opcode::version: return answer(out, request, BinaryStatus::ok, {}, {}, version, 0);
        case Opcode::stat: return binary_stats(request, out);
        case Opcode::flush:
            if (!binary_may_change(request, 0, false, out)) return;
            flush_after(request.extras.empty() ? 0 : get_big<std::uint32_t>(request.extras));
            return succeed(out, request);
        case Opcode::quit: ended_ = true; return succeed(out, request);
        default: return succeed(out, request);  // noop
    }
}

bool MemcachedSession::binary_may_change(const BinaryRequest& request, std::size_t bytes, bool grows, Answer& out) {
    const char* reason = refusal(bytes, grows);
    if (reason != nullptr) answer(out, request, BinaryStatus::no_room, {}, {}, reason, 0);
    return reason == nullptr;
}

// Get, touch, and both at once.
void MemcachedSession::binary_get(const BinaryRequest& request, Answer& out) {
    Store& store = service_.store;
    if (request.opcode != Opcode::get && !binary_may_change(request, 0, false, out)) return;
    Entry* entry = store.find(request.key);
    ++(entry == nullptr ? store.counts.misses : store.counts.hits);
    const std::string_view key = request.with_key ? request.key : std::string_view();
    if (entry == nullptr) {
        if (!request.quiet) answer(out, request, BinaryStatus::not_found, {}, key, request.with_key ? "" : text_of(BinaryStatus::not_found), 0);
        return;
    }
    if (request.opcode != Opcode::get) ++store.counts.touches, store.expire(entry, end_of(store, get_big<std::uint32_t>(request.extras)));
    std::string flags;
    append_big(flags, entry->flags);
    const std::string_view value = request.opcode == Opcode::touch ? std::string_view() : entry->value();
    begin_answer(out, request, BinaryStatus::ok, flags, key, value.size(), entry->version);
    out.append(store.pins, entry, value);
}

void MemcachedSession::binary_store(const BinaryRequest& request, Answer& out) {
    Store& store = service_.store;
    ++store.counts.sets;
    if (!binary_may_change(request, request.value.size(), true, out)) return request.opcode == Opcode::set ? drop_old(request.key) : void();
    const Entry* old = store.find(request.key);
    if (request.version != 0 && old == nullptr) return refuse(out, request, BinaryStatus::not_found);
    if (request.version != 0 && old->version != request.version) return refuse(out, request, BinaryStatus::exists);
    if (request.version == 0 && request.opcode == Opcode::add && old != nullptr) return refuse(out, request, BinaryStatus::exists);
    if (request.opcode == Opcode::replace && old == nullptr) return refuse(out, request, BinaryStatus::not_found);
    const std::int64_t expires_ms = end_of(store, get_big<std::uint32_t>(request.extras, 4));
    succeed(out, request, store.set(request.key, request.value, expires_ms, get_big<std::uint32_t>(request.extras))->version);
}

void MemcachedSession::binary_join(const BinaryRequest& request, Answer& out) {
    Store& store = service_.store;
    ++store.counts.sets;
    if (!binary_may_change(request, request.value.size() + length_of(request.key), true, out)) return;
    Entry* old = store.find(request.key);
    const std::size_t length = request.value.size() + (old == nullptr ? 0 : old->value_length);
    if (old == nullptr || length > store.limits().value) return refuse(out, request, BinaryStatus::not_stored);
    if (request.version != 0 && old->version != request.version) return refuse(out, request, BinaryStatus::exists);
    const Entry* entry = request.opcode == Opcode::append
                             ? store.splice(old, old->value_length, request.value)
                             : store.set(request.key, std::string(request.value).append(old->value()), old->expires_ms, old->flags);
    succeed(out, request, entry->version);
}

void MemcachedSession::binary_remove(const BinaryRequest& request, Answer& out) {
    Store& store = service_.store;
    if (!binary_may_change(request, 0, false, out)) return;
    Entry* entry = store.find(request.key);
    if (entry == nullptr) return refuse(out, request, BinaryStatus::not_found);
    if (request.version != 0 && entry->version != request.version) return refuse(out, request, BinaryStatus::exists);
    store.erase(entry);
    succeed(out, request);
}

void MemcachedSession::binary_count(const BinaryRequest& request, Answer& out) {
    Store& store = service_.store;
    if (!binary_may_change(request, 0, true, out)) return;
    const auto delta = get_big<std::uint64_t>(request.extras);
    std::uint64_t number = get_big<std::uint64_t>(request.extras, 8);
    const auto time = get_big<std::uint32_t>(request.extras, 16);
    Entry* entry = store.find(request.key);
    if (entry == nullptr && time == never_create) return refuse(out, request, BinaryStatus::not_found);
    if (entry != nullptr) {
        const bool other = request.version != 0 && entry->version != request.version;
        if (other && entry->value_length != 0) return refuse(out, request, BinaryStatus::exists);
        if (!parse_counter(entry->value(), number)) return refuse(out, request, BinaryStatus::not_a_number);
        number = request.opcode == Opcode::increment ? number + delta : number - std::min(number, delta);
    }
    std::string text, big;
    append_number(text, number);
    append_big(big, number);
    entry = entry == nullptr ? store.set(request.key, text, end_of(store, time)) : store.set(request.key, text, entry->expires_ms, entry->flags);
    if (!request.quiet) answer(out, request, BinaryStatus::ok, {}, {}, big, entry->version);
}

void MemcachedSession::binary_stats(const BinaryRequest& request, Answer& out) {
    if (request.key == "reset")
        service_.store.counts = {};
    else if (!request.key.empty())
        return refuse(out, request, BinaryStatus::not_found);
    else
        each_stat([&](std::string_view name, std::string_view value) { answer(out, request, BinaryStatus::ok, {}, name, value, 0); });
    answer(out, request, BinaryStatus::ok, {}, {}, {}, 0);
}

}  // namespace offramp::store::memcached
