// CUDA's sums, products and fused multiply-adds with directed rounding. HIP's headers declare them only where
// OCML_BASIC_ROUNDED_OPERATIONS is defined before they are first included; the device library has these always, and no
// quotients and roots, so those are not here. Written by `stackbuild hipify`.
#ifndef STACKBUILD_HIP_ROUNDED_H  // two trees may have this file each, which #pragma once takes for two files
#define STACKBUILD_HIP_ROUNDED_H

#include <hip/hip_runtime.h>

// Rounded down.
#define __fadd_rd(a, b) __ocml_add_rtn_f32(a, b)
#define __fsub_rd(a, b) __ocml_sub_rtn_f32(a, b)
#define __fmul_rd(a, b) __ocml_mul_rtn_f32(a, b)
#define __dadd_rd(a, b) __ocml_add_rtn_f64(a, b)
#define __dsub_rd(a, b) __ocml_sub_rtn_f64(a, b)
#define __dmul_rd(a, b) __ocml_mul_rtn_f64(a, b)
#define __fmaf_rd(a, b, c) __ocml_fma_rtn_f32(a, b, c)
#define __fma_rd(a, b, c) __ocml_fma_rtn_f64(a, b, c)
// Rounded up.
#define __fadd_ru(a, b) __ocml_add_rtp_f32(a, b)
#define __fsub_ru(a, b) __ocml_sub_rtp_f32(a, b)
#define __fmul_ru(a, b) __ocml_mul_rtp_f32(a, b)
#define __dadd_ru(a, b) __ocml_add_rtp_f64(a, b)
#define __dsub_ru(a, b) __ocml_sub_rtp_f64(a, b)
#define __dmul_ru(a, b) __ocml_mul_rtp_f64(a, b)
#define __fmaf_ru(a, b, c) __ocml_fma_rtp_f32(a, b, c)
#define __fma_ru(a, b, c) __ocml_fma_rtp_f64(a, b, c)
// Rounded to zero.
#define __fadd_rz(a, b) __ocml_add_rtz_f32(a, b)
#define __fsub_rz(a, b) __ocml_sub_rtz_f32(a, b)
#define __fmul_rz(a, b) __ocml_mul_rtz_f32(a, b)
#define __dadd_rz(a, b) __ocml_add_rtz_f64(a, b)
#define __dsub_rz(a, b) __ocml_sub_rtz_f64(a, b)
#define __dmul_rz(a, b) __ocml_mul_rtz_f64(a, b)
#define __fmaf_rz(a, b, c) __ocml_fma_rtz_f32(a, b, c)
#define __fma_rz(a, b, c) __ocml_fma_rtz_f64(a, b, c)
#endif  // STACKBUILD_HIP_ROUNDED_H
