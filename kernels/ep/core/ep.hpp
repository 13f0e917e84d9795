// OrtEp: one session on one device.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/factory.hpp"
#include "core/fusion.hpp"
#include "core/stream.hpp"

namespace rk {

// What a session may ask of the provider, through provider options (session option entries "ep.<name>.<option>").
struct Options {
  bool graph_capture = false;  // enable_hip_graph: record a run once, replay it afterwards (ONNX Runtime 1.26 or newer)
  bool channels_last = true;   // channels_last: let ONNX Runtime give convolutions and pools NHWC data
  bool fusion = true;          // fuse: run Conv+activation, MatMul+bias+Gelu, attention, … as one step each

  static Options read(const OrtSessionOptions* options, const std::string& provider);
};

class Ep : public OrtEp {
 public:
  Ep(Factory& factory, const Offer& offer, const Options& options, const OrtLogger* logger);
  ~Ep();
  Ep(const Ep&) = delete;
  Ep& operator=(const Ep&) = delete;

 private:
  static Ep* self(OrtEp* base) { return static_cast<Ep*>(base); }
  static const Ep* self(const OrtEp* base) { return static_cast<const Ep*>(base); }
  static OrtStatus* ORT_API_CALL capability(OrtEp* base, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept;
  static OrtStatus* ORT_API_CALL compile(OrtEp* base, const OrtGraph** graphs, const OrtNode** fused, size_t count,
                                         OrtNodeComputeInfo** out, OrtNode** context_nodes) noexcept;
  static OrtStatus* ORT_API_CALL create_allocator(OrtEp* base, const OrtMemoryInfo* info, OrtAllocator** out) noexcept;
  static OrtStatus* ORT_API_CALL create_stream(OrtEp* base, const OrtMemoryDevice* device,
                                               OrtSyncStreamImpl** out) noexcept;
  static OrtStatus* ORT_API_CALL run_started(OrtEp* base, const OrtRunOptions* options) noexcept;
  static OrtStatus* ORT_API_CALL run_ended(OrtEp* base, const OrtRunOptions* options, bool wait) noexcept;
  static OrtStatus* ORT_API_CALL replay(OrtEp* base, int id) noexcept;
  static OrtStatus* ORT_API_CALL release_graph(OrtEp* base, int id) noexcept;
  static OrtStatus* ORT_API_CALL synchronize(OrtEp* base) noexcept;

  void enable_graphs();
  void finish_capture();
  void abandon_capture();  // one that a failed run left open

  // A recorded run of one gpu_graph_id.
  struct Recording {
    int warm_runs = 0;
    void* graph = nullptr;
  };

  Factory& factory_;
  const Offer& offer_;
  Options options_;
  const OrtLogger* logger_;
  std::shared_ptr<Pool> pool_;
  std::shared_ptr<Stream> stream_;  // the session's one stream while graphs are enabled; else null
  std::map<int, Recording> recordings_;
  int capturing_ = -1;
  bool indexed_pool_ = false;  // some MaxPool of the model must stay in NCHW: all do
};

}  // namespace rk
