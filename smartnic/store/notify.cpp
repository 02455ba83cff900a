// SPDX-License-Identifier: Apache-2.0
#include "notify.hpp"

#include "pubsub.hpp"
#include "store.hpp"

namespace offramp::store {
namespace {

constexpr std::string_view all_letters = "g$lshzxetd";
constexpr std::string_view other_letters = "lshztd";  // of lists, sets, hashes, sorted sets, streams, modules

std::string_view name_of_set(Verb verb) {
    constexpr std::array<std::string_view, 6> names = {"set", "append", "setrange", "incrby", "incrbyfloat", "rename_to"};
    return names[static_cast<std::size_t>(verb)];
}

}  // namespace

bool Notifier::select(std::string_view letters) {
    unsigned classes = 0;
    std::string others;
    std::string each_letter;
    for (const char letter : letters) each_letter.append(letter == 'A' ? all_letters : std::string_view(&letter, 1));
    for (const char letter : each_letter) {
        switch (letter) {
            case 'K': classes |= keyspace; break;
            case 'E': classes |= keyevent; break;
            case 'g': classes |= generic; break;
            case '$': classes |= string; break;
            case 'x': classes |= expired; break;
            case 'e': classes |= evicted; break;
            case 'n': classes |= fresh_keys; break;
            default:
                if (other_letters.find(letter) == std::string_view::npos) return false;
                if (others.find(letter) == std::string::npos) others.push_back(letter);
        }
    }
    classes_ = classes;
    others_ = others;
    return true;
}

std::string Notifier::letters() const {
    constexpr unsigned every = generic | string | expired | evicted;
    std::string text;
    if ((classes_ & every) == every && others_.size() == other_letters.size()) {
        text = "A";
    } else {
        if ((classes_ & generic) != 0) text += 'g';
        if ((classes_ & string) != 0) text += '$';
        text += others_;
        if ((classes_ & expired) != 0) text += 'x';
        if ((classes_ & evicted) != 0) text += 'e';
    }
    if ((classes_ & keyspace) != 0) text += 'K';
    if ((classes_ & keyevent) != 0) text += 'E';
    if ((classes_ & fresh_keys) != 0) text += 'n';
    return text;
}

void Notifier::tell(PubSub& to, const Changing& change, Verb verb) const {
    const std::string_view key = change.key;
    switch (change.event) {
        case Event::set:
            if (change.old == nullptr) send(to, fresh_keys, "new", key);
            if (verb == Verb::setrange) return;  // an empty value, which the next event fills
            send(to, verb == Verb::rename ? generic : string, name_of_set(verb), key);
            if (verb == Verb::set && change.expires_ms != 0 && (change.old == nullptr || change.old->expires_ms != change.expires_ms))
                send(to, generic, "expire", key);
            return;
        case Event::splice: return send(to, string, verb == Verb::setrange ? "setrange" : "append", key);
        case Event::expire: return send(to, generic, "expire", key);
        case Event::persist: return send(to, generic, "persist", key);
        case Event::erase: return send(to, generic, verb == Verb::rename ? "rename_from" : "del", key);
        case Event::expiry: return send(to, expired, "expired", key);
        case Event::eviction: return send(to, evicted, "evicted", key);
        case Event::clear: return;
    }
}

void Notifier::send(PubSub& to, unsigned of, std::string_view name, std::string_view key) const {
    if ((classes_ & of) == 0 || to.empty()) return;
    if ((classes_ & keyspace) != 0) to.publish(std::string("__keyspace@0__:").append(key), name);
    if ((classes_ & keyevent) != 0) to.publish(std::string("__keyevent@0__:").append(name), key);
}

}  // namespace offramp::store
