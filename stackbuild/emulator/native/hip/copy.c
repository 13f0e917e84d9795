// Copies and fills. Ranges are compared with the allocations before anything is done.
#include "runtime.h"

static hipError_t copy(const char *call, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows,
                       hipMemcpyKind kind, hipStream_t stream) {
  hipError_t fault_code;
  if (fault_is_due(call, &fault_code)) return fail_call(call, fault_code, "a fault that STACKBUILD_EMULATOR_FAULTS asks for");
  if (!width || !rows) return hipSuccess;
  CHECK_IN(call, to && from, hipErrorInvalidValue, "a pointer is null");
  CHECK_IN(call, kind >= COPY_HOST_TO_HOST && kind <= COPY_DEFAULT, hipErrorInvalidMemcpyDirection, "direction %d", kind);
  CHECK_IN(call, rows == 1 || (to_pitch >= width && from_pitch >= width), hipErrorInvalidPitchValue, "a pitch below the width of %zu bytes", width);
  hipError_t code = check_range(call, to, to_pitch * (rows - 1) + width, false,
                                kind == COPY_HOST_TO_DEVICE || kind == COPY_DEVICE_TO_DEVICE ? MEMORY_DEVICE : MEMORY_HOST);
  if (!code) code = check_range(call, from, from_pitch * (rows - 1) + width, true,
                                kind == COPY_DEVICE_TO_HOST || kind == COPY_DEVICE_TO_DEVICE ? MEMORY_DEVICE : MEMORY_HOST);
  if (code) return code;
  struct operation operation = {.kind = OPERATION_COPY, .copy = {to, from, to_pitch, from_pitch, width, rows, kind}};
  return submit(call, stream, &operation);
}

static hipError_t fill(const char *call, void *to, size_t pitch, size_t width, size_t rows, uint32_t value, int bytes, hipStream_t stream) {
  hipError_t fault_code;
  if (fault_is_due(call, &fault_code)) return fail_call(call, fault_code, "a fault that STACKBUILD_EMULATOR_FAULTS asks for");
  if (!width || !rows) return hipSuccess;
  hipError_t code = check_range(call, to, pitch * (rows - 1) + width, false, MEMORY_DEVICE);
  if (code) return code;
  struct operation operation = {.kind = OPERATION_FILL, .fill = {to, pitch, width, rows, value, bytes}};
  return submit(call, stream, &operation);
}

#define PLAIN(BYTES) BYTES, from, BYTES, BYTES, 1
EXPORT hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind) { return copy(__func__, to, PLAIN(bytes), kind, NULL); }
EXPORT hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t s) { return copy(__func__, to, PLAIN(bytes), kind, s); }
EXPORT hipError_t hipMemcpyWithStream(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t s) { return copy(__func__, to, PLAIN(bytes), kind, s); }
EXPORT hipError_t hipMemcpyHtoD(void *to, void *from, size_t bytes) { return copy(__func__, to, PLAIN(bytes), COPY_HOST_TO_DEVICE, NULL); }
EXPORT hipError_t hipMemcpyDtoH(void *to, void *from, size_t bytes) { return copy(__func__, to, PLAIN(bytes), COPY_DEVICE_TO_HOST, NULL); }
EXPORT hipError_t hipMemcpyDtoD(void *to, void *from, size_t bytes) { return copy(__func__, to, PLAIN(bytes), COPY_DEVICE_TO_DEVICE, NULL); }
EXPORT hipError_t hipMemcpyHtoDAsync(void *to, void *from, size_t bytes, hipStream_t s) { return copy(__func__, to, PLAIN(bytes), COPY_HOST_TO_DEVICE, s); }
EXPORT hipError_t hipMemcpyDtoHAsync(void *to, void *from, size_t bytes, hipStream_t s) { return copy(__func__, to, PLAIN(bytes), COPY_DEVICE_TO_HOST, s); }
EXPORT hipError_t hipMemcpyDtoDAsync(void *to, void *from, size_t bytes, hipStream_t s) { return copy(__func__, to, PLAIN(bytes), COPY_DEVICE_TO_DEVICE, s); }
EXPORT hipError_t hipMemcpyPeer(void *to, int d, const void *from, int e, size_t bytes) { (void)d, (void)e; return copy(__func__, to, PLAIN(bytes), COPY_DEVICE_TO_DEVICE, NULL); }
EXPORT hipError_t hipMemcpyPeerAsync(void *to, int d, const void *from, int e, size_t bytes, hipStream_t s) { (void)d, (void)e; return copy(__func__, to, PLAIN(bytes), COPY_DEVICE_TO_DEVICE, s); }
EXPORT hipError_t hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, hipMemcpyKind kind) {
  return copy(__func__, to, to_pitch, from, from_pitch, width, rows, kind, NULL);
}
EXPORT hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, hipMemcpyKind kind, hipStream_t s) {
  return copy(__func__, to, to_pitch, from, from_pitch, width, rows, kind, s);
}

static hipError_t with_symbol(const char *call, const void *symbol, size_t offset, size_t bytes, char **address) {
  size_t whole;
  void *start;
  hipError_t code = symbol_of(call, symbol, &start, &whole);
  if (code) return code;
  CHECK_IN(call, offset <= whole && bytes <= whole - offset, hipErrorInvalidValue, "%zu bytes at byte %zu of a variable of %zu", bytes, offset, whole);
  *address = (char *)start + offset;
  return hipSuccess;
}
EXPORT hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, hipMemcpyKind kind, hipStream_t s) {
  (void)kind;
  char *to;
  hipError_t code = with_symbol(__func__, symbol, offset, bytes, &to);
  return code ? code : copy(__func__, to, PLAIN(bytes), COPY_DEFAULT, s);
}
EXPORT hipError_t hipMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, hipMemcpyKind kind) {
  return hipMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, NULL);
}
EXPORT hipError_t hipMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind, hipStream_t s) {
  (void)kind;
  char *from;
  hipError_t code = with_symbol(__func__, symbol, offset, bytes, &from);
  return code ? code : copy(__func__, to, PLAIN(bytes), COPY_DEFAULT, s);
}
EXPORT hipError_t hipMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind) {
  return hipMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, NULL);
}

EXPORT hipError_t hipMemset(void *to, int value, size_t bytes) { return fill(__func__, to, bytes, bytes, 1, (unsigned char)value, 1, NULL); }
EXPORT hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t s) { return fill(__func__, to, bytes, bytes, 1, (unsigned char)value, 1, s); }
EXPORT hipError_t hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t rows) { return fill(__func__, to, pitch, width, rows, (unsigned char)value, 1, NULL); }
EXPORT hipError_t hipMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t rows, hipStream_t s) { return fill(__func__, to, pitch, width, rows, (unsigned char)value, 1, s); }
EXPORT hipError_t hipMemsetD8(void *to, unsigned char value, size_t count) { return fill(__func__, to, count, count, 1, value, 1, NULL); }
EXPORT hipError_t hipMemsetD8Async(void *to, unsigned char value, size_t count, hipStream_t s) { return fill(__func__, to, count, count, 1, value, 1, s); }
EXPORT hipError_t hipMemsetD16(void *to, unsigned short value, size_t count) { return fill(__func__, to, 2 * count, 2 * count, 1, value, 2, NULL); }
EXPORT hipError_t hipMemsetD16Async(void *to, unsigned short value, size_t count, hipStream_t s) { return fill(__func__, to, 2 * count, 2 * count, 1, value, 2, s); }
EXPORT hipError_t hipMemsetD32(void *to, int value, size_t count) { return fill(__func__, to, 4 * count, 4 * count, 1, (uint32_t)value, 4, NULL); }
EXPORT hipError_t hipMemsetD32Async(void *to, int value, size_t count, hipStream_t s) { return fill(__func__, to, 4 * count, 4 * count, 1, (uint32_t)value, 4, s); }
