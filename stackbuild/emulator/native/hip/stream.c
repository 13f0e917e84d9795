// Streams run what they are given at once, in the order of the calls: one of the orders that HIP allows, so a missing wait is not
// found here. A captured stream keeps its operations in a graph; a launch of the graph runs them in that order.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime.h"

enum { STREAM = 0x53545245, EVENT = 0x45564e54, NON_BLOCKING = 1, DISABLE_TIMING = 2, LEGACY = 1, PER_THREAD = 2 };

struct graph { struct operation *operations; size_t count, room; int captures; bool is_broken; };
struct graph_exec { struct graph graph; };
struct stream { uint32_t magic; int device; unsigned flags; struct graph *capture; bool is_origin; };
struct event { uint32_t magic; int device; unsigned flags; bool is_recorded; struct timespec at; struct graph *capture; };

static bool is_default(hipStream_t stream) { return (uintptr_t)stream <= PER_THREAD; }

hipError_t check_stream(const char *call, hipStream_t stream) {
  if (is_default(stream)) return hipSuccess;
  CHECK_IN(call, stream->magic == STREAM, hipErrorInvalidHandle, "%p is no stream, or one that was destroyed", (void *)stream);
  return hipSuccess;
}

static hipError_t run(const char *call, const struct operation *o) {
  switch (o->kind) {
    case OPERATION_LAUNCH: return run_launch(&o->launch);
    case OPERATION_COPY:
      for (size_t row = 0; row < o->copy.rows; ++row)
        memmove(o->copy.to + row * o->copy.to_pitch, o->copy.from + row * o->copy.from_pitch, o->copy.width);
      return hipSuccess;
    case OPERATION_FILL:
      for (size_t row = 0; row < o->fill.rows; ++row)
        for (size_t at = 0; at < o->fill.width; at += o->fill.value_bytes)
          memcpy(o->fill.to + row * o->fill.pitch + at, &o->fill.value, o->fill.value_bytes);
      return hipSuccess;
    case OPERATION_CALL: o->call.function(o->call.argument); return hipSuccess;
  }
  return fail_call(call, hipErrorUnknown, "operation %d", o->kind);
}

hipError_t submit(const char *call, hipStream_t stream, const struct operation *operation) {
  hipError_t code = check_stream(call, stream);
  if (!code && !is_default(stream) && stream->capture) {
    struct graph *graph = stream->capture;
    if (graph->count == graph->room) {
      struct operation *larger = realloc(graph->operations, (graph->room ? 2 * graph->room : 16) * sizeof *larger);
      CHECK_IN(call, larger, hipErrorOutOfMemory, "a graph of %zu operations", graph->count);
      graph->operations = larger, graph->room = graph->room ? 2 * graph->room : 16;
    }
    graph->operations[graph->count++] = *operation;  // with the copied arguments
    return hipSuccess;
  }
  if (!code) code = run(call, operation);
  if (operation->kind == OPERATION_LAUNCH) free(operation->launch.kernarg);
  return code;
}

EXPORT hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority) {
  (void)priority;
  SEEDED_FAULT();
  CHECK(device_count(), hipErrorNoDevice, "there is no device");
  struct stream *fresh = calloc(1, sizeof *fresh);
  CHECK(fresh, hipErrorOutOfMemory, "a stream");
  fresh->magic = STREAM, fresh->device = current_device(), fresh->flags = flags;
  *stream = fresh;
  return hipSuccess;
}
EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags) { SEEDED_FAULT(); return hipStreamCreateWithPriority(stream, flags, 0); }
EXPORT hipError_t hipStreamCreate(hipStream_t *stream) { SEEDED_FAULT(); return hipStreamCreateWithPriority(stream, 0, 0); }
// The memory of a destroyed stream stays, so that a later use of it is named.
EXPORT hipError_t hipStreamDestroy(hipStream_t stream) {
  CHECK(!is_default(stream) && stream->magic == STREAM, hipErrorInvalidHandle, "%p is no stream, or one that was destroyed", (void *)stream);
  stream->magic = 0;
  return hipSuccess;
}
EXPORT hipError_t hipStreamSynchronize(hipStream_t stream) {
  SEEDED_FAULT();
  hipError_t code = check_stream(__func__, stream);
  CHECK(code || is_default(stream) || !stream->capture, hipErrorStreamCaptureUnsupported, "the stream is being captured");
  check_slack(__func__);
  return code;
}
EXPORT hipError_t hipStreamQuery(hipStream_t stream) { return check_stream(__func__, stream); }
EXPORT hipError_t hipStreamGetFlags(hipStream_t stream, unsigned *flags) {
  *flags = is_default(stream) ? 0 : stream->flags;
  return check_stream(__func__, stream);
}
EXPORT hipError_t hipStreamGetPriority(hipStream_t stream, int *priority) { *priority = 0; return check_stream(__func__, stream); }
// The device's number, not an error.
EXPORT int hipGetStreamDeviceId(hipStream_t stream) {
  return check_stream(__func__, stream) ? -1 : is_default(stream) ? current_device() : stream->device;
}
EXPORT hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device) {
  hipError_t code = check_stream(__func__, stream);
  if (!code) *device = is_default(stream) ? current_device() : stream->device;
  return code;
}
EXPORT hipError_t hipLaunchHostFunc(hipStream_t stream, void (*function)(void *), void *argument) {
  struct operation operation = {.kind = OPERATION_CALL, .call = {function, argument}};
  return submit(__func__, stream, &operation);
}
EXPORT hipError_t hipStreamAddCallback(hipStream_t stream, void (*callback)(hipStream_t, hipError_t, void *), void *data, unsigned flags) {
  (void)flags;
  hipError_t code = check_stream(__func__, stream);
  if (!code) callback(stream, hipSuccess, data);
  return code;
}

EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags) {
  SEEDED_FAULT();
  struct event *fresh = calloc(1, sizeof *fresh);
  CHECK(fresh, hipErrorOutOfMemory, "an event");
  fresh->magic = EVENT, fresh->device = current_device(), fresh->flags = flags;
  *event = fresh;
  return hipSuccess;
}
EXPORT hipError_t hipEventCreate(hipEvent_t *event) { SEEDED_FAULT(); return hipEventCreateWithFlags(event, 0); }
static hipError_t check_event(const char *call, hipEvent_t event) {
  CHECK_IN(call, event && event->magic == EVENT, hipErrorInvalidHandle, "%p is no event, or one that was destroyed", (void *)event);
  return hipSuccess;
}
EXPORT hipError_t hipEventDestroy(hipEvent_t event) {
  hipError_t code = check_event(__func__, event);
  if (!code) event->magic = 0;
  return code;
}
EXPORT hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  SEEDED_FAULT();
  hipError_t code = check_event(__func__, event);
  if (code || (code = check_stream(__func__, stream))) return code;
  event->capture = is_default(stream) ? NULL : stream->capture;
  event->is_recorded = !event->capture;
  clock_gettime(CLOCK_MONOTONIC, &event->at);
  return hipSuccess;
}
EXPORT hipError_t hipEventSynchronize(hipEvent_t event) {
  SEEDED_FAULT();
  hipError_t code = check_event(__func__, event);
  CHECK(code || !event->capture, hipErrorStreamCaptureUnsupported, "the event was recorded in a capture");
  return code;
}
EXPORT hipError_t hipEventQuery(hipEvent_t event) { return check_event(__func__, event); }
// Milliseconds of the CPU's clock: they say nothing about a GPU.
EXPORT hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop) {
  hipError_t code = check_event(__func__, start);
  if (code || (code = check_event(__func__, stop))) return code;
  CHECK(start->is_recorded && stop->is_recorded, hipErrorInvalidHandle, "an event was not recorded");
  CHECK(!((start->flags | stop->flags) & DISABLE_TIMING), hipErrorInvalidHandle, "an event was made without timing");
  *milliseconds = (float)((stop->at.tv_sec - start->at.tv_sec) * 1e3 + (stop->at.tv_nsec - start->at.tv_nsec) * 1e-6);
  return hipSuccess;
}
EXPORT hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  (void)flags;
  SEEDED_FAULT();
  hipError_t code = check_stream(__func__, stream);
  if (code || (code = check_event(__func__, event))) return code;
  if (event->capture && !is_default(stream) && !stream->capture) stream->capture = event->capture;  // it joins the capture
  return hipSuccess;
}

EXPORT hipError_t hipStreamIsCapturing(hipStream_t stream, int *status) {
  *status = !is_default(stream) && stream->magic == STREAM && stream->capture ? 1 : 0;
  return check_stream(__func__, stream);
}
EXPORT hipError_t hipStreamGetCaptureInfo(hipStream_t stream, int *status, unsigned long long *id) {
  hipError_t code = hipStreamIsCapturing(stream, status);
  if (id) *id = *status ? (unsigned long long)(uintptr_t)stream->capture : 0;
  return code;
}
EXPORT hipError_t hipStreamBeginCapture(hipStream_t stream, int mode) {
  (void)mode;
  SEEDED_FAULT();
  hipError_t code = check_stream(__func__, stream);
  if (code) return code;
  CHECK(!is_default(stream), hipErrorStreamCaptureUnsupported, "the default stream cannot be captured");
  CHECK(!stream->capture, hipErrorIllegalState, "the stream is being captured already");
  stream->capture = calloc(1, sizeof *stream->capture);
  CHECK(stream->capture, hipErrorOutOfMemory, "a graph");
  stream->is_origin = true;
  return hipSuccess;
}
// Streams that joined by an event are left as they are: HIP demands that they are joined back before the end.
EXPORT hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph) {
  SEEDED_FAULT();
  hipError_t code = check_stream(__func__, stream);
  if (code) return code;
  CHECK(!is_default(stream) && stream->capture && stream->is_origin, hipErrorIllegalState, "the stream began no capture");
  *graph = stream->capture;
  stream->capture = NULL, stream->is_origin = false;
  return hipSuccess;
}
EXPORT hipError_t hipGraphInstantiate(hipGraphExec_t *exec_out, hipGraph_t graph, void *node, char *log, size_t log_bytes) {
  (void)node, (void)log, (void)log_bytes;
  struct graph_exec *exec = calloc(1, sizeof *exec);
  CHECK(exec, hipErrorOutOfMemory, "a graph");
  exec->graph.count = graph->count;
  exec->graph.operations = calloc(graph->count + 1, sizeof *exec->graph.operations);
  CHECK(exec->graph.operations, hipErrorOutOfMemory, "a graph of %zu operations", graph->count);
  memcpy(exec->graph.operations, graph->operations, graph->count * sizeof *graph->operations);
  *exec_out = exec;
  return hipSuccess;
}
EXPORT hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *exec_out, hipGraph_t graph, unsigned long long flags) {
  (void)flags;
  return hipGraphInstantiate(exec_out, graph, NULL, NULL, 0);
}
EXPORT hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  SEEDED_FAULT();
  hipError_t code = check_stream(__func__, stream);
  for (size_t i = 0; i < exec->graph.count && !code; ++i) code = run(__func__, &exec->graph.operations[i]);
  return code;
}
// Arguments of captured launches stay: a graph and its executable forms share them.
EXPORT hipError_t hipGraphDestroy(hipGraph_t graph) { free(graph->operations), free(graph); return hipSuccess; }
EXPORT hipError_t hipGraphExecDestroy(hipGraphExec_t exec) { free(exec->graph.operations), free(exec); return hipSuccess; }
