// What Attention needs around its kernel: where heads lie, the key and value with their past, and the scores as an output.
#pragma once

#include <memory>
#include <vector>

#include "attention/attention_heads.hpp"
#include "customop/run.hpp"

namespace sbk::customop {

// Of one of Q, K, V: [B, H, S, D], or [B, S, H * D] with the head count from an attribute.
Heads heads_of(const Tensor& tensor, int64_t heads, const char* name);

// Extents, strides and pointers, where they fit together.
void place(AttentionParams& params, const Heads& q, const Heads& k, const Heads& v);

// Strides of a mask that broadcasts to [B, H, S, T] from the right. Its last axis must be whole.
void place_mask(AttentionParams& params, const Tensor& mask);

// Memory for the length of one call, where the call's tensors are.
class Memory {
 public:
  Memory(Where where, const Call& call) : where_(where), call_(call) {}
  void* get(size_t bytes);
  void copy(void* to, const void* from, size_t bytes) const { copy_in_order(where_, call_, to, from, bytes); }

  void copy(const Rows& rows) const { copy_in_order(where_, call_, rows); }

  // Numbers of the host's.
  template <class T>
  void* place(const std::vector<T>& numbers) {
    void* to = get(numbers.size() * sizeof(T));
    copy(to, numbers.data(), numbers.size() * sizeof(T));
    return to;
  }

 private:
  Where where_;
  const Call& call_;
  std::vector<std::vector<char>> host_;
  std::vector<std::unique_ptr<Scratch>> device_;
};

// `past` [B, H, P, D] and then `fresh`, along the sequence: in `present` [B, H, P + S, D] where that is not null. Without
// either it is `fresh` as it lies.
Heads extended_heads(Memory& memory, const Tensor& past, const Heads& fresh, void* present, size_t element_bytes);

// Runs what is placed, if there is anything to write.
void run_attention(Where where, const Call& call, AttentionParams& params);

// Attention's fourth output for the host, [B, heads, queries, keys] of p.dtype: by `mode` the scaled products (0), after
// softcap (1), after the masks (2), after the softmax (3). Keys from p.key_length on take no part.
void attention_scores(const AttentionParams& p, int64_t mode, int64_t keys, void* out);

}  // namespace sbk::customop
