// OrtEp: one session on one device.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/graph/fusion.hpp"
#include "core/memory/stream.hpp"
#include "core/ort/options.hpp"
#include "core/provider/factory.hpp"

namespace rk {

class Ep : public OrtEp {
 public:
  Ep(Factory& factory, const Offer& offer, const Options& options, const OrtLogger* logger);
  static const Options& options_of(const OrtKernelInfo* info);  // of the session that the kernel is made for
  ~Ep();
  Ep(const Ep&) = delete;
  Ep& operator=(const Ep&) = delete;

 private:
  static Ep* self(OrtEp* base) { return static_cast<Ep*>(base); }
  static const Ep* self(const OrtEp* base) { return static_cast<const Ep*>(base); }
  static OrtStatus* ORT_API_CALL capability(OrtEp* base, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept;
  static OrtStatus* ORT_API_CALL compile(OrtEp* base, const OrtGraph** graphs, const OrtNode** nodes, size_t count,
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
  void report_slow(const std::vector<NodeView>& nodes);  // each node once a session
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
  std::set<std::string> channels_first_;  // the operators of the model that keep that layout
  std::set<std::string> slow_;            // the messages on slow nodes so far
};

}  // namespace rk
