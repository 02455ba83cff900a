// SPDX-License-Identifier: Apache-2.0
// The folder of a store: snapshots and logs, by generation. Snapshot N holds what log N begins with.
//
// A snapshot is written by a copy of the process (fork), which sees the memory as it was, while this one goes on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "log.hpp"
#include "store.hpp"

namespace offramp::store {

class Disk {
  public:
    // `bell`: as of `Log`.
    Disk(std::string folder, Sync policy, int bell);

    // Fills the store with what the folder has and opens the log; false, with the reason, where it is damaged or another
    // server has it. `cut`: what a damaged log has behind its damage is given up.
    bool open(Store& store, bool cut, std::string& error);
    // Fills an empty store, which is not attached to the log, with what the folder has.
    bool restore(Store& store, std::string& error);
    [[nodiscard]] Log& log() { return log_; }

    // Begins a snapshot. False, with the reason, where that cannot be.
    bool save(Store& store, std::string& error);
    [[nodiscard]] bool saving() const { return writer_ > 0; }
    // Looks whether the snapshot is done, or waits for it; true once where it is, and then `error` is empty or its fault.
    bool saved(bool wait, std::string& error);
    // Whether the log has become so long that a snapshot is due.
    [[nodiscard]] bool due() const;

    [[nodiscard]] std::uint64_t records() const { return records_; }
    [[nodiscard]] std::uint64_t torn_bytes() const { return torn_; }

  private:
    bool replay(Store& store, bool cut, std::uint32_t& first, std::uint32_t& last, std::string& error);
    bool load(Store& store, const char* kind, std::uint32_t generation, bool last, bool cut, std::string& error);
    void forget(std::uint32_t before);

    std::string folder_;
    Log log_;
    Descriptor lock_;
    pid_t writer_ = 0;
    std::uint32_t writing_ = 0;
    std::uint64_t number_ = 0, records_ = 0, torn_ = 0, log_bytes_ = 0, snapshot_bytes_ = 0;
};

}  // namespace offramp::store
