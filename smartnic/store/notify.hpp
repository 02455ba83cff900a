// SPDX-License-Identifier: Apache-2.0
// Keyspace events, as redis sends them: which of them are sent, and how they are called.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace offramp::store {

class PubSub;
struct Changing;

// How a command calls the changes that it makes.
enum class Verb : unsigned char { set, append, setrange, incrby, incrbyfloat, rename };

class Notifier {
  public:
    // The classes of `notify-keyspace-events`, by their letters; false, and nothing changes, where one is not known.
    [[nodiscard]] bool select(std::string_view letters);
    [[nodiscard]] std::string letters() const;
    // Whether any event is sent at all.
    [[nodiscard]] bool on() const { return (classes_ & (keyspace | keyevent)) != 0; }
    // Sends the events of a change by a command.
    void tell(PubSub& to, const Changing& change, Verb verb) const;

  private:
    enum Class : unsigned { keyspace = 1, keyevent = 2, generic = 4, string = 8, expired = 16, evicted = 32, fresh_keys = 64, others = 128 };

    void send(PubSub& to, unsigned of, std::string_view name, std::string_view key) const;

    unsigned classes_ = 0;
    std::string others_;  // letters of types that the store lacks: no event has them
};

}  // namespace offramp::store
