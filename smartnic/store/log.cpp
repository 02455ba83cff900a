// SPDX-License-Identifier: Apache-2.0
#include "log.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace offramp::store {
namespace {

constexpr std::uint64_t chunk = std::uint64_t{4} << 20;  // of disk that is taken at a time
constexpr std::size_t kept = std::size_t{1} << 20;       // of a buffer that was once longer

}  // namespace

Log::Log(std::string folder, Sync policy, int bell) : folder_(std::move(folder)), policy_(policy), bell_(bell) {}

Log::~Log() {
    if (thread_.joinable()) {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        wake_.notify_one();
        thread_.join();
    }
}

std::string Log::name(const std::string& folder, const char* kind, std::uint32_t generation) {
    char number[16];
    std::snprintf(number, sizeof number, "-%08u", generation);
    return folder + "/" + kind + number;
}

void Log::sync_folder(const std::string& folder) {
    const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() >= 0) ::fsync(fd.get());
}

bool Log::open(std::uint32_t generation, std::uint64_t size, std::uint64_t number, std::string& error) {
    const std::string path = name(folder_, "log", generation);
    file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (file_.get() < 0 || ::ftruncate(file_.get(), static_cast<off_t>(size)) != 0) {
        error = path + ": " + std::strerror(errno);
        return false;
    }
    ::fdatasync(file_.get());
    sync_folder(folder_);
    generation_ = generation;
    written_ = allocated_ = size;
    number_ = written_number_ = number;
    synced_ = number;
    wanted_ = number;
    to_sync_ = file_.get();
    if (!thread_.joinable() && policy_ != Sync::never) thread_ = std::thread([this] { run(); });
    return true;
}

bool Log::rotate(std::string& error) {
    if (!write() || !sync()) {
        error = fault_;
        return false;
    }
    const std::string path = name(folder_, "log", generation_ + 1);
    Descriptor next(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (next.get() < 0) {
        error = path + ": " + std::strerror(errno);
        return false;
    }
    sync_folder(folder_);
    const std::lock_guard lock(mutex_);  // the other thread syncs under it where it may lose the file
    if (::ftruncate(file_.get(), static_cast<off_t>(written_)) != 0) {}  // gives reserved room back; harmless if not
    file_ = std::move(next);
    to_sync_ = file_.get();
    ++generation_;
    written_ = allocated_ = 0;
    return true;
}

bool Log::fail(const char* what, int error) {
    fault_ = std::string("the log cannot be ") + what + ": " + std::strerror(error);
    failed_.store(true, std::memory_order_release);
    return false;
}

bool Log::reserve(std::size_t bytes) {
    if (failed()) {
        if (fault_.empty()) fault_ = "the log cannot be synced";
        return false;
    }
    if (bytes > most_record) {
        fault_ = "a change is longer than 268435456 bytes";
        return false;
    }
    if (buffer_.capacity() - buffer_.size() < bytes) buffer_.reserve(buffer_.size() + bytes);
    const std::uint64_t need = written_ + buffer_.size() + bytes;
    if (need <= allocated_ || !allocates_) return true;
    for (const std::uint64_t size : {std::max(chunk, need - allocated_), need - allocated_}) {
        if (::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(allocated_), static_cast<off_t>(size)) == 0) {
            allocated_ += size;
            return true;
        }
        if (errno == EOPNOTSUPP) {
            allocates_ = false;
            return true;
        }
    }
    fault_ = std::string("no room for the log: ") + std::strerror(errno);
    return false;
}

bool Log::write() {
    if (buffer_.empty() || given_up_) return given_up_ || !failed();
    for (std::size_t done = 0; done < buffer_.size();) {
        const ssize_t count = ::pwrite(file_.get(), buffer_.data() + done, buffer_.size() - done,
                                       static_cast<off_t>(written_ + done));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return fail("written", count < 0 ? errno : ENOSPC);
        done += static_cast<std::size_t>(count);
    }
    written_ += buffer_.size();
    written_number_ = number_;
    buffer_.clear();
    if (buffer_.capacity() > kept) {
        buffer_.shrink_to_fit();
    }
    if (policy_ == Sync::always) {
        {
            const std::lock_guard lock(mutex_);
            wanted_ = number_;
        }
        wake_.notify_one();
    }
    return !failed();
}

bool Log::sync() {
    if (::fdatasync(file_.get()) != 0) return fail("synced", errno);
    synced_.store(written_number_, std::memory_order_release);
    return true;
}

void Log::run() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
        if (policy_ == Sync::always)
            wake_.wait(lock, [this] { return stop_ || wanted_ > synced_.load(std::memory_order_relaxed); });
        else
            wake_.wait_for(lock, std::chrono::seconds(1), [this] { return stop_; });
        const std::uint64_t target = policy_ == Sync::always ? wanted_ : 0;
        const Descriptor file(::fcntl(to_sync_, F_DUPFD_CLOEXEC, 0));  // which a rotation may replace
        lock.unlock();
        const bool done = ::fdatasync(file.get()) == 0;
        lock.lock();
        if (!done) failed_.store(true, std::memory_order_release);
        if (done && target > synced_.load(std::memory_order_relaxed)) synced_.store(target, std::memory_order_release);
        syncs_.fetch_add(1, std::memory_order_relaxed);
        if (policy_ == Sync::always) ::eventfd_write(bell_, 1);
        if (!done) return;
    }
}

}  // namespace offramp::store
