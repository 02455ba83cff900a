// SPDX-License-Identifier: Apache-2.0
// A core that runs to completion: it polls its clients' queues and their ports, and sleeps when nothing comes.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#include "queue.hpp"

namespace offramp {

class Core {
  public:
    Core(std::unique_ptr<Compressor> compressor, bool never_sleep);
    ~Core() = default;
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    // Runs until `stop`.
    void run();
    void stop();
    // Waits until `run` has returned. DPDK waits for its threads, too, where sanitizers cannot see what that orders.
    void join() const { ended_.wait(false, std::memory_order_acquire); }

    // Plays the other end of a link from now on; to be called before `run`.
    void reflect(Lane& end) { ends_.push_back(&end); }

    // Runs `task` on the core, between packets, and waits until it is done.
    void call(std::function<void()> task);

    // To be called from tasks only.
    void add(std::shared_ptr<Queue> queue);
    void remove(const Queue* queue);

    std::size_t queues = 0;  // that the control thread has put here

  private:
    void idle(bool active);
    void take_tasks();

    std::unique_ptr<Compressor> compressor_;
    bool never_sleep_;
    Descriptor epoll_, wake_;
    std::vector<std::shared_ptr<Queue>> work_;
    std::vector<Lane*> ends_;
    std::atomic<bool> stop_ = false, has_tasks_ = false, ended_ = false;
    std::mutex mutex_;
    std::vector<std::function<void()>> tasks_;
};

}  // namespace offramp
