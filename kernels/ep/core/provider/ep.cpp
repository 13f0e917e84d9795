#include "core/provider/ep.hpp"

#include <cstring>

#include "core/graph/operator_traits.hpp"
#include "core/kernel/kernel.hpp"
#include "core/memory/allocator.hpp"
#include "core/memory/sync.hpp"
#include "core/ort/parse_number.hpp"
#include "core/provider/capability.hpp"

namespace rk {
namespace {

// Runs before a capture: the first settles ONNX Runtime's memory plan, the second allocates by it.
constexpr int kWarmRuns = 2;
constexpr uint32_t kGraphApi = 26;

// Whether ONNX's operator of that name has kernels in the domain of ONNX Runtime's layout transformation.
bool converts_to_channels_last(const char* domain, const char* op) {
  if (*domain != '\0') return false;
  for (const Entry& entry : entries())
    if (std::strcmp(entry.op, op) == 0 && std::strcmp(entry.domain, kChannelsLast) == 0) return true;
  return false;
}

int graph_id(const OrtRunOptions* options) {
  const char* value = api().ort->GetRunConfigEntry(options, "gpu_graph_id");
  return value == nullptr ? 0 : leading_number(value);
}

}  // namespace

Ep::Ep(Factory& factory, const Offer& offer, const Options& options, const OrtLogger* logger)
    : OrtEp{}, factory_(factory), offer_(offer), options_(options), logger_(logger),
      pool_(std::make_shared<Pool>(offer.properties.ordinal)) {
  ort_version_supported = api().version;
  GetName = [](const OrtEp* base) noexcept {
    const OrtEpFactory* factory = &self(base)->factory_;
    return factory->GetName(factory);
  };
  GetCapability = capability;
  Compile = compile;
  ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) release_fused(infos[i]);
  };
  GetKernelRegistry = [](OrtEp* base, const OrtKernelRegistry** out) noexcept {
    return guard([&] { *out = self(base)->factory_.registry(); });
  };
  if (options_.channels_last) {
    GetPreferredDataLayout = [](OrtEp*, OrtEpDataLayout* layout) noexcept -> OrtStatus* {
      *layout = OrtEpDataLayout_NHWC;
      return nullptr;
    };
    ShouldConvertDataLayoutForOp = [](OrtEp* base, const char* domain, const char* op, OrtEpDataLayout, int* convert) noexcept
        -> OrtStatus* {
      const bool stays = self(base)->channels_first_.count(op) != 0;
      *convert = !stays && converts_to_channels_last(domain, op) ? 1 : 0;
      return nullptr;
    };
  }
  CreateAllocator = create_allocator;
  CreateSyncStreamForDevice = create_stream;
  IsConcurrentRunSupported = [](OrtEp* base, bool* yes) noexcept -> OrtStatus* {
    *yes = !self(base)->options_.graph_capture;
    return nullptr;
  };
  if (api().version >= 25) Sync = synchronize;
  if (options_.graph_capture) enable_graphs();
}

Ep::~Ep() {
  for (auto& [id, recording] : recordings_)
    if (recording.graph != nullptr) device::graph_destroy(recording.graph);
}

const Options& Ep::options_of(const OrtKernelInfo* info) {
  const OrtEp* ep = nullptr;
  check(api().ep->KernelInfo_GetEp(info, &ep));
  return self(ep)->options_;
}

OrtStatus* Ep::capability(OrtEp* base, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept {
  return guard([&] {
    Ep& ep = *self(base);
    ep.channels_first_.merge(channels_first_ops(graph));
    // ONNX Runtime 1.24 gives the fused nodes of two graphs of a model one name, and refuses the second.
    const bool names_clash = api().version < 25 && is_subgraph(graph);
    ep.report_slow(claim_nodes(graph, info, ep.options_.fusion && !names_clash));
  });
}

void Ep::report_slow(const std::vector<NodeView>& nodes) {
  for (const NodeView& node : nodes) {
    const std::string domain = node.domain(), op = node.op();
    // It comes again with the channels last, and under another name where it has none.
    if (options_.channels_last && channels_first_.count(op) == 0 && converts_to_channels_last(domain.c_str(), op.c_str())) continue;
    const std::string reason = slow_form(node, domain != kChannelsLast);
    if (reason.empty()) continue;
    const std::string name = node.name().empty() ? "of " + node.output(0).name() : node.name();
    const std::string message = "RocKernels may be slow at the node " + name + " (" + op + "): " + reason;
    if (slow_.insert(message).second) report(logger_, ORT_LOGGING_LEVEL_INFO, message);
  }
}

OrtStatus* Ep::compile(OrtEp* base, const OrtGraph** graphs, const OrtNode** nodes, size_t count, OrtNodeComputeInfo** out,
                       OrtNode**) noexcept {
  return guard([&] {
    for (size_t i = 0; i < count; ++i) out[i] = compile_fused(graphs[i], nodes[i], self(base)->options_);
  });
}

OrtStatus* Ep::create_allocator(OrtEp* base, const OrtMemoryInfo*, OrtAllocator** out) noexcept {
  return guard([&] { *out = new Allocator(self(base)->pool_, self(base)->offer_.memory); });
}

OrtStatus* Ep::create_stream(OrtEp* base, const OrtMemoryDevice*, OrtSyncStreamImpl** out) noexcept {
  return guard([&] {
    *out = nullptr;
    if (device::kIsCpu) return;
    Ep& ep = *self(base);
    auto stream = ep.stream_ ? ep.stream_ : std::make_shared<Stream>(ep.offer_.properties.ordinal, ep.pool_);
    *out = new SyncStream(std::move(stream));
  });
}

OrtStatus* Ep::synchronize(OrtEp* base) noexcept {
  return guard([&] {
    if (device::kIsCpu) return;
    const Ep& ep = *self(base);
    device::use(ep.offer_.properties.ordinal);
    device::stream_wait(nullptr);  // for which our streams do not wait, nor it for them
    ep.pool_->wait();
    ep.offer_.shared_pool->wait();  // whose streams copy what is bound
  });
}

void Ep::enable_graphs() {
  require(!device::kIsCpu, "the CPU platform captures no graphs");
  if (api().version < kGraphApi)
    fail("enable_hip_graph needs ONNX Runtime 1.26 or newer; next: upgrade it, or leave the option out");
  stream_ = std::make_shared<Stream>(offer_.properties.ordinal, pool_);
  pool_->keep_all();
  OnRunStart = run_started;
  OnRunEnd = run_ended;
  IsGraphCaptureEnabled = [](const OrtEp*) noexcept { return true; };
  IsGraphCaptured = [](const OrtEp* base, int id) noexcept {
    const auto row = self(base)->recordings_.find(id);
    return row != self(base)->recordings_.end() && row->second.graph != nullptr;
  };
  ReplayGraph = replay;
  GetGraphCaptureNodeAssignmentPolicy = [](const OrtEp*) noexcept {
    return OrtGraphCaptureNodeAssignmentPolicy_ALLOW_CPU_FOR_SHAPES;
  };
  if (api().version >= 27) ReleaseCapturedGraph = release_graph;
}

OrtStatus* Ep::run_started(OrtEp* base, const OrtRunOptions* options) noexcept {
  return guard([&] {
    Ep& ep = *self(base);
    const int id = graph_id(options);
    if (ep.capturing_ >= 0) ep.abandon_capture();
    if (id < 0) return;
    Recording& recording = ep.recordings_[id];
    if (recording.graph != nullptr || recording.warm_runs++ < kWarmRuns) return;
    device::use(ep.offer_.properties.ordinal);
    device::capture_begin(ep.stream_->native());
    ep.capturing_ = id;
  });
}

OrtStatus* Ep::run_ended(OrtEp* base, const OrtRunOptions*, bool) noexcept {
  return guard([&] {
    if (self(base)->capturing_ >= 0) self(base)->finish_capture();
  });
}

void Ep::abandon_capture() {
  recordings_[capturing_] = Recording{};
  capturing_ = -1;
  try {
    device::graph_destroy(device::capture_end(stream_->native()));
  } catch (const Failure& error) {  // expected: what failed in the run has invalidated the capture
    report(logger_, ORT_LOGGING_LEVEL_INFO, std::string("RocKernels gave up a recording: ") + error.what());
  }
}

void Ep::finish_capture() {
  const int id = capturing_;
  capturing_ = -1;
  void* graph = device::capture_end(stream_->native());
  recordings_[id].graph = graph;
  device::graph_launch(graph, stream_->native());  // capturing enqueued nothing: this is the run itself
  stream_->finish();
}

OrtStatus* Ep::replay(OrtEp* base, int id) noexcept {
  return guard([&] {
    Ep& ep = *self(base);
    device::use(ep.offer_.properties.ordinal);
    device::graph_launch(ep.recordings_.at(id).graph, ep.stream_->native());
    ep.stream_->synchronize();
  });
}

OrtStatus* Ep::release_graph(OrtEp* base, int id) noexcept {
  return guard([&] {
    Ep& ep = *self(base);
    const auto row = ep.recordings_.find(id);
    if (row == ep.recordings_.end()) return;
    if (row->second.graph != nullptr) device::graph_destroy(row->second.graph);
    ep.recordings_.erase(row);
  });
}

}  // namespace rk
