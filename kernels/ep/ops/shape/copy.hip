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

// Lines that lie dense on both sides, but not in whole packs: kTeam threads share kTeam * kEach elements of one.
constexpr int kTeam = 32, kEach = 4;

template <class T>
struct MoveLines {
  const T* from;
  T* to;
  Walk<2> walk;       // over the lines' parts
  Divisor by_parts;   // of a line
  int64_t extent;     // of a line
  RK_D void operator()(int64_t i) const {
    const auto place = static_cast<uint32_t>(i) / kTeam;
    const int lane = static_cast<int>(static_cast<uint32_t>(i) % kTeam);
    const uint32_t line = by_parts.divide(place);
    const int64_t first = static_cast<int64_t>(place - line * by_parts.value()) * (kTeam * kEach) + lane;
    int64_t at[2];
    walk.offsets(place, at);
    T values[kEach];
    for (int j = 0; j < kEach; ++j)
      if (first + j * kTeam < extent) values[j] = from[at[0] + lane + j * kTeam];
    for (int j = 0; j < kEach; ++j)
      if (first + j * kTeam < extent) to[at[1] + lane + j * kTeam] = values[j];
  }
};

// Runs it where lines are such, and long enough for most of a team.
template <class T>
bool move_lines(Stream& stream, const Walk<2>& walk, const T* from, T* to) {
  constexpr int64_t kLeast = 24;
  const int last = walk.rank() - 1;
  const int64_t extent = walk.extent(last), part = kTeam * kEach, parts = (extent + part - 1) / part;
  if (last == 0 || extent < kLeast || walk.stride(0, last) != 1 || walk.stride(1, last) != 1) return false;
  const int64_t count = walk.count() / extent * parts * kTeam;
  if (count >= INT32_MAX) return false;
  for_each(stream, count, MoveLines<T>{from, to, walk.parted_walk(part), Divisor(parts), extent});
  return true;
}

// [batch, Rows, columns] → [batch, columns, Rows] of few rows, as an image's planes become pixels: a thread has N columns.
template <class T, int N, int Rows>
struct Interleave {
  const Pack<T, N>* from;
  Pack<T, N>* to;
  Divisor by_packs;  // of a row
  RK_D void operator()(int64_t i) const {
    const uint32_t matrix = by_packs.divide(static_cast<uint32_t>(i)), packs = by_packs.value();
    const int64_t place = i - static_cast<int64_t>(matrix) * packs, base = static_cast<int64_t>(matrix) * packs * Rows;
    Pack<T, N> rows[Rows], pixels[Rows];
    for (int r = 0; r < Rows; ++r) rows[r] = from[base + static_cast<int64_t>(r) * packs + place];
    for (int j = 0; j < N * Rows; ++j) pixels[j / N].v[j % N] = rows[j % Rows].v[j / Rows];
    for (int r = 0; r < Rows; ++r) to[base + place * Rows + r] = pixels[r];
  }
};

// A batch of dense transposes of matrices of the source: `rows` by `columns`.
struct Transposes {
  bool dense = false;
  int64_t batch = 0, rows = 0, columns = 0;

  explicit Transposes(const Walk<2>& walk) {
    const int last = walk.rank() - 1;
    if (last < 1 || last > 2) return;
    rows = walk.extent(last), columns = walk.extent(last - 1);
    batch = last == 2 ? walk.extent(0) : 1;
    const int64_t matrix = rows * columns;
    dense = walk.stride(1, last) == 1 && walk.stride(1, last - 1) == rows && walk.stride(0, last - 1) == 1 && walk.stride(0, last) == columns &&
            (last == 1 || (walk.stride(0, 0) == matrix && walk.stride(1, 0) == matrix));
  }
};

// Runs it where it is transposes of so few rows, of whole packs.
template <int Rows, class T>
bool interleave(Stream& stream, const Transposes& t, const T* from, T* to) {
  constexpr int N = 16 / sizeof(T);
  if (!t.dense || t.rows != Rows || t.columns % N != 0 || t.batch * (t.columns / N) >= INT32_MAX) return false;
  using P = Pack<T, N>;
  for_each(stream, t.batch * (t.columns / N), Interleave<T, N, Rows>{reinterpret_cast<const P*>(from), reinterpret_cast<P*>(to), Divisor(t.columns / N)});
  return true;
}

#if !RK_CPU

constexpr int kTileColumns = 32, kTileRows = 8;  // threads of a block
template <class T>
constexpr int kTile = sizeof(T) > 8 ? 32 : 64;  // elements each way of a block: within 48 KiB

// [batch, rows, columns] → [batch, columns, rows], through shared memory so that both sides are read and written whole.
template <class T>
__global__ void __launch_bounds__(kTileColumns* kTileRows) transpose_kernel(const T* from, T* to, int rows, int columns) {
  constexpr int kPad = sizeof(T) < 4 ? 4 / sizeof(T) : 1;  // a column's elements lie in different banks
  constexpr int kSide = kTile<T>;
  __shared__ T tile[kSide][kSide + kPad];
  const int64_t base = static_cast<int64_t>(blockIdx.z) * rows * columns;
  const int left = static_cast<int>(blockIdx.x) * kSide;
  const int top = static_cast<int>(blockIdx.y) * kSide;
  sbk::wait_for_previous();
  sbk::let_next_start();
  const int x0 = static_cast<int>(threadIdx.x), y0 = static_cast<int>(threadIdx.y);
#pragma unroll
  for (int y = 0; y < kSide; y += kTileRows)
#pragma unroll
    for (int x = 0; x < kSide; x += kTileColumns)
      if (left + x0 + x < columns && top + y0 + y < rows)
        tile[y0 + y][x0 + x] = from[base + static_cast<int64_t>(top + y0 + y) * columns + left + x0 + x];
  __syncthreads();
#pragma unroll
  for (int y = 0; y < kSide; y += kTileRows)
#pragma unroll
    for (int x = 0; x < kSide; x += kTileColumns)
      if (top + x0 + x < rows && left + y0 + y < columns)
        to[base + static_cast<int64_t>(left + y0 + y) * rows + top + x0 + x] = tile[x0 + x][y0 + y];
}

// Runs it where it is transposes.
template <class T>
bool transpose(Stream& stream, const Transposes& t, const T* from, T* to) {
  constexpr int kSide = kTile<T>;
  const int64_t batch = t.batch, rows = t.rows, columns = t.columns;
  if (!t.dense) return false;
  if (batch > sbk::kMostBlocksAcross || (rows + kSide - 1) / kSide > sbk::kMostBlocksAcross ||
      (columns + kSide - 1) / kSide > sbk::most_blocks(kTileColumns) || columns > INT32_MAX || rows < 4 || columns < 4) return false;
  const dim3 grid(static_cast<uint32_t>((columns + kSide - 1) / kSide), static_cast<uint32_t>((rows + kSide - 1) / kSide),
                  static_cast<uint32_t>(batch));
  check(sbk::launch_overlapped(transpose_kernel<T>, grid, dim3(kTileColumns, kTileRows), 0, static_cast<hipStream_t>(stream.native()), from, to,
                               static_cast<int>(rows), static_cast<int>(columns)));
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
  const Transposes transposes(walk);
  if constexpr (sizeof(T) < 16) {
    if (aligned && (interleave<2, T>(stream, transposes, from, to) || interleave<3, T>(stream, transposes, from, to))) return;
  }
#if !RK_CPU
  if (transpose<T>(stream, transposes, from, to)) return;
#endif
  if constexpr (sizeof(T) < 16) {  // of which every line is whole packs
    if (move_lines<T>(stream, walk, from, to)) return;
  }
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
