// How the keys of an attention are shared out over blocks, whose sums a second kernel joins (attention_rows.hip): split keys,
// as in Dao, Haziza, Massa & Sizov 2023, "Flash-Decoding".
#pragma once

#include <cstdint>

#include "attention/attention.hpp"

namespace sbk::attention_detail {

// `partial`: of each query and part, its top score, the sum of its weights, whether a key is open, and its outputs:
// [batch][query head][query][splits][3 + value_size]. Null where one part is all.
struct KeyParts {
  int32_t splits = 1;
  int64_t keys = 0;  // of a part
  float* partial = nullptr;
};

constexpr int kPartialHead = 3;
constexpr int64_t kMostKeyParts = 256;

inline size_t partial_bytes(const AttentionParams& p, int64_t splits) {
  const int64_t rows = p.batch * p.query_heads * p.query_length;
  return static_cast<size_t>(rows * splits * (kPartialHead + p.value_size)) * sizeof(float);
}

}  // namespace sbk::attention_detail
