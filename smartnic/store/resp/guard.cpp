// SPDX-License-Identifier: Apache-2.0
// Commands of those who serve keys elsewhere as well (`guards.hpp`), and values with their versions.
#include "resp/commands.hpp"

namespace offramp::store::resp {
namespace {

constexpr std::size_t most_guarded = std::size_t{4} << 10;  // bytes of a value that is worth telling about

void version_and_value(Reply& out, const Entry& entry) {
    out.array(2);
    out.integer(static_cast<std::int64_t>(entry.version));
    out.bulk(entry.value());
}

// Values that can be served without the store's clock.
bool guardable(const Entry* entry) {
    return entry != nullptr && entry->expires_ms == 0 && entry->value_length <= most_guarded;
}

bool allowed(Call& call) {
    if (call.session.trusted() && call.service.guardable()) return true;
    call.out.error("ERR guards prove the token, at the store's own address (OFFRAMP_TOKEN_FILE)");
    return false;
}

}  // namespace

// GUARD key: version and value, whose changes this connection is told from now on; nil where there is no such key, it expires, or its
// value is long.
void guard(Call& call) {
    if (!allowed(call)) return;
    const Entry* entry = call.store().find(call[1]);
    if (!guardable(entry)) return call.out.null();
    if (!call.service.guard(call.session, call[1])) return call.out.error("ERR 1048576 keys are guarded already");
    version_and_value(call.out, *entry);
}

// UNGUARD key: it is served by the store alone again.
void unguard(Call& call) {
    if (!allowed(call)) return;
    call.service.unguard(call.session, call[1]);
    call.out.ok();
}

// RELEASE number: what this connection serves has all changes up to that one.
void release(Call& call) {
    if (!allowed(call)) return;
    std::uint64_t number = 0;
    if (!parse_number(call[1], number)) return call.out.error(no_integer);
    call.service.guards.release(call.session.id, number);
    call.out.ok();
}

// GETVER key: version and value, nil where there is none. Versions of a key only grow.
void getver(Call& call) {
    const Entry* entry = call.store().find(call[1]);
    if (entry == nullptr) return call.out.null();
    version_and_value(call.out, *entry);
}

// SETVER key value: the version that this value is.
void setver(Call& call) {
    if (!fit(call, call[1], call[2].size())) return;
    call.out.integer(static_cast<std::int64_t>(call.store().set(call[1], call[2])->version));
}

// A change, as sent to a guard: its number, the key, its version and value or nil twice. Nil for the key: all keys are gone.
void tell_change(Answer& to, Store& store, const Guards::Notice& notice) {
    Reply out(to, 2);
    out.push(5);
    out.bulk("change");
    out.integer(static_cast<std::int64_t>(notice.number));
    const Entry* entry = notice.all ? nullptr : store.find(notice.key);
    notice.all ? out.null() : out.bulk(notice.key);
    if (guardable(entry)) {
        out.integer(static_cast<std::int64_t>(entry->version));
        out.bulk(entry->value());
    } else {
        out.null();
        out.null();
    }
}

}  // namespace offramp::store::resp
