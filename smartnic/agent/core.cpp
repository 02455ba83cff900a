// SPDX-License-Identifier: Apache-2.0
#include "core.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "reflect.hpp"

namespace offramp {
namespace {

constexpr int patience = 256;  // looks in vain before it sleeps

Time now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

void watch(int epoll, int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

}  // namespace

Core::Core(std::unique_ptr<Compressor> compressor, bool never_sleep)
    : compressor_(std::move(compressor)),
      never_sleep_(never_sleep),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    watch(epoll_.get(), wake_.get());
}

void Core::add(std::shared_ptr<Queue> queue) {
    watch(epoll_.get(), queue->bell());
    work_.push_back(std::move(queue));
}

void Core::remove(const Queue* queue) {
    std::erase_if(work_, [&](const auto& each) {
        if (each.get() != queue) return false;
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, each->bell(), nullptr);
        return true;
    });
}

void Core::call(std::function<void()> task) {
    std::promise<void> done;
    {
        const std::lock_guard lock(mutex_);
        tasks_.emplace_back([&] {
            task();
            done.set_value();
        });
        has_tasks_.store(true, std::memory_order_release);
    }
    ::eventfd_write(wake_.get(), 1);
    done.get_future().wait();
}

void Core::stop() {
    stop_.store(true, std::memory_order_release);
    ::eventfd_write(wake_.get(), 1);
}

void Core::take_tasks() {
    std::vector<std::function<void()>> tasks;
    {
        const std::lock_guard lock(mutex_);
        tasks.swap(tasks_);
        has_tasks_.store(false, std::memory_order_relaxed);
    }
    for (const auto& task : tasks) task();
}

void Core::run() {
    int vain = 0;
    while (!stop_.load(std::memory_order_acquire)) {
        if (has_tasks_.load(std::memory_order_acquire)) take_tasks();
        bool busy = false, active = false;
        const auto now = now_ns();
        for (const auto& queue : work_) {
            busy |= queue->poll(compressor_.get(), now);
            active |= queue->has_transport();
        }
        for (Lane* end : ends_) busy |= offramp::reflect(*end);
        if (busy)
            vain = 0;
        else if (++vain >= patience)
            idle(active);
    }
    take_tasks();
    work_.clear();
    ended_.store(true, std::memory_order_release);
    ended_.notify_all();
}

void Core::idle(bool active) {
    if (never_sleep_) return;
    // A port wakes nobody: with a worker on one the core looks again soon. Bells wake it at once.
    const bool exchanging = std::any_of(work_.begin(), work_.end(), [](const auto& each) { return each->active(); });
    timespec pause{};
    pause.tv_nsec = exchanging ? 20'000 : active ? 500'000 : 100'000'000;
    pollfd any{epoll_.get(), POLLIN, 0};
    ::ppoll(&any, 1, &pause, nullptr);  // epoll_pwait2 is too new for smartNICs' kernels, epoll_wait counts milliseconds
    std::array<epoll_event, 16> events;
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), 0);
    for (int i = 0; i < count; ++i) {
        eventfd_t ignored = 0;
        if (events[static_cast<std::size_t>(i)].data.fd == wake_.get()) ::eventfd_read(wake_.get(), &ignored);
    }
    for (const auto& queue : work_) queue->listen();
}

}  // namespace offramp
