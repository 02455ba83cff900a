// SPDX-License-Identifier: Apache-2.0
// A worker's link through memory that it shares with the switch (offramp_base.transport.shm.rings): frames are built where
// the switch reads them, and taken apart where it wrote them. A socket wakes either side.
//
// The other side may write anything there at any time: positions and lengths are read once, checked, and kept here.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "formats/rings.hpp"
#include "link.hpp"

namespace offramp {

class SharedLink final : public Link {
  public:
    // The mapped memory and a connected socket, which stay the caller's.
    SharedLink(std::byte* memory, int descriptor)
        : up_(memory), down_(memory + rings::entries_at + rings::ring_bytes), bell_(descriptor) {}

    [[nodiscard]] std::byte* room() override;
    void add(std::size_t length) override;
    [[nodiscard]] bool holds() const override { return frames_ != 0; }
    [[nodiscard]] bool full() const override { return full_; }
    Outcome send() override;
    Outcome receive(const Take& take) override;
    bool wait(bool writing, std::int64_t ns) override;

  private:
    // A ring as one side sees it.
    struct Ring {
        explicit Ring(std::byte* base) : base(base) {}
        [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t at) const {
            return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(base + at));
        }
        [[nodiscard]] std::byte* entries() const { return base + rings::entries_at; }

        std::byte* base;
        std::uint64_t position = 0;  // bytes that this side has written or seen
    };

    static constexpr std::size_t most_frames = rings::message_bytes / 50;
    static constexpr std::size_t most_entry = rings::entry_bytes + rings::message_bytes + longest + 2 * most_frames + 8;

    bool begin();
    [[nodiscard]] bool has_room();
    Outcome next_entry(std::size_t& place, std::size_t& length);
    void ring() const;
    bool drain_bell();

    Ring up_, down_;
    int bell_;
    std::byte* message_ = nullptr;  // the frames of the message that is begun
    std::array<std::uint16_t, most_frames> lengths_;
    std::vector<std::uint16_t> taken_;
    std::size_t frames_ = 0, bytes_ = 0;
    bool full_ = false, gone_ = false, lie_ = false;
};

}  // namespace offramp
