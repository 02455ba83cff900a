// SPDX-License-Identifier: Apache-2.0
// A c10d backend around another one: each collective goes to an offload that takes it, or straight on.
//
// The only cost of what nothing offloads is a record. Python is entered for collectives of at least as many bytes as
// watch() said, and decides there.
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/version.h>

#include <pybind11/chrono.h>
#include <pybind11/stl.h>

#include <array>
#include <limits>

#include "work.hpp"

namespace offramp {

using c10d::OpType;
using c10d::Work;
using Tensors = std::vector<at::Tensor>;
using WorkPtr = c10::intrusive_ptr<Work>;

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// PyTorch before 2.12 has no name for it.
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 12
constexpr OpType kReduceScatterCoalesced = OpType::REDUCE_SCATTER_TENSOR_COALESCED;
#else
constexpr OpType kReduceScatterCoalesced = OpType::_REDUCE_SCATTER_BASE;
#endif

const char* name_of(const c10d::ReduceOp& op) {
  static const std::array<const char*, 9> names = {
      "SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM"};
  auto index = static_cast<size_t>(op.op_);
  return index < names.size() ? names[index] : "?";
}

Tensors flat(const std::vector<Tensors>& lists) {
  Tensors out;
  for (const auto& list : lists) {
    out.insert(out.end(), list.begin(), list.end());
  }
  return out;
}

// Tensors for gloo, which takes a tensor's memory from front to back whatever its strides (pytorch#192920), or refuses it
// in a message: the same ones where that is right, else copies, which return to the tensors when the work is over if they
// are `outputs`.
Tensors dense(const Tensors& tensors, Finish& finish, bool outputs) {
  Tensors out;
  for (const auto& tensor : tensors) {
    if (tensor.layout() != at::kStrided || !tensor.is_cpu() ||
        (tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg())) {
      out.push_back(tensor);
      continue;
    }
    out.push_back(tensor.detach().resolve_conj().resolve_neg().contiguous());
    if (outputs) {
      finish.steps.push_back([to = tensor.detach(), from = out.back()]() mutable { to.copy_(from); });
    }
  }
  return out;
}

std::vector<Tensors> dense(const std::vector<Tensors>& lists, Finish& finish, bool outputs) {
  std::vector<Tensors> out;
  for (const auto& list : lists) {
    out.push_back(dense(list, finish, outputs));
  }
  return out;
}

// Options for gloo, which has no means: of a mean those of a sum, that is divided when the work is over. Integers are
// rounded towards zero, as NCCL rounds them.
template <class Options>
Options summed(Options opts, const Tensors& outputs, int size, Finish& finish) {
  if (opts.reduceOp.op_ == c10d::ReduceOp::AVG && !outputs.empty() && outputs[0].is_cpu() &&
      outputs[0].scalar_type() != at::kBool) {
    opts.reduceOp = c10d::ReduceOp::SUM;
    for (const auto& tensor : outputs) {
      finish.steps.push_back([to = tensor.detach(), size]() mutable {
        if (at::isIntegralType(to.scalar_type(), false)) {
          to.div_(size, "trunc");
        } else if (to.is_complex()) {  // a complex quotient is rounded differently in every layout
          at::real(to).div_(size);
          at::imag(to).div_(size);
        } else {
          to.div_(size);
        }
      });
    }
  }
  return opts;
}

// A call before anybody has carried it out.
struct Call {
  const char* kind;  // all_reduce, all_gather, ...
  const char* form;  // list, single, coalesced
  const char* title;
  OpType type;
  Tensors outputs;
  Tensors inputs;
  std::chrono::milliseconds timeout = c10d::kUnsetTimeout;
  const char* reduce = "";
  int64_t peer = -1;
  std::vector<int64_t> output_splits = {};
  std::vector<int64_t> input_splits = {};
};

class Backend : public c10d::Backend {
 public:
  Backend(
      c10::intrusive_ptr<c10d::Backend> inner,
      c10::intrusive_ptr<c10d::Backend> cuda,
      std::string name,
      size_t history,
      py::object dispatcher)
      : c10d::Backend(inner->getRank(), inner->getSize()),
        inner_(std::move(inner)),
        cuda_(std::move(cuda)),
        name_(std::move(name)),
        recorder_(std::make_shared<Recorder>(history)),
        dispatcher_(std::make_shared<Dispatcher>(std::move(dispatcher))) {
    watched_.fill(kNever);
  }

  const std::string getBackendName() const override { return name_; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return inner_->getBackendOptions(); }
  bool supportsSplitting() const override { return inner_->supportsSplitting(); }
  bool supportsCoalescing() const override { return cuda_ && cuda_->supportsCoalescing(); }
  void startCoalescing() override { cuda_->startCoalescing(); }
  WorkPtr endCoalescing() override { return cuda_->endCoalescing(); }

  void setTimeout(std::chrono::milliseconds timeout) override {
    inner_->setTimeout(timeout);
    if (cuda_) {
      cuda_->setTimeout(timeout);
    }
  }

  void setGroupUid(const std::string& uid) {
    c10d::Backend::setGroupUid(uid);
    inner_->setGroupUid(uid);
    if (cuda_) {
      cuda_->setGroupUid(uid);
    }
  }

  void setSequenceNumberForGroup() override { inner_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return inner_->getSequenceNumberForGroup() + offloaded_; }
  void enableCollectivesTiming() override { inner_->enableCollectivesTiming(); }

  void watch(OpType type, int64_t least) { watched_.at(static_cast<size_t>(type)) = least; }
  std::shared_ptr<Recorder> recorder() const { return recorder_; }

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override {
    return run(
        {"broadcast", "single", "offramp:broadcast", OpType::BROADCAST, tensors, tensors, opts.timeout, "", opts.rootRank},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(tensors, finish, true);
          return to.broadcast(given, opts);
        });
  }

  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override {
    return run(
        {"all_reduce", "single", "offramp:all_reduce", OpType::ALLREDUCE, tensors, tensors, opts.timeout, name_of(opts.reduceOp)},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(tensors, finish, true);
          return to.allreduce(given, summed(opts, tensors, getSize(), finish));
        });
  }

  WorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& opts) override {
    return run(
        {"all_reduce", "sparse", "offramp:all_reduce", OpType::_ALLREDUCE_SPARSE, tensors, tensors, opts.timeout, name_of(opts.reduceOp)},
        [&](c10d::Backend& to, Finish& finish) { return to.allreduce_sparse(tensors, opts); });
  }

  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) override {
    return run(
        {"all_reduce", "coalesced", "offramp:all_reduce", OpType::ALLREDUCE_COALESCED, tensors, tensors, opts.timeout, name_of(opts.reduceOp)},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(tensors, finish, true);
          return to.allreduce_coalesced(given, summed(opts, tensors, getSize(), finish));
        });
  }

  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override {
    return run(
        {"reduce", "single", "offramp:reduce", OpType::REDUCE, tensors, tensors, opts.timeout, name_of(opts.reduceOp), opts.rootRank},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(tensors, finish, true);
          auto own = summed(opts, tensors, getSize(), finish);
          if (own.reduceOp.op_ != opts.reduceOp.op_ && getRank() != opts.rootRank) {
            finish.steps.pop_back();  // only the root has the sum
          }
          return to.reduce(given, own);
        });
  }

  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override {
    return run(
        {"all_gather", "list", "offramp:all_gather", OpType::ALLGATHER, flat(outputs), inputs, opts.timeout},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(inputs, finish, false);
          auto into = dense(outputs, finish, true);
          return to.allgather(into, given, opts);
        });
  }

  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& opts) override {
    return run(
        {"all_gather", "single", "offramp:all_gather", OpType::_ALLGATHER_BASE, {output}, {input}, opts.timeout},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(Tensors{input}, finish, false);
          auto into = dense(Tensors{output}, finish, true);
          return to._allgather_base(into[0], given[0], opts);
        });
  }

  WorkPtr allgather_coalesced(
      std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override {
    return run(
        {"all_gather", "lists", "offramp:all_gather", OpType::ALLGATHER_COALESCED, flat(outputs), inputs, opts.timeout},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(inputs, finish, false);
          auto into = dense(outputs, finish, true);
          return to.allgather_coalesced(into, given, opts);
        });
  }

  WorkPtr allgather_into_tensor_coalesced(
      Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override {
    return run(
        {"all_gather", "coalesced", "offramp:all_gather", OpType::COALESCED, outputs, inputs, opts.timeout},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(inputs, finish, false);
          auto into = dense(outputs, finish, true);
          return to.allgather_into_tensor_coalesced(into, given, opts);
        });
  }

  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& opts) override {
    return run(
        {"gather", "list", "offramp:gather", OpType::GATHER, flat(outputs), inputs, opts.timeout, "", opts.rootRank},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(inputs, finish, false);
          auto into = dense(outputs, finish, true);
          return to.gather(into, given, opts);
        });
  }

  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& opts) override {
    return run(
        {"scatter", "list", "offramp:scatter", OpType::SCATTER, outputs, flat(inputs), opts.timeout, "", opts.rootRank},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(inputs, finish, false);
          auto into = dense(outputs, finish, true);
          return to.scatter(into, given, opts);
        });
  }

  WorkPtr reduce_scatter(
      Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& opts) override {
    return run(
        {"reduce_scatter", "list", "offramp:reduce_scatter", OpType::REDUCE_SCATTER, outputs, flat(inputs), opts.timeout, name_of(opts.reduceOp)},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(inputs, finish, false);
          auto into = dense(outputs, finish, true);
          return to.reduce_scatter(into, given, summed(opts, outputs, getSize(), finish));
        });
  }

  WorkPtr _reduce_scatter_base(
      at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& opts) override {
    return run(
        {"reduce_scatter", "single", "offramp:reduce_scatter", OpType::_REDUCE_SCATTER_BASE, {output}, {input}, opts.timeout, name_of(opts.reduceOp)},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(Tensors{input}, finish, false);
          auto into = dense(Tensors{output}, finish, true);
          return to._reduce_scatter_base(into[0], given[0], summed(opts, {output}, getSize(), finish));
        });
  }

  WorkPtr reduce_scatter_tensor_coalesced(
      Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& opts) override {
    return run(
        {"reduce_scatter", "coalesced", "offramp:reduce_scatter", kReduceScatterCoalesced, outputs, inputs, opts.timeout, name_of(opts.reduceOp)},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(inputs, finish, false);
          auto into = dense(outputs, finish, true);
          return to.reduce_scatter_tensor_coalesced(into, given, summed(opts, outputs, getSize(), finish));
        });
  }

  WorkPtr alltoall_base(
      at::Tensor& output,
      at::Tensor& input,
      std::vector<int64_t>& output_splits,
      std::vector<int64_t>& input_splits,
      const c10d::AllToAllOptions& opts) override {
    return run(
        {"all_to_all", "single", "offramp:all_to_all", OpType::ALLTOALL_BASE, {output}, {input}, opts.timeout, "", -1, output_splits, input_splits},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(Tensors{input}, finish, false);
          auto into = dense(Tensors{output}, finish, true);
          return to.alltoall_base(into[0], given[0], output_splits, input_splits, opts);
        });
  }

  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) override {
    return run(
        {"all_to_all", "list", "offramp:all_to_all", OpType::ALLTOALL, outputs, inputs, opts.timeout},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(inputs, finish, false);
          auto into = dense(outputs, finish, true);
          return to.alltoall(into, given, opts);
        });
  }

  WorkPtr send(Tensors& tensors, int to_rank, int tag) override {
    return run(
        {"send", "single", "offramp:send", OpType::SEND, {}, tensors, c10d::kUnsetTimeout, "", to_rank, {}, {tag}},
        [&](c10d::Backend& to, Finish& finish) {
          auto given = dense(tensors, finish, false);
          return to.send(given, to_rank, tag);
        });
  }

  WorkPtr recv(Tensors& tensors, int from_rank, int tag) override {
    return run(
        {"recv", "single", "offramp:recv", OpType::RECV, tensors, {}, c10d::kUnsetTimeout, "", from_rank, {}, {tag}},
        [&](c10d::Backend& to, Finish& finish) {
          auto into = dense(tensors, finish, true);
          return to.recv(into, from_rank, tag);
        });
  }

  WorkPtr recvAnysource(Tensors& tensors, int tag) override {
    return run(
        {"recv", "any", "offramp:recvAnySource", OpType::RECVANYSOURCE, tensors, {}, c10d::kUnsetTimeout, "", -1, {}, {tag}},
        [&](c10d::Backend& to, Finish& finish) {
          auto into = dense(tensors, finish, true);
          return to.recvAnysource(into, tag);
        });
  }

  WorkPtr barrier(const c10d::BarrierOptions& opts) override {
    return run(
        {"barrier", "", "offramp:barrier", OpType::BARRIER, {}, {}, opts.timeout},
        [&](c10d::Backend& to, Finish& finish) { return to.barrier(opts); });
  }

  void monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_all_ranks) override {
    Record record;
    record.kind = record.form = "monitored_barrier";
    record.number = ++number_;
    auto id = recorder_->begin(std::move(record));
    try {
      inner_->monitoredBarrier(opts, wait_all_ranks);
      recorder_->end(id);
    } catch (const std::exception&) {
      recorder_->end(id, text_of(std::current_exception()));
      throw;  // gloo names the ranks that are missing
    }
  }

  c10::intrusive_ptr<c10d::Backend> split(
      const c10::intrusive_ptr<c10d::Store>& store,
      const std::vector<int>& ranks,
      const c10::intrusive_ptr<Options>& opts) override {
    // PyTorch asks once for each type of device that this backend serves: one part serves them all.
    auto known = part_.has_value() ? part_->lock() : nullptr;
    if (known && part_name_ == opts->group_name) {
      return known;
    }
    auto inner = inner_->split(store, ranks, opts);
    if (!inner) {
      return inner;
    }
    auto cuda = cuda_ ? cuda_->split(store, ranks, cuda_->getBackendOptions()) : nullptr;
    py::gil_scoped_acquire lock;
    auto part = (**dispatcher_).attr("split")(store, inner, cuda, opts->group_name).cast<c10::intrusive_ptr<c10d::Backend>>();
    part_name_ = opts->group_name;
    part_ = c10::weak_intrusive_ptr<c10d::Backend>(part);
    return part;
  }

  void abort() override {
    tell("abort");
    for (auto& work : pending()) {
      work->abort();
    }
    inner_->abort();
    if (cuda_) {
      cuda_->abort();
    }
  }

  void shutdown() override {
    tell("shutdown");
    inner_->shutdown();
    if (cuda_) {
      cuda_->shutdown();
    }
  }

 private:
  template <class Delegate>
  WorkPtr run(Call call, const Delegate& delegate) {
    const at::Tensor* first = !call.inputs.empty() ? call.inputs.data() : !call.outputs.empty() ? call.outputs.data() : nullptr;
    auto on_cuda = first != nullptr && first->is_cuda();
    Record record = describe(call, first);
    auto id = recorder_->begin(record);
    // Without NCCL, what lies on a GPU is for Python to bring to main memory.
    if (record.bytes >= watched_[static_cast<size_t>(call.type) % watched_.size()] || (on_cuda && !cuda_)) {
      if (auto taken = offer(call, record, id)) {
        return taken;
      }
    }
    auto& to = on_cuda && cuda_ ? *cuda_ : *inner_;
    WorkPtr inner;
    Finish finish;
    try {
      inner = delegate(to, finish);
    } catch (const std::exception&) {
      recorder_->end(id, text_of(std::current_exception()));
      throw;
    }
    if (!inner) {
      recorder_->end(id);
      return inner;
    }
    if (!finish.steps.empty()) {
      finish.outputs = std::move(call.outputs);
    }
    return remember(
        InnerWork::wrap(std::move(inner), getRank(), call.type, recorder_, id, dispatcher_, std::move(finish)));
  }

  Record describe(const Call& call, const at::Tensor* first) {
    Record record;
    record.number = c10d::isP2POp(call.type) ? number_ + 1 : ++number_;
    record.kind = call.kind;
    record.form = call.form;
    record.reduce = call.reduce;
    record.peer = call.peer;
    if (first != nullptr) {
      record.dtype = c10::toString(first->scalar_type());
      if (first->layout() == at::kStrided) {
        record.shape = first->sizes().vec();
        for (const auto& tensor : call.inputs.empty() ? call.outputs : call.inputs) {
          record.bytes += static_cast<int64_t>(tensor.nbytes());
        }
      }
    }
    return record;
  }

  WorkPtr offer(const Call& call, const Record& record, uint64_t id) {
    auto limit = call.timeout.count() > 0 ? call.timeout : inner_->getBackendOptions()->timeout;
    auto work = c10::make_intrusive<OffloadWork>(
        getRank(), call.type, recorder_, id, dispatcher_, progress_, limit);
    work->about = record;
    work->about.id = id;
    work->outputs = call.outputs;
    work->inputs = call.inputs;
    work->output_splits = call.output_splits;
    work->input_splits = call.input_splits;
    work->timeout_s = call.timeout.count() / 1e3;
    work->group = getGroupDesc();
    if (call.type == OpType::BARRIER) {
      for (auto& each : pending()) {
        auto* inner = dynamic_cast<InnerWork*>(each.get());
        if (inner != nullptr && inner->ends_by_itself()) {
          work->before.push_back(std::move(each));
        }
      }
    }
    std::string route;
    {
      py::gil_scoped_acquire lock;
      try {
        route = (**dispatcher_).attr("take")(work).cast<std::string>();
      } catch (py::error_already_set& error) {
        recorder_->end(id, error.what());
        throw;
      }
    }
    if (route.empty()) {
      return nullptr;
    }
    ++offloaded_;
    work->profile(call.title, call.inputs.empty() ? call.outputs : call.inputs);
    return remember(work);
  }

  WorkPtr remember(const c10::intrusive_ptr<Work>& work) {
    std::lock_guard<std::mutex> guard(mutex_);
    last_[turn_++ % last_.size()] = c10::weak_intrusive_ptr<Work>(work);
    return work;
  }

  std::vector<WorkPtr> pending() {
    std::lock_guard<std::mutex> guard(mutex_);
    std::vector<WorkPtr> pending;
    for (auto& weak : last_) {
      auto work = weak.has_value() ? weak->lock() : nullptr;
      if (work && !work->isCompleted()) {
        pending.push_back(std::move(work));
      }
    }
    return pending;
  }

  void tell(const char* what) {
    if (Py_IsInitialized() != 0) {
      py::gil_scoped_acquire lock;
      (**dispatcher_).attr(what)();
    }
  }

  c10::intrusive_ptr<c10d::Backend> inner_;
  c10::intrusive_ptr<c10d::Backend> cuda_;
  std::string name_;
  std::shared_ptr<Recorder> recorder_;
  std::shared_ptr<Dispatcher> dispatcher_;
  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
  std::array<int64_t, 32> watched_{};
  std::string part_name_;
  std::optional<c10::weak_intrusive_ptr<c10d::Backend>> part_;
  std::atomic<uint64_t> number_{0};
  std::atomic<uint64_t> offloaded_{0};
  std::mutex mutex_;
  std::array<std::optional<c10::weak_intrusive_ptr<Work>>, 1024> last_;
  size_t turn_ = 0;
};

}  // namespace offramp

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  using namespace offramp;
  auto c10d = py::module::import("torch._C._distributed_c10d");

  py::class_<Record>(m, "Record")
      .def_readonly("id", &Record::id)
      .def_readonly("number", &Record::number)
      .def_readonly("kind", &Record::kind)
      .def_readonly("form", &Record::form)
      .def_readonly("reduce", &Record::reduce)
      .def_readonly("dtype", &Record::dtype)
      .def_readonly("shape", &Record::shape)
      .def_readonly("bytes", &Record::bytes)
      .def_readonly("peer", &Record::peer)
      .def_readonly("route", &Record::route)
      .def_readonly("error", &Record::error)
      .def_readonly("started", &Record::started)
      .def_readonly("seconds", &Record::seconds);

  py::class_<Total>(m, "Total")
      .def_readonly("calls", &Total::calls)
      .def_readonly("bytes", &Total::bytes)
      .def_readonly("failed", &Total::failed);

  py::class_<Recorder, std::shared_ptr<Recorder>>(m, "Recorder")
      .def("entries", &Recorder::entries, py::call_guard<py::gil_scoped_release>())
      .def("totals", &Recorder::totals, py::call_guard<py::gil_scoped_release>())
      .def("route", &Recorder::route, py::call_guard<py::gil_scoped_release>());

  py::class_<OffloadWork, Work, c10::intrusive_ptr<OffloadWork>>(m, "OffloadWork")
      .def_readonly("about", &OffloadWork::about)
      .def_readonly("outputs", &OffloadWork::outputs)
      .def_readonly("inputs", &OffloadWork::inputs)
      .def_readonly("output_splits", &OffloadWork::output_splits)
      .def_readonly("input_splits", &OffloadWork::input_splits)
      .def_readonly("timeout_s", &OffloadWork::timeout_s)
      .def_readonly("group", &OffloadWork::group)
      .def_readonly("before", &OffloadWork::before)
      .def("received_from", &OffloadWork::received_from)
      .def("complete", &OffloadWork::complete, py::arg("error") = "", py::call_guard<py::gil_scoped_release>());

  py::class_<Backend, c10d::Backend, c10::intrusive_ptr<Backend>>(m, "Backend")
      .def(
          py::init<
              c10::intrusive_ptr<c10d::Backend>,
              c10::intrusive_ptr<c10d::Backend>,
              std::string,
              size_t,
              py::object>(),
          py::arg("inner"),
          py::arg("cuda").none(true),
          py::arg("name"),
          py::arg("history"),
          py::arg("dispatcher"))
      .def("watch", [](Backend& self, int type, int64_t least) { self.watch(static_cast<OpType>(type), least); })
      .def_property_readonly("recorder", &Backend::recorder)
      .def_property_readonly("options", &Backend::getBackendOptions);
}
