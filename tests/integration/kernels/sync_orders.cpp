// OrtEp::Sync by its spec: "block until the device has completed all preceding requested tasks". On a device of no work, which notes
// what the host waits for. Prints what does not hold. Linked without what a session's graph would need.
#include "core/provider/ep.hpp"
#include "core/memory/sync.hpp"

#include <cstdio>
#include <set>

namespace rk {
Api& api() {
  static Api instance;
  return instance;
}
namespace device {
std::set<void*> waited_for;
char handles[100];
int used = 0;
struct Event {
  void* after;
};
void use(int) {}
void* allocate(size_t) { return nullptr; }
void release(void*) {}
void* stream_create() { return &handles[used++]; }
void stream_destroy(void*) {}
void stream_wait(void* stream) { waited_for.insert(stream); }
bool stream_capturing(void*) { return false; }
void* event_create() { return new Event{nullptr}; }
void event_destroy(void* event) { delete static_cast<Event*>(event); }
void event_record(void* event, void* stream) { static_cast<Event*>(event)->after = stream; }
void event_wait(void* event, void*) { waited_for.insert(static_cast<Event*>(event)->after); }
}  // namespace device
}  // namespace rk

int main() {
  rk::api().version = ORT_API_VERSION;
  rk::Offer offer;
  offer.shared_pool = std::make_shared<rk::Pool>(0);
  alignas(rk::Factory) static char nobody[sizeof(rk::Factory)];  // Sync asks the factory nothing
  rk::Ep ep(reinterpret_cast<rk::Factory&>(nobody), offer, rk::Options{}, nullptr);

  OrtSyncStreamImpl* streams[2] = {};
  for (OrtSyncStreamImpl*& one : streams) (void)!ep.CreateSyncStreamForDevice(&ep, nullptr, &one);
  rk::Stream copies(0, offer.shared_pool), of_another_session(0, std::make_shared<rk::Pool>(0));
  void* works = streams[0]->GetHandle(streams[0]);
  void* rests = streams[1]->GetHandle(streams[1]);
  for (void* native : {works, copies.native(), of_another_session.native()}) rk::Stream::begin_on(native);

  rk::device::waited_for.clear();
  int wrong = ep.Sync(&ep) != nullptr;
  const auto waits = [&](bool wanted, void* stream, const char* what) {
    if ((rk::device::waited_for.count(stream) == 1) == wanted) return;
    std::printf("%s: %s\n", what, wanted ? "not waited for" : "waited for");
    ++wrong;
  };
  waits(true, works, "a stream of the session that works");
  waits(false, rests, "one that does not");
  waits(true, copies.native(), "a stream that copies inputs");
  waits(false, of_another_session.native(), "another session's");
  waits(true, nullptr, "the null stream");
  for (OrtSyncStreamImpl* one : streams) one->Release(one);
  if (wrong == 0) std::puts("all hold");
  return wrong == 0 ? 0 : 1;
}
