// Every operator's kernels.
#include "core/kernel/kernel.hpp"

namespace rk {

// One for each source file with operators.
void add_unary(Entries& entries);
void add_binary(Entries& entries);
void add_matmul(Entries& entries);
void add_matmul_nbits(Entries& entries);
void add_matmul_integer(Entries& entries);
void add_conv_integer(Entries& entries);
void add_quantize_linear(Entries& entries);
void add_normalization(Entries& entries);
void add_reduce(Entries& entries);
void add_pool(Entries& entries);
void add_shape(Entries& entries);
void add_movement(Entries& entries);
void add_gather(Entries& entries);
void add_resize(Entries& entries);
void add_trilu(Entries& entries);
void add_bundled(Entries& entries);  // the operators of kernels/*
void add_attention(Entries& entries);
void add_multi_head(Entries& entries);

const Entries& entries() {
  static const Entries all = [] {
    Entries list;
    add_unary(list);
    add_binary(list);
    add_matmul(list);
    add_matmul_nbits(list);
    add_matmul_integer(list);
    add_conv_integer(list);
    add_quantize_linear(list);
    add_normalization(list);
    add_reduce(list);
    add_pool(list);
    add_shape(list);
    add_movement(list);
    add_gather(list);
    add_resize(list);
    add_trilu(list);
    add_bundled(list);
    add_attention(list);
    add_multi_head(list);
    return list;
  }();
  return all;
}

}  // namespace rk
