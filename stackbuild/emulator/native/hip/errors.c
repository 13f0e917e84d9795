// Error codes, what is said of a failed call, seeded faults, and calls that the stand-in lacks.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

static _Thread_local hipError_t last_error;

hipError_t end_call(hipError_t code) {
  if (code != hipSuccess) last_error = code;
  return code;
}

EXPORT const char *hipGetErrorName(hipError_t code) {
#define NAME_OF(NAME, VALUE) case VALUE: return #NAME;
  switch (code) { HIP_ERRORS(NAME_OF) default: return "hipErrorUnknown"; }
}

// The name says enough: a message of the stand-in goes to standard error and to whoever watches.
EXPORT const char *hipGetErrorString(hipError_t code) { return hipGetErrorName(code); }
EXPORT hipError_t hipDrvGetErrorName(hipError_t code, const char **text) { *text = hipGetErrorName(code); return hipSuccess; }
EXPORT hipError_t hipDrvGetErrorString(hipError_t code, const char **text) { return hipDrvGetErrorName(code, text); }

EXPORT hipError_t hipGetLastError(void) {
  hipError_t code = last_error;
  last_error = hipSuccess;
  return code;
}
EXPORT hipError_t hipPeekAtLastError(void) { return last_error; }
EXPORT hipError_t hipExtGetLastError(void) { return hipGetLastError(); }

hipError_t fail_call(const char *call, hipError_t code, const char *format, ...) {
  char text[1024];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  fprintf(stderr, "emulated GPU: %s: %s (%s)\n", call, text, hipGetErrorName(code));
  channel_report("error", "call", call, "code", hipGetErrorName(code), "text", text, NULL);
  return end_call(code);
}

// STACKBUILD_EMULATOR_FAULTS=CALL:N[=CODE],…: the Nth call of CALL fails, with CODE (hipMalloc: 2, others: 719 unless said).
static struct fault { char call[64]; long at, count; hipError_t code; } faults[32];
static int fault_count;
static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;

static void read_faults(void) {
  const char *at = getenv("STACKBUILD_EMULATOR_FAULTS");
  while (at && *at) {
    struct fault *fault = &faults[fault_count];
    int length = 0;
    if (fault_count == 32 || sscanf(at, "%63[A-Za-z0-9_]:%ld%n", fault->call, &fault->at, &length) != 2 || fault->at < 1) {
      fprintf(stderr, "emulated GPU: STACKBUILD_EMULATOR_FAULTS is not CALL:N[=CODE],…: %s\n", at);
      abort();
    }
    at += length;
    fault->code = strncmp(fault->call, "hipMalloc", 9) == 0 ? hipErrorOutOfMemory : hipErrorLaunchFailure;
    if (*at == '=') fault->code = (hipError_t)strtol(at + 1, (char **)&at, 10);
    fault_count++;
    if (*at == ',') at++;
  }
}

bool fault_is_due(const char *call, hipError_t *code) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_faults);
  bool due = false;
  pthread_mutex_lock(&fault_lock);
  for (int i = 0; i < fault_count; ++i)
    if (strcmp(faults[i].call, call) == 0 && ++faults[i].count == faults[i].at) due = true, *code = faults[i].code;
  pthread_mutex_unlock(&fault_lock);
  return due;
}

hipError_t refuse_call(const char *name) {
  fprintf(stderr, "emulated GPU: the stand-in of the HIP runtime has no %s\n", name);
  channel_report("host call", "name", name, NULL);
  return end_call(hipErrorNotSupported);
}
