#include "core/kernel/broadcast.hpp"
#include "ops/shape/copy.hpp"

namespace rk {
namespace {

template <class T>
struct Move {
  const T* from;
  T* to;
  Walk<2> walk;
  RK_D void operator()(int64_t i) const {
    int64_t at[2];
    walk.offsets(i, at);
    to[at[1]] = from[at[0]];
  }
};

#if !RK_CPU

constexpr int kTile = 32;
constexpr int kTileRows = 8;

// [batch, rows, columns] → [batch, columns, rows], through shared memory so that both sides are read and written whole.
template <class T>
__global__ void __launch_bounds__(kTile* kTileRows) transpose_kernel(const T* from, T* to, int rows, int columns) {
  __shared__ T tile[kTile][kTile + 1];
  const int64_t base = static_cast<int64_t>(blockIdx.z) * rows * columns;
  const int left = static_cast<int>(blockIdx.x) * kTile;
  const int top = static_cast<int>(blockIdx.y) * kTile;
  const int x = static_cast<int>(threadIdx.x);
  for (int y = static_cast<int>(threadIdx.y); y < kTile; y += kTileRows)
    if (left + x < columns && top + y < rows)
      tile[y][x] = from[base + static_cast<int64_t>(top + y) * columns + left + x];
  __syncthreads();
  for (int y = static_cast<int>(threadIdx.y); y < kTile; y += kTileRows)
    if (top + x < rows && left + y < columns)
      to[base + static_cast<int64_t>(left + y) * rows + top + x] = tile[x][y];
}

// Whether the copy is a batch of dense transposes; runs it if so.
template <class T>
bool transpose(Stream& stream, const Walk<2>& walk, const T* from, T* to) {
  const int last = walk.rank() - 1;
  if (last < 1 || last > 2) return false;
  const int64_t rows = walk.extent(last), columns = walk.extent(last - 1);  // of the source
  const bool dense = walk.stride(1, last) == 1 && walk.stride(1, last - 1) == rows && walk.stride(0, last - 1) == 1 &&
                     walk.stride(0, last) == columns;
  const int64_t batch = last == 2 ? walk.extent(0) : 1;
  const int64_t matrix = rows * columns;
  if (!dense || (last == 2 && (walk.stride(0, 0) != matrix || walk.stride(1, 0) != matrix))) return false;
  if (batch > sbk::kMostBlocksAcross || (rows + kTile - 1) / kTile > sbk::kMostBlocksAcross ||
      (columns + kTile - 1) / kTile > sbk::most_blocks(kTile) || columns > INT32_MAX || rows < 4 || columns < 4) return false;
  const dim3 grid(static_cast<uint32_t>((columns + kTile - 1) / kTile), static_cast<uint32_t>((rows + kTile - 1) / kTile),
                  static_cast<uint32_t>(batch));
  transpose_kernel<T><<<grid, dim3(kTile, kTileRows), 0, static_cast<hipStream_t>(stream.native())>>>(
      from, to, static_cast<int>(rows), static_cast<int>(columns));
  check_launched();
  return true;
}

#endif

template <class T, int N>
void move(Stream& stream, const Walk<2>& walk, const T* from, T* to) {
  using P = Pack<T, N>;
  const Walk<2> packed_walk = N == 1 ? walk : walk.packed_walk(N);
  for_each(stream, packed_walk.count(), Move<P>{reinterpret_cast<const P*>(from), reinterpret_cast<P*>(to), packed_walk});
}

template <class T>
void run(Stream& stream, const Walk<2>& walk, const T* from, T* to) {
  constexpr int N = 16 / sizeof(T);
  const bool aligned = reinterpret_cast<uintptr_t>(from) % 16 == 0 && reinterpret_cast<uintptr_t>(to) % 16 == 0;
  if (aligned && walk.packable(N)) return move<T, N>(stream, walk, from, to);
#if !RK_CPU
  if (transpose<T>(stream, walk, from, to)) return;
#endif
  move<T, 1>(stream, walk, from, to);
}

}  // namespace

void strided_copy(Stream& stream, const StridedCopy& copy) {
  if (copy.shape.size() == 0) return;
  const Walk<2> walk(copy.shape, {copy.from_strides, copy.to_strides});
  const char* from = static_cast<const char*>(copy.from) + copy.from_offset * copy.element_bytes;
  char* to = static_cast<char*>(copy.to) + copy.to_offset * copy.element_bytes;
  if (walk.dense(0) && walk.dense(1)) {
    const auto bytes = static_cast<size_t>(walk.count() * copy.element_bytes);
    return device::copy(to, from, bytes, device::Copy::on_device, stream.native());
  }
  with_bytes(copy.element_bytes, [&](auto zero) {
    using T = decltype(zero);
    run<T>(stream, walk, reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to));
  });
}

}  // namespace rk
