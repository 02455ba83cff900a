// SPDX-License-Identifier: Apache-2.0
// The append-only log: changes of a round are written together, and synced as its policy says.
//
// Room on the disk is taken before a change is made (`reserve`), so that a full disk refuses changes instead of losing them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "descriptor.hpp"
#include "record.hpp"

namespace offramp::store {

enum class Sync { always, every_second, never };

class Log {
  public:
    // `bell` is an eventfd that is rung when `durable` has risen.
    Log(std::string folder, Sync policy, int bell);
    ~Log();

    // Goes on behind the first `size` bytes of log `generation`; `number` is that of the last record.
    bool open(std::uint32_t generation, std::uint64_t size, std::uint64_t number, std::string& error);
    // Begins the next generation, in which all later changes are.
    bool rotate(std::string& error);

    // Takes room for `bytes` more, on disk and in memory; false, with the reason in `fault`, where the disk has none. Throws
    // std::bad_alloc where the memory has none.
    bool reserve(std::size_t bytes);
    void add(const Change& change) { writer_.add(change); }
    // Ends the record of what was added.
    void seal() {
        if (writer_.seal(number_ + 1, synced_.load(std::memory_order_relaxed))) ++number_;
    }
    // Hands what is sealed to the kernel, and to the disk if that is the policy. False: it failed, for good.
    bool write();
    // Waits until everything that was written is on disk.
    bool sync();

    // After a failure: nothing waits for the log any more, and nothing is added to it.
    void give_up() {
        given_up_ = true;
        buffer_.clear();
    }

    [[nodiscard]] std::uint64_t number() const { return number_; }
    // The last change that survives what the policy promises to survive.
    [[nodiscard]] std::uint64_t durable() const {
        if (given_up_) return ~std::uint64_t{0};
        return policy_ == Sync::always ? synced_.load(std::memory_order_acquire) : written_number_;
    }
    [[nodiscard]] std::uint32_t generation() const { return generation_; }
    [[nodiscard]] std::uint64_t size() const { return written_ + buffer_.size(); }
    [[nodiscard]] const std::string& fault() const { return fault_; }
    [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
    [[nodiscard]] const std::string& folder() const { return folder_; }
    [[nodiscard]] std::uint64_t syncs() const { return syncs_.load(std::memory_order_relaxed); }
    [[nodiscard]] Sync policy() const { return policy_; }

    static std::string name(const std::string& folder, const char* kind, std::uint32_t generation);
    // Makes names in the folder durable.
    static void sync_folder(const std::string& folder);

  private:
    void run();
    bool fail(const char* what, int error);

    std::string folder_;
    Sync policy_;
    int bell_;
    Descriptor file_;
    std::string buffer_, fault_;
    RecordWriter writer_{buffer_};
    std::uint32_t generation_ = 0;
    std::uint64_t written_ = 0, allocated_ = 0, number_ = 0, written_number_ = 0;
    bool allocates_ = true, given_up_ = false;

    std::atomic<std::uint64_t> synced_ = 0, syncs_ = 0;
    std::atomic<bool> failed_ = false;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::uint64_t wanted_ = 0;
    int to_sync_ = -1;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace offramp::store
