// SPDX-License-Identifier: Apache-2.0
// Work of this backend: either wraps that of the inner backend, or is ended by an offload.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ThreadLocalState.h>
#include <ATen/record_function.h>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/csrc/utils/pybind.h>

#include "recorder.hpp"

namespace offramp {

// The Python object that decides and explains; let go with the interpreter's lock held, or not at all after its end.
class Dispatcher {
 public:
  explicit Dispatcher(py::object object) : object_(std::move(object)) {}
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  ~Dispatcher() {
    if (Py_IsInitialized() == 0) {
      object_.release();
      return;
    }
    py::gil_scoped_acquire lock;
    object_ = py::object();
  }
  py::object& operator*() { return object_; }

  // One line about a failure that a rank has seen; what it was, where there is no better one.
  std::string explain(uint64_t id, const std::string& what) {
    if (Py_IsInitialized() == 0) {
      return what;
    }
    py::gil_scoped_acquire lock;
    try {
      return object_.attr("explain")(id, what).cast<std::string>();
    } catch (py::error_already_set&) {
      return what;
    }
  }

 private:
  py::object object_;
};

inline std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown error";
  }
}

// What both kinds of work share: a record to end, and a failure to explain.
class RecordedWork : public c10d::Work {
 public:
  RecordedWork(
      int rank,
      c10d::OpType type,
      const char* title,
      std::shared_ptr<Recorder> recorder,
      uint64_t id,
      std::shared_ptr<Dispatcher> dispatcher)
      : Work(rank, type, title), recorder_(std::move(recorder)), id_(id), dispatcher_(std::move(dispatcher)) {}

 protected:
  [[noreturn]] void fail(const std::string& what) {
    recorder_->end(id_, what);
    auto line = dispatcher_ ? dispatcher_->explain(id_, what) : what;
    C10_THROW_ERROR(DistBackendError, line);
  }

  std::shared_ptr<Recorder> recorder_;
  uint64_t id_;
  std::shared_ptr<Dispatcher> dispatcher_;
};

// What is left to do when the inner backend's work is over, and the tensors that then hold the result.
struct Finish {
  std::vector<std::function<void()>> steps;
  std::vector<at::Tensor> outputs;
};

// Work of the inner backend. Where that has a future, waiting is here, so that abort() can end it.
class InnerWork : public RecordedWork {
 public:
  using RecordedWork::RecordedWork;

  static c10::intrusive_ptr<InnerWork> wrap(
      c10::intrusive_ptr<c10d::Work> inner,
      int rank,
      c10d::OpType type,
      std::shared_ptr<Recorder> recorder,
      uint64_t id,
      std::shared_ptr<Dispatcher> dispatcher,
      Finish finish) {
    auto work = c10::make_intrusive<InnerWork>(rank, type, nullptr, std::move(recorder), id, std::move(dispatcher));
    work->inner_ = std::move(inner);
    work->finish_ = std::move(finish);
    if (c10d::isP2POp(type)) {
      return work;
    }
    try {
      work->future_ = work->inner_->getFuture();
    } catch (const c10::Error&) {
      return work;  // gloo has none for some
    }
    if (work->future_) {
      if (!work->finish_.steps.empty()) {
        work->chained_ = true;
        work->future_ = work->future_->then(
            [work](c10::ivalue::Future& done) {
              if (done.hasError()) {
                std::rethrow_exception(done.exception_ptr());
              }
              work->run_steps();
              return c10::IValue(work->finish_.outputs);
            },
            c10::ListType::ofTensors());
      }
      work->future_->addCallback([work](c10::ivalue::Future& done) {
        auto error = done.hasError() ? done.exception_ptr() : nullptr;
        work->recorder_->end(work->id_, error ? text_of(error) : "");
        work->end(error);
      }, /*uses_future=*/true);
    }
    return work;
  }

  bool ends_by_itself() const { return static_cast<bool>(future_); }
  bool isCompleted() override { return future_ ? Work::isCompleted() : inner_->isCompleted(); }
  bool isSuccess() const override { return future_ ? Work::isSuccess() : inner_->isSuccess(); }
  std::exception_ptr exception() const override { return future_ ? Work::exception() : inner_->exception(); }
  int sourceRank() const override { return inner_->sourceRank(); }
  std::vector<at::Tensor> result() override { return chained_ ? finish_.outputs : inner_->result(); }
  void synchronize() override { inner_->synchronize(); }
  void blockCurrentStream() override { inner_->blockCurrentStream(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return chained_ ? future_ : inner_->getFuture(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override { return inner_->getFutureResult(); }
  float getDuration() const override { return inner_->getDuration(); }
  uint64_t getSequencenumber() const override { return inner_->getSequencenumber(); }

  bool wait(std::chrono::milliseconds timeout) override {
    try {
      if (future_) {
        wait_here(timeout);
      }
      auto done = inner_->wait(timeout);  // of a future that is complete: what the inner work does at its end
      run_steps();
      recorder_->end(id_);
      return done;
    } catch (const std::exception&) {
      fail(text_of(std::current_exception()));
    }
  }

  void abort() override {
    if (future_) {
      end(std::make_exception_ptr(std::runtime_error("aborted")));
    } else {
      inner_->abort();
    }
  }

 private:
  void end(std::exception_ptr error) {
    {
      std::lock_guard<std::mutex> guard(mutex_);
      if (completed_) {
        return;
      }
    }
    finish(std::move(error));
  }

  void run_steps() {
    std::call_once(finished_, [this] {
      at::NoGradGuard no_grad;
      for (const auto& step : finish_.steps) {
        step();
      }
    });
  }

  void wait_here(std::chrono::milliseconds timeout) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (timeout == kNoTimeout) {
      cv_.wait(lock, [&] { return completed_; });
    } else if (!cv_.wait_for(lock, timeout, [&] { return completed_; })) {
      TORCH_CHECK(false, "Timed out waiting ", timeout.count(), "ms for the operation to complete");
    }
    if (exception_) {
      std::rethrow_exception(exception_);
    }
  }

  c10::intrusive_ptr<c10d::Work> inner_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  Finish finish_;
  std::once_flag finished_;
  bool chained_ = false;
};

using Clock = std::chrono::steady_clock;

// When an offload last ended something in a group: a wait is late once nothing has ended for the group's timeout.
class Progress {
 public:
  void note() { last_ = Clock::now().time_since_epoch().count(); }
  Clock::time_point last() const { return Clock::time_point(Clock::duration(last_.load())); }

 private:
  std::atomic<Clock::rep> last_{0};
};

// Time for an offload to report its own timeout, which says more.
constexpr std::chrono::milliseconds kGrace{3000};

// What an offload is asked to do, and ends by finish() from any thread.
class OffloadWork : public RecordedWork {
 public:
  OffloadWork(
      int rank,
      c10d::OpType type,
      std::shared_ptr<Recorder> recorder,
      uint64_t id,
      std::shared_ptr<Dispatcher> dispatcher,
      std::shared_ptr<Progress> progress,
      std::chrono::milliseconds limit)
      : RecordedWork(rank, type, nullptr, std::move(recorder), id, std::move(dispatcher)),
        progress_(std::move(progress)),
        limit_(limit),
        future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {}

  Record about;
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> inputs;
  std::vector<int64_t> output_splits;
  std::vector<int64_t> input_splits;
  double timeout_s = 0;
  std::string group;
  std::vector<c10::intrusive_ptr<c10d::Work>> before;  // of a barrier: the inner backend's collectives behind which it is

  // Begin the profiler's range, once the offload has taken the collective: of one that it declines gloo has its own.
  void profile(const char* title, const std::vector<at::Tensor>& tensors) {
    auto range = std::make_shared<at::RecordFunction>(at::RecordScope::USER_SCOPE);
    if (!range->isActive()) {
      return;
    }
    range->_setAsync();
    std::vector<c10::IValue> values(tensors.begin(), tensors.end());
    range->before(title, c10::ArrayRef<const c10::IValue>(values.data(), values.size()));
    std::lock_guard<std::mutex> guard(mutex_);
    if (completed_) {
      range->end();
    } else {
      recordFunctionEndCallback_ = at::wrapPropagateTLSState([range] { range->end(); });
    }
  }

  void complete(const std::string& error) {
    {
      std::lock_guard<std::mutex> guard(mutex_);
      if (ended_) {
        return;
      }
      ended_ = true;
    }
    recorder_->end(id_, error);
    progress_->note();
    if (error.empty()) {
      future_->markCompleted(c10::IValue(outputs));
      finish();
    } else {
      auto failure = std::make_exception_ptr(
          c10::DistBackendError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, error));
      future_->setError(failure);
      finish(failure);
    }
  }

  std::vector<at::Tensor> result() override { return outputs; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  uint64_t getSequencenumber() const override { return about.number; }
  void abort() override { complete("aborted"); }
  void received_from(int rank) { source_ = rank; }
  int sourceRank() const override { return source_; }

  bool wait(std::chrono::milliseconds timeout) override {
    std::unique_lock<std::mutex> lock(mutex_);
    if (timeout == kNoTimeout) {
      auto began = Clock::now();
      while (!completed_) {
        auto deadline = std::max(began, progress_->last()) + limit_ + kGrace;
        if (!cv_.wait_until(lock, deadline, [&] { return completed_; }) &&
            Clock::now() >= std::max(began, progress_->last()) + limit_ + kGrace) {
          lock.unlock();
          fail(c10::str("Timed out waiting ", limit_.count(), "ms for the operation to complete"));
        }
      }
    } else if (!cv_.wait_for(lock, timeout, [&] { return completed_; })) {
      lock.unlock();
      fail(c10::str("Timed out waiting ", timeout.count(), "ms for the operation to complete"));
    }
    if (exception_) {
      std::rethrow_exception(exception_);
    }
    return true;
  }

 private:
  std::shared_ptr<Progress> progress_;
  std::chrono::milliseconds limit_;
  bool ended_ = false;
  std::atomic<int> source_{-1};
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace offramp
