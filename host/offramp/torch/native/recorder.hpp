// SPDX-License-Identifier: Apache-2.0
// The last collectives of a process group: what each was, who carried it out, how long it took, how it ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

namespace offramp {

struct Record {
  uint64_t id = 0;
  uint64_t number = 0;  // of the collective in its group; of point-to-point operations, the next collective's
  const char* kind = "";
  const char* form = "";
  const char* reduce = "";
  std::string dtype;
  std::vector<int64_t> shape;  // of the first tensor
  int64_t bytes = 0;           // of all tensors that this rank gives
  int64_t peer = -1;           // root, source or destination
  std::string route = "gloo";
  std::string error;
  double started = 0;  // seconds since the epoch
  double seconds = -1;  // -1: not over
};

struct Total {
  uint64_t calls = 0;
  uint64_t bytes = 0;
  uint64_t failed = 0;
};

class Recorder {
 public:
  explicit Recorder(size_t most) : ring_(most > 0 ? most : 1) {}

  uint64_t begin(Record record) {
    record.started = now();
    std::lock_guard<std::mutex> guard(mutex_);
    record.id = next_++;
    auto id = record.id;
    ring_[id % ring_.size()] = std::move(record);
    return id;
  }

  void route(uint64_t id, const std::string& name) {
    std::lock_guard<std::mutex> guard(mutex_);
    if (auto* call = find(id)) {
      call->route = name;
    }
  }

  void end(uint64_t id, const std::string& error = "") {
    std::lock_guard<std::mutex> guard(mutex_);
    auto* call = find(id);
    if (call == nullptr || call->seconds >= 0) {
      return;
    }
    call->seconds = now() - call->started;
    call->error = error;
    auto& total = totals_[{call->route, call->kind}];
    total.calls += 1;
    total.bytes += call->bytes;
    total.failed += error.empty() ? 0 : 1;
  }

  std::vector<Record> entries() {  // the oldest first
    std::lock_guard<std::mutex> guard(mutex_);
    std::vector<Record> out;
    for (auto id = next_ > ring_.size() ? next_ - ring_.size() : 0; id < next_; ++id) {
      out.push_back(ring_[id % ring_.size()]);
    }
    return out;
  }

  std::map<std::pair<std::string, std::string>, Total> totals() {
    std::lock_guard<std::mutex> guard(mutex_);
    return totals_;
  }

 private:
  static double now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }

  Record* find(uint64_t id) {  // null: overwritten since
    auto& at = ring_[id % ring_.size()];
    return at.id == id ? &at : nullptr;
  }

  std::mutex mutex_;
  std::vector<Record> ring_;
  uint64_t next_ = 0;
  std::map<std::pair<std::string, std::string>, Total> totals_;
};

}  // namespace offramp
