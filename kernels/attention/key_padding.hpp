// com.microsoft MultiHeadAttention's key_padding_mask: which keys count. On host and device alike.
#pragma once

#include <cstdint>

#include "common/types.hpp"

namespace sbk {

// Its forms. A key counts where the mask is above 0.
enum class KeyPadding {
  lengths,  // [batch], or [3 batch + 2] of which the first are those: keys from there on do not count
  keys,     // [batch, keys]
  pairs,    // [batch, queries, keys]
};

// Of a mask of this shape; false where there is no such form. `keys` counts a past too.
inline bool key_padding_of(const int64_t* shape, size_t rank, int64_t batch, int64_t queries, int64_t keys, KeyPadding* form) {
  if (rank == 1 && (shape[0] == batch || shape[0] == 3 * batch + 2)) *form = KeyPadding::lengths;
  else if (rank == 2 && shape[0] == batch && shape[1] == keys) *form = KeyPadding::keys;
  else if (rank == 3 && shape[0] == batch && shape[1] == queries && shape[2] == keys) *form = KeyPadding::pairs;
  else return false;
  return true;
}

// Scores that the operator adds a number to, `filter`, where a key does not count. Not where none counts that the query sees: the
// same number added to every score changes no weight, but rounds the scores.
struct PaddedKeys {
  const int32_t* mask;
  KeyPadding form;
  int64_t queries, keys;
  bool causal;  // query i sees keys up to i + past
  int64_t past;
  float filter;

  // Whether queries differ: where they do not, one row of numbers is all queries'.
  bool by_query() const { return form == KeyPadding::pairs || causal; }
  int64_t rows() const { return by_query() ? queries : 1; }  // of numbers, for a batch entry

  SBK_HD bool counts(int64_t b, int64_t i, int64_t j) const {
    if (form == KeyPadding::lengths) return j < mask[b];
    const int64_t row = form == KeyPadding::keys ? b : b * queries + i;
    return mask[row * keys + j] > 0;
  }

  // Whether a key counts that query i sees.
  SBK_HD bool any(int64_t b, int64_t i) const {
    const int64_t end = causal && i + past + 1 < keys ? i + past + 1 : keys;
    for (int64_t j = 0; j < end; ++j) {
      if (counts(b, i, j)) return true;
    }
    return false;
  }
};

}  // namespace sbk
