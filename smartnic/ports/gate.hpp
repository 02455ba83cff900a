// SPDX-License-Identifier: Apache-2.0
// Waiting of workers: for frames, and while others change shared state.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace offramp {

class Gate {
  public:
    // A worker passes between two bursts; false: it is to end. `idle`: it has nothing to do for so long.
    bool pass(std::chrono::microseconds idle = {}) {
        if (idle.count() == 0 && !wanted_.load(std::memory_order_acquire)) return true;
        std::unique_lock lock(mutex_);
        ++outside_;
        changed_.notify_all();
        if (idle.count() != 0) changed_.wait_for(lock, idle, [this] { return ended_; });
        changed_.wait(lock, [this] { return pauses_ == 0 || ended_; });
        --outside_;
        return !ended_;
    }

    void pause() {
        std::unique_lock lock(mutex_);
        ++pauses_;
        wanted_.store(true, std::memory_order_release);
        changed_.wait(lock, [this] { return outside_ == workers_; });
    }

    void resume() {
        const std::lock_guard lock(mutex_);
        if (--pauses_ == 0 && !ended_) wanted_.store(false, std::memory_order_release);
        changed_.notify_all();
    }

    void enter() {
        const std::lock_guard lock(mutex_);
        ++workers_;
    }

    void leave() {
        const std::lock_guard lock(mutex_);
        --workers_;
        changed_.notify_all();
    }

    void end() {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        wanted_.store(true, std::memory_order_release);
        changed_.notify_all();
    }

    void open() {
        const std::lock_guard lock(mutex_);
        ended_ = false;
        wanted_.store(pauses_ != 0, std::memory_order_release);
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<bool> wanted_ = false;
    unsigned workers_ = 0, outside_ = 0, pauses_ = 0;
    bool ended_ = false;
};

}  // namespace offramp
