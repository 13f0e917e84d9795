// Complex numbers for sources that define operators for CUDA's, which has none. HIP's are vectors, and their operators work
// by components; for these types a source's own are the better match. A pointer to one is a pointer to HIP's too.
// Written by `stackbuild hipify`.
#ifndef STACKBUILD_HIP_COMPLEX_H  // two trees may have this file each, which #pragma once takes for two files
#define STACKBUILD_HIP_COMPLEX_H

#include <hip/hip_runtime.h>

#include "stackbuild_hip_plain_complex.h"

namespace stackbuild_hip {

struct float_complex : hipFloatComplex {
  float_complex() = default;
  __host__ __device__ constexpr float_complex(const hipFloatComplex& other) : hipFloatComplex(other) {}
  __host__ __device__ constexpr float_complex(float real, float imaginary) : hipFloatComplex(real, imaginary) {}
};
struct double_complex : hipDoubleComplex {
  double_complex() = default;
  __host__ __device__ constexpr double_complex(const hipDoubleComplex& other) : hipDoubleComplex(other) {}
  __host__ __device__ constexpr double_complex(double real, double imaginary) : hipDoubleComplex(real, imaginary) {}
};

__host__ __device__ inline float_complex make_float_complex(float real, float imaginary) { return {real, imaginary}; }
__host__ __device__ inline double_complex make_double_complex(double real, double imaginary) {
  return {real, imaginary};
}

}  // namespace stackbuild_hip

// HIP's functions for them, which return its own type.
__host__ __device__ inline stackbuild_hip::float_complex hipCaddf(stackbuild_hip::float_complex a, stackbuild_hip::float_complex b) {
  return hipCaddf(static_cast<const hipFloatComplex&>(a), static_cast<const hipFloatComplex&>(b));
}
__host__ __device__ inline stackbuild_hip::float_complex hipCsubf(stackbuild_hip::float_complex a, stackbuild_hip::float_complex b) {
  return hipCsubf(static_cast<const hipFloatComplex&>(a), static_cast<const hipFloatComplex&>(b));
}
__host__ __device__ inline stackbuild_hip::float_complex hipCmulf(stackbuild_hip::float_complex a, stackbuild_hip::float_complex b) {
  return hipCmulf(static_cast<const hipFloatComplex&>(a), static_cast<const hipFloatComplex&>(b));
}
__host__ __device__ inline stackbuild_hip::float_complex hipCdivf(stackbuild_hip::float_complex a, stackbuild_hip::float_complex b) {
  return hipCdivf(static_cast<const hipFloatComplex&>(a), static_cast<const hipFloatComplex&>(b));
}
__host__ __device__ inline stackbuild_hip::float_complex hipConjf(stackbuild_hip::float_complex a) {
  return hipConjf(static_cast<const hipFloatComplex&>(a));
}
__host__ __device__ inline stackbuild_hip::double_complex hipCadd(stackbuild_hip::double_complex a, stackbuild_hip::double_complex b) {
  return hipCadd(static_cast<const hipDoubleComplex&>(a), static_cast<const hipDoubleComplex&>(b));
}
__host__ __device__ inline stackbuild_hip::double_complex hipCsub(stackbuild_hip::double_complex a, stackbuild_hip::double_complex b) {
  return hipCsub(static_cast<const hipDoubleComplex&>(a), static_cast<const hipDoubleComplex&>(b));
}
__host__ __device__ inline stackbuild_hip::double_complex hipCmul(stackbuild_hip::double_complex a, stackbuild_hip::double_complex b) {
  return hipCmul(static_cast<const hipDoubleComplex&>(a), static_cast<const hipDoubleComplex&>(b));
}
__host__ __device__ inline stackbuild_hip::double_complex hipCdiv(stackbuild_hip::double_complex a, stackbuild_hip::double_complex b) {
  return hipCdiv(static_cast<const hipDoubleComplex&>(a), static_cast<const hipDoubleComplex&>(b));
}
__host__ __device__ inline stackbuild_hip::double_complex hipConj(stackbuild_hip::double_complex a) {
  return hipConj(static_cast<const hipDoubleComplex&>(a));
}

#endif  // STACKBUILD_HIP_COMPLEX_H
