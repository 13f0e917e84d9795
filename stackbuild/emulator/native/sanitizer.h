/* What the sanitizer keeps beside a wave's registers and a workgroup's LDS. Included by executor.c. */
#ifndef STACKBUILD_SANITIZER_H
#define STACKBUILD_SANITIZER_H

static void sanitizer_open(struct kernel *k, struct wave **waves, uint32_t count, uint32_t lds_bytes) { (void)k; (void)waves; (void)count; (void)lds_bytes; }
static void sanitizer_close(struct wave **waves, uint32_t count) { (void)waves; (void)count; }
static void sanitizer_start(struct wave *w, uint32_t lds_bytes) { (void)w; (void)lds_bytes; }
static void sanitizer_stop(struct wave *w, int ended) { (void)w; (void)ended; }
static void sanitizer_interval(struct wave **waves, uint32_t count) { (void)waves; (void)count; }
#endif
