// Walking several tensors of one (broadcast) index space: axes that can be merged are merged, so that most cases come
// down to one to three axes.
#pragma once

#include "core/kernel/parallel_for.hpp"
#include "core/tensor/strides.hpp"

namespace rk {

// K operands' offsets for each index of a dense result.
template <int K>
class Walk {
 public:
  Walk(const Shape& shape, const std::array<Strides, K>& strides) {
    count_ = shape.size();
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] == 1) continue;
      if (rank_ > 0 && mergeable(strides, i, shape[i])) {
        extents_[rank_ - 1] *= shape[i];
        for (int k = 0; k < K; ++k) strides_[k][rank_ - 1] = strides[k][i];
        continue;
      }
      extents_[rank_] = shape[i];
      for (int k = 0; k < K; ++k) strides_[k][rank_] = strides[k][i];
      ++rank_;
    }
    if (rank_ == 0) {
      extents_[0] = 1;
      rank_ = 1;
    }
    small_ = count_ < (int64_t{1} << 31);
    if (small_)
      for (int i = 0; i < rank_; ++i) divisors_[i] = Divisor(std::max<int64_t>(extents_[i], 1));
  }

  int rank() const { return rank_; }
  RK_HD int64_t count() const { return count_; }
  int64_t extent(int i) const { return extents_[i]; }
  int64_t stride(int operand, int i) const { return strides_[operand][i]; }
  bool dense(int operand) const { return rank_ == 1 && (strides_[operand][0] == 1 || count_ == 1); }
  bool single(int operand) const { return rank_ == 1 && strides_[operand][0] == 0; }

  // The same walk over packs of `lanes` elements of a dense last axis; only for operands whose last stride is 1 there.
  Walk packed_walk(int lanes) const {
    Walk walk = *this;
    walk.count_ /= lanes;
    walk.extents_[rank_ - 1] /= lanes;
    for (int k = 0; k < K; ++k)
      for (int i = 0; i < rank_ - 1; ++i) walk.strides_[k][i] /= lanes;
    if (small_) walk.divisors_[rank_ - 1] = Divisor(walk.extents_[rank_ - 1]);
    return walk;
  }
  // The same walk over parts of `length` elements of the last axis, the last of which may be shorter.
  Walk parted_walk(int64_t length) const {
    Walk walk = *this;
    const int last = rank_ - 1;
    walk.extents_[last] = (extents_[last] + length - 1) / length;
    walk.count_ = count_ / extents_[last] * walk.extents_[last];
    for (int k = 0; k < K; ++k) walk.strides_[k][last] *= length;
    if (small_) walk.divisors_[last] = Divisor(walk.extents_[last]);
    return walk;
  }
  bool packable(int lanes) const {
    if (extents_[rank_ - 1] % lanes != 0) return false;
    for (int k = 0; k < K; ++k) {
      if (strides_[k][rank_ - 1] != 1) return false;
      for (int i = 0; i < rank_ - 1; ++i)
        if (strides_[k][i] % lanes != 0) return false;
    }
    return true;
  }

  RK_D void offsets(int64_t index, int64_t (&out)[K]) const {
    for (int k = 0; k < K; ++k) out[k] = 0;
    if (small_) return offsets_small(static_cast<uint32_t>(index), out);
    for (int i = rank_ - 1; i > 0; --i) {
      const int64_t next = index / extents_[i];
      add(i, index - next * extents_[i], out);
      index = next;
    }
    add(0, index, out);
  }

 private:
  RK_D void offsets_small(uint32_t index, int64_t (&out)[K]) const {
    for (int i = rank_ - 1; i > 0; --i) {
      const uint32_t next = divisors_[i].divide(index);
      add(i, index - next * divisors_[i].value(), out);
      index = next;
    }
    add(0, index, out);
  }
  RK_D void add(int axis, int64_t position, int64_t (&out)[K]) const {
    for (int k = 0; k < K; ++k) out[k] += position * strides_[k][axis];
  }
  bool mergeable(const std::array<Strides, K>& strides, int axis, int64_t extent) const {
    for (int k = 0; k < K; ++k)
      if (strides_[k][rank_ - 1] != strides[k][axis] * extent) return false;
    return true;
  }

  int rank_ = 0;
  bool small_ = true;
  int64_t count_ = 0;
  int64_t extents_[kMaxRank] = {};
  int64_t strides_[K][kMaxRank] = {};
  Divisor divisors_[kMaxRank];
};

}  // namespace rk
