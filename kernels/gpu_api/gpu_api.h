/* What the HIP library exports: a C interface, so that the custom-op library can dlopen it and Python can call it
 * through ctypes. Every function returns an sbk::Code (0 = ok); `what` (may be null) receives a message in static
 * storage. Structures are those of the operators' headers, passed by pointer; both sides must be of one build:
 * sbk_gpu_abi() tells the sizes. */
#ifndef STACKBUILD_KERNELS_GPU_API_H
#define STACKBUILD_KERNELS_GPU_API_H

#include <stddef.h>
#include <stdint.h>

#define SBK_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sbk_abi {
  uint32_t launch, leaky_relu, batch_norm, group_norm, conv, attention; /* sizeof each structure */
} sbk_abi;

SBK_EXPORT void sbk_gpu_abi(sbk_abi* abi);
/* "amd" or "nvidia": HIP's platform this library was compiled for. */
SBK_EXPORT const char* sbk_gpu_platform(void);

SBK_EXPORT int32_t sbk_gpu_leaky_relu(const void* params, const void* launch, const char** what);
SBK_EXPORT int32_t sbk_gpu_batch_norm(const void* params, const void* launch, const char** what);
SBK_EXPORT int32_t sbk_gpu_group_norm(const void* params, const void* launch, const char** what);
SBK_EXPORT int32_t sbk_gpu_conv(const void* params, const void* launch, const char** what);
SBK_EXPORT int32_t sbk_gpu_attention(const void* params, const void* launch, const char** what);
/* Every way to make a convolution on the current device, as pairs of ConvAlgorithm and variant; returns how many. `choices` has
 * room for kConvMaxChoices of them. */
SBK_EXPORT int32_t sbk_gpu_conv_choices(const void* params, int32_t (*choices)[2]);
/* The form in which this convolution reads its filters, and its bytes; 0 where it reads them as they are. Into `to` in that form. */
SBK_EXPORT int64_t sbk_gpu_conv_filter_form(const void* params, size_t* bytes);
SBK_EXPORT int32_t sbk_gpu_pack_conv_filter(const void* params, void* to, const void* launch, const char** what);
SBK_EXPORT size_t sbk_gpu_group_norm_workspace(const void* params);
SBK_EXPORT size_t sbk_gpu_conv_workspace(const void* params);
SBK_EXPORT size_t sbk_gpu_attention_workspace(const void* params);

/* The runtime, for callers that have no HIP of their own. */
SBK_EXPORT int32_t sbk_gpu_device_count(int32_t* count, const char** what);
SBK_EXPORT int32_t sbk_gpu_device_name(int32_t device, char* name, size_t bytes, const char** what);
SBK_EXPORT int32_t sbk_gpu_malloc(void** pointer, size_t bytes, const char** what);
SBK_EXPORT int32_t sbk_gpu_free(void* pointer, const char** what);
SBK_EXPORT int32_t sbk_gpu_copy(void* to, const void* from, size_t bytes, void* stream, const char** what);
/* `rows` of `bytes` each, whose beginnings are `to_step` and `from_step` bytes apart; both at least `bytes`. */
SBK_EXPORT int32_t sbk_gpu_copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes, size_t rows,
                                     void* stream, const char** what);
SBK_EXPORT int32_t sbk_gpu_fill(void* to, int32_t byte, size_t bytes, void* stream, const char** what);
SBK_EXPORT int32_t sbk_gpu_stream_create(void** stream, const char** what);
SBK_EXPORT int32_t sbk_gpu_stream_destroy(void* stream, const char** what);
SBK_EXPORT int32_t sbk_gpu_stream_synchronize(void* stream, const char** what);
/* Makes `device` the calling thread's; `before` (may be null) receives the one that was. */
SBK_EXPORT int32_t sbk_gpu_device_use(int32_t device, int32_t* before, const char** what);
/* Workspace on the current device for what a call enqueues on `stream`, kept for later calls when it is given back: before the
 * work is done, but behind all of it. Of no bytes null. From any thread; see common/workspaces.hpp. */
SBK_EXPORT int32_t sbk_gpu_workspace_take(void* stream, size_t bytes, void** memory, const char** what);
SBK_EXPORT int32_t sbk_gpu_workspace_give(void* memory, const char** what);
SBK_EXPORT int32_t sbk_gpu_event_create(void** event, const char** what);
SBK_EXPORT int32_t sbk_gpu_event_destroy(void* event, const char** what);
SBK_EXPORT int32_t sbk_gpu_event_record(void* event, void* stream, const char** what);
/* Waits for `stop`, then gives the milliseconds between the two. */
SBK_EXPORT int32_t sbk_gpu_event_elapsed(void* start, void* stop, float* milliseconds, const char** what);

#ifdef __cplusplus
}
#endif
#endif
