// SPDX-License-Identifier: Apache-2.0
#include "disk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "snapshot.hpp"

namespace offramp::store {
namespace {

constexpr const char* log_kind = "log";
constexpr const char* snapshot_kind = "snapshot";
constexpr std::uint64_t least_due = std::uint64_t{64} << 20;

// Generations of a kind of file in a folder, rising.
std::vector<std::uint32_t> generations(const std::string& folder, const char* kind) {
    std::vector<std::uint32_t> numbers;
    DIR* opened = ::opendir(folder.c_str());
    if (opened == nullptr) return numbers;
    const std::string pattern = std::string(kind) + "-%8u%n";
    while (const dirent* each = ::readdir(opened)) {
        unsigned number = 0;
        int length = 0;
        if (std::sscanf(each->d_name, pattern.c_str(), &number, &length) == 1 && each->d_name[length] == '\0') numbers.push_back(number);
    }
    ::closedir(opened);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

// A file as memory, for reading.
class Mapped {
  public:
    explicit Mapped(const std::string& path) {
        const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        struct stat about {};
        if (fd.get() < 0 || ::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode)) return;
        open_ = true;
        size_ = static_cast<std::size_t>(about.st_size);
        if (size_ == 0) return;
        memory_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
        open_ = memory_ != MAP_FAILED;
    }
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;
    ~Mapped() {
        if (open_ && size_ != 0) ::munmap(memory_, size_);
    }
    [[nodiscard]] bool open() const { return open_; }
    [[nodiscard]] std::string_view bytes() const { return {static_cast<const char*>(memory_), open_ ? size_ : 0}; }

  private:
    void* memory_ = nullptr;
    std::size_t size_ = 0;
    bool open_ = false;
};

bool write_file(const Store& store, const std::string& path, std::uint64_t number) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    return file.get() >= 0 && write_snapshot(store, file.get(), number) && ::fsync(file.get()) == 0;
}

}  // namespace

Disk::Disk(std::string folder, Sync policy, int bell) : folder_(folder), log_(std::move(folder), policy, bell) {}

bool Disk::open(Store& store, bool cut, std::string& error) {
    if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) return error = folder_ + ": " + std::strerror(errno), false;
    const std::string lock = folder_ + "/lock";
    lock_ = Descriptor(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (lock_.get() < 0) return error = lock + ": " + std::strerror(errno), false;
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) return error = folder_ + ": another server has it", false;
    std::uint32_t first = 0, last = 0;
    if (!replay(store, cut, first, last, error)) return false;
    forget(first);
    return log_.open(last, log_bytes_, number_, error);
}

bool Disk::restore(Store& store, std::string& error) {
    std::uint32_t first = 0, last = 0;
    if (!log_.write()) return error = log_.fault(), false;
    return replay(store, false, first, last, error);
}

// Applies the last snapshot, that of generation `first`, and all logs up to `last`.
bool Disk::replay(Store& store, bool cut, std::uint32_t& first, std::uint32_t& last, std::string& error) {
    const auto snapshots = generations(folder_, snapshot_kind);
    first = snapshots.empty() ? 1 : snapshots.back();
    if (!snapshots.empty() && !load(store, snapshot_kind, first, false, false, error)) return false;
    auto logs = generations(folder_, log_kind);
    std::erase_if(logs, [first](std::uint32_t each) { return each < first; });
    std::uint32_t next = first;
    for (const std::uint32_t each : logs) {
        if (each != next++) return error = Log::name(folder_, log_kind, next - 1) + ": is missing", false;
        if (!load(store, log_kind, each, each == logs.back(), cut, error)) return false;
    }
    last = logs.empty() ? first : logs.back();
    return true;
}

bool Disk::load(Store& store, const char* kind, std::uint32_t generation, bool last, bool cut, std::string& error) {
    const bool snapshot = kind == snapshot_kind;
    const std::string path = Log::name(folder_, kind, generation);
    const Mapped file(path);
    if (!file.open()) return error = path + ": " + std::strerror(errno), false;
    RecordReader reader(file.bytes());
    std::uint64_t number = snapshot ? 0 : number_;
    bool complete = !snapshot;
    for (; reader.next(number + 1); ++number, ++records_)
        for (Change change; reader.change(change);) {
            complete |= change.kind == Kind::end;
            if (change.kind == Kind::end) number_ = static_cast<std::uint64_t>(change.expires_ms);
            if (!store.apply(change)) return error = path + ": a change of what is not there", false;
        }
    if (!snapshot) number_ = number;
    if (snapshot) snapshot_bytes_ = reader.good();
    log_bytes_ = reader.good();
    if (reader.at_end() && complete) return true;
    const std::string place = path + ": damaged at byte " + std::to_string(reader.good());
    if (!last) return error = place, false;
    const std::size_t proof = reader.proof_of_damage(number + 1);
    if (proof != 0 && !cut) return error = place + ": a whole record follows at byte " + std::to_string(proof), false;
    torn_ = file.bytes().size() - reader.good();
    return true;
}

void Disk::forget(std::uint32_t before) {
    for (const char* kind : {log_kind, snapshot_kind})
        for (const std::uint32_t each : generations(folder_, kind))
            if (each < before) ::unlink(Log::name(folder_, kind, each).c_str());
}

bool Disk::save(Store& store, std::string& error) {
    if (saving()) return error = "a snapshot is being written", false;
    if (!log_.rotate(error)) return false;
    writing_ = log_.generation();
    const std::string path = Log::name(folder_, snapshot_kind, writing_), part = path + ".part";
    writer_ = ::fork();
    if (writer_ == 0) {
        const bool done = write_file(store, part, log_.number()) && ::rename(part.c_str(), path.c_str()) == 0;
        Log::sync_folder(folder_);
        ::_exit(done ? 0 : 1);
    }
    if (writer_ < 0) error = std::string("fork: ") + std::strerror(errno);
    return writer_ > 0;
}

bool Disk::saved(bool wait, std::string& error) {
    int status = 0;
    if (!saving() || ::waitpid(writer_, &status, wait ? 0 : WNOHANG) == 0) return false;
    writer_ = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        ::unlink((Log::name(folder_, snapshot_kind, writing_) + ".part").c_str());
        error = "the snapshot could not be written";
        return true;
    }
    struct stat about {};
    if (::stat(Log::name(folder_, snapshot_kind, writing_).c_str(), &about) == 0) snapshot_bytes_ = static_cast<std::uint64_t>(about.st_size);
    forget(writing_);
    return true;
}

bool Disk::due() const {
    return !saving() && log_.size() > std::max(least_due, 2 * snapshot_bytes_);
}

}  // namespace offramp::store
