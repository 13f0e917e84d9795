// Convolutions of 8-bit integers as products of matrices, for integer_product_kernels.hpp. Filters and images are packed before, as
// signed bytes: taps by channels, where an image's edge has the zero point as often as windows ask for it. So a window's K is read
// chunk by chunk without asking where the image ends.
#pragma once

#include "ops/quantized/conv_integer.hpp"
#include "ops/quantized/integer_product_kernels.hpp"

namespace rk {

// What is packed. A line of channels has 4 or 8 bytes or whole chunks; what is beyond the channels is 0.
struct PackedConv {
  static constexpr int kAxes = IntegerConv::kAxes;

  uint8_t *filters, *images;
  int32_t width;         // bytes of a pixel's channels
  int32_t taps, k;       // of a filter; its bytes, whole chunks
  int32_t extent[kAxes]; // of a packed image: all that its windows ask for
  int64_t area;          // their product
  Divisor by_width, by_extent[kAxes];

  explicit PackedConv(const IntegerConv& p) : filters(nullptr), images(nullptr) {
    const int32_t chunk = sbk::kVectorBytes;
    width = p.channels <= 4 ? 4 : p.channels <= 8 ? 8 : (p.channels + chunk - 1) / chunk * chunk;
    taps = p.k / std::max(p.channels, 1);
    k = (taps * width + chunk - 1) / chunk * chunk;
    area = 1;
    for (int i = 0; i < kAxes; ++i) {
      const int64_t reach = int64_t{p.out[i] - 1} * p.stride[i] + int64_t{p.kernel[i] - 1} * p.dilation[i] + 1;
      area = std::min(area, kMostBytes) * std::min(reach, kMostBytes);
      extent[i] = static_cast<int32_t>(std::min(reach, kMostBytes));
      by_extent[i] = Divisor(extent[i]);
    }
    by_width = Divisor(width);
  }
  static constexpr int64_t kMostBytes = INT32_MAX / 2;

  int64_t filter_bytes(const IntegerConv& p) const { return p.m * p.groups * k; }
  int64_t image_bytes(const IntegerConv& p) const { return std::min(p.batch * width, kMostBytes) * std::min(area, kMostBytes); }
  // 32 bits hold every place, and what is packed is not many times what there is.
  bool fits(const IntegerConv& p) const {
    constexpr int64_t kTimes = 64, kFree = 1 << 24;
    const int64_t own = p.batch * p.channels * p.area();
    return p.k < kMostBytes / 16 && p.batch * p.n <= kMostBytes && image_bytes(p) < std::min(kMostBytes, kTimes * own + kFree) &&
           filter_bytes(p) <= kMostBytes;
  }
};

// One word of the packed filters.
struct PackFilter {
  IntegerConv p;
  PackedConv packed_conv;
  Divisor by_words;

  RK_D void operator()(int64_t i) const {
    const auto at = static_cast<uint32_t>(i), filter = by_words.divide(at);
    const uint32_t byte = (at - filter * by_words.value()) * 4, tap = packed_conv.by_width.divide(byte), channel = byte - tap * static_cast<uint32_t>(packed_conv.width);
    const uint8_t* from = p.w + static_cast<int64_t>(filter) * p.k + tap;
    uint32_t word = 0;
    for (uint32_t c = 0; c < 4; ++c) {
      const uint32_t own = channel + c;
      if (tap >= static_cast<uint32_t>(packed_conv.taps) || own >= static_cast<uint32_t>(p.channels)) continue;
      word |= static_cast<uint32_t>(from[static_cast<int64_t>(own) * packed_conv.taps] ^ p.w_reader.flip_byte()) << 8 * c;
    }
    reinterpret_cast<uint32_t*>(packed_conv.filters)[i] = word;
  }
};

// Words of the packed images, Bytes bytes of one pixel; neighbouring threads take neighbouring pixels.
template <int Bytes>
struct PackImage {
  IntegerConv p;
  PackedConv packed_conv;
  Divisor by_area, by_parts;  // pixels, and what a pixel has of Bytes

  RK_D void operator()(int64_t i) const {
    const auto at = static_cast<uint32_t>(i), above = by_area.divide(at), pixel = at - above * by_area.value();
    const uint32_t matrix = by_parts.divide(above), part = above - matrix * by_parts.value();
    const uint32_t lines = packed_conv.by_extent[2].divide(pixel), deep = packed_conv.by_extent[1].divide(lines);
    const uint32_t place[PackedConv::kAxes] = {deep, lines - deep * packed_conv.by_extent[1].value(), pixel - lines * packed_conv.by_extent[2].value()};
    bool inside = true;
    int64_t offset = 0;
    for (int axis = 0; axis < PackedConv::kAxes; ++axis) {
      const int32_t own = static_cast<int32_t>(place[axis]) - p.pad[axis];
      inside = inside && own >= 0 && own < p.in[axis];
      offset = offset * p.in[axis] + own;
    }
    const auto edge = static_cast<uint8_t>(p.x_zero(0));
    const int64_t area = p.area();
    const uint8_t* from = p.x + static_cast<int64_t>(matrix) * p.channels * area + offset;
    sbk::Vec<uint32_t, Bytes / 4> words;
#pragma unroll
    for (int w = 0; w < Bytes / 4; ++w) {
      words.v[w] = 0;
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int32_t channel = static_cast<int32_t>(part) * Bytes + 4 * w + c;
        if (channel >= p.channels) continue;
        const uint8_t byte = inside ? from[channel * area] : edge;
        words.v[w] |= static_cast<uint32_t>(byte ^ p.x_reader.flip_byte()) << 8 * c;
      }
    }
    *reinterpret_cast<sbk::Vec<uint32_t, Bytes / 4>*>(packed_conv.images + (static_cast<int64_t>(matrix) * by_area.value() + pixel) * packed_conv.width + part * Bytes) = words;
  }
};

struct IntegerConvProduct {
  static constexpr bool kColumnsAcross = false;
  using Matrix = int64_t;  // a group
  using Rows = Lines;
  using Column = uint32_t;  // where a window begins, from `images` on
  using RawB = Chunk;
  struct OfRow {
    int64_t to;  // in y, from a window on
    int32_t zero, sum, bias, y_zero;
    float factor;
  };
  struct OfColumn {
    int64_t to;    // in y, from a filter on
    int32_t rest;  // the sum less zero points
  };

  IntegerConv p;
  PackedConv packed_conv;
  int64_t m, n, batch;
  int32_t k, x_zero_bytes;  // bytes of a window that have a zero point
  Divisor by_pixels;
  bool quads;  // four neighbouring windows are of one image, and lie in y on their boundaries
  uint32_t flip_a = 0, flip_b = 0;
  bool sums_a, sums_b;

  IntegerConvProduct(const IntegerConv& of, const PackedConv& by)
      : p(of), packed_conv(by), m(of.m), n(of.batch / of.groups * of.n), batch(of.groups), k(by.k), x_zero_bytes(of.k), by_pixels(of.n),
        quads(of.n % kQuad == 0 && aligned16(of.y)), sums_a(of.x_zero.data != nullptr || of.x_reader.flip_to_signed() != 0),
        sums_b(of.w_zeros.data != nullptr || of.w_reader.flip_to_signed() != 0) {}

  RK_INLINE Matrix matrix(int64_t i) const { return i; }
  RK_INLINE Rows rows(Matrix group, int64_t i) const { return Rows::of(packed_conv.filters + group * m * k, i, m, k); }
  RK_INLINE Column column(Matrix group, int64_t j) const {
    const auto index = static_cast<uint32_t>(j < n ? j : n - 1), image = by_pixels.divide(index), window = index - image * by_pixels.value();
    const uint32_t deep = p.by_out_plane.divide(window), within = window - deep * p.by_out_plane.value(), line = p.by_out_line.divide(within);
    const uint32_t place[PackedConv::kAxes] = {deep, line, within - line * p.by_out_line.value()};
    int64_t offset = image * static_cast<int64_t>(p.groups) + group;
    for (int i = 0; i < PackedConv::kAxes; ++i) offset = offset * packed_conv.extent[i] + static_cast<int64_t>(place[i]) * p.stride[i];
    return static_cast<uint32_t>(offset * packed_conv.width);
  }
  RK_INLINE Chunk fetch_a(const Rows& rows, int line, int32_t at) const { return rows.chunk(line, at, k, Alignment::chunk, 0); }
  template <int Each>
  RK_INLINE void fetch_b(Chunk (&raw)[Each], const Column (&columns)[Each], int32_t at) const {
    if (packed_conv.width == 4) return fetch<4>(raw, columns, at);
    if (packed_conv.width == 8) return fetch<8>(raw, columns, at);
    fetch<16>(raw, columns, at);
  }
  RK_INLINE OfRow of_row(Matrix group, int64_t i, int32_t sum) const {
    const auto filter = static_cast<uint32_t>(group * m + i);
    OfRow row{filter * p.n, p.w_zeros(filter) - p.w_reader.less_when_signed(), sum, 0, 0, 0.0f};
    if (!p.quantizes) return row;
    row.bias = p.bias != nullptr ? p.bias[filter] : 0;
    row.y_zero = p.y_zero(0);
    row.factor = p.factor(filter);
    return row;
  }
  RK_INLINE OfColumn of_column(Matrix, int64_t j, int32_t sum) const {
    const auto window = static_cast<uint32_t>(j < n ? j : n - 1), image = by_pixels.divide(window);
    const auto rest = static_cast<uint32_t>(sum) - static_cast<uint32_t>(x_zero_bytes) * static_cast<uint32_t>(x_zero());
    return {image * (p.groups * m * p.n) + (window - image * by_pixels.value()), static_cast<int32_t>(rest)};
  }
  RK_INLINE void store(Matrix, int64_t, int64_t j, const OfRow& row, const OfColumn (&columns)[kQuad], const int32_t* products) const {
    sbk::Vec<int32_t, kQuad> sums;
    sbk::Vec<uint8_t, kQuad> bytes;
    const int32_t zero = x_zero();
#pragma unroll
    for (int c = 0; c < kQuad; ++c) {
      sums.v[c] = product_less_zeros(products[c], row.zero, columns[c].rest, zero, row.sum);
      if (p.quantizes) bytes.v[c] = p.quantized_value(sums.v[c], row.bias, row.factor, row.y_zero);
    }
    if (quads) return put(row.to + columns[0].to, sums, bytes, kQuad);
#pragma unroll
    for (int c = 0; c < kQuad; ++c) {
      if (j + c >= n) continue;
      sums.v[0] = sums.v[c];
      bytes.v[0] = bytes.v[c];
      put(row.to + columns[c].to, sums, bytes, 1);
    }
  }

 private:
  RK_INLINE int32_t x_zero() const { return p.x_zero(0) - p.x_reader.less_when_signed(); }
  RK_INLINE void put(int64_t to, const sbk::Vec<int32_t, kQuad>& sums, const sbk::Vec<uint8_t, kQuad>& bytes, int64_t count) const {
    if (p.quantizes) store_quad(static_cast<uint8_t*>(p.y) + to, bytes, count, quads);
    else store_quad(static_cast<int32_t*>(p.y) + to, sums, count, quads);
  }
  // Bytes of a pixel that lie together.
  template <int Bytes, int Each>
  RK_INLINE void fetch(Chunk (&raw)[Each], const Column (&columns)[Each], int32_t at) const {
    using Words = sbk::Vec<uint32_t, Bytes / 4>;
    constexpr int kParts = sbk::kVectorBytes / Bytes;
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const auto byte = static_cast<uint32_t>(at + part * Bytes), tap = packed_conv.by_width.divide(byte);
      const bool exists = tap < static_cast<uint32_t>(packed_conv.taps);
      const uint32_t plane = p.by_plane.divide(tap), within = tap - plane * p.by_plane.value(), line = p.by_line.divide(within);
      const int32_t column = static_cast<int32_t>(within - line * p.by_line.value()) * p.dilation[2];
      const int32_t lines = static_cast<int32_t>(plane) * p.dilation[0] * packed_conv.extent[1] + static_cast<int32_t>(line) * p.dilation[1];
      const int32_t offset = (lines * packed_conv.extent[2] + column) * packed_conv.width + static_cast<int32_t>(byte - tap * static_cast<uint32_t>(packed_conv.width));
#pragma unroll
      for (int i = 0; i < Each; ++i) {
        Words words = {};
        if (exists) words = *reinterpret_cast<const Words*>(packed_conv.images + (columns[i] + static_cast<uint32_t>(offset)));
#pragma unroll
        for (int w = 0; w < Bytes / 4; ++w) raw[i].v[part * (Bytes / 4) + w] = words.v[w];
      }
    }
  }
};

// Packs filters and images in `memory`, which holds both, and enqueues the product.
inline void run_conv_product(Stream& stream, const IntegerConv& p, PackedConv packed_conv, void* memory) {
  const int64_t filter_bytes = packed_conv.filter_bytes(p), image_bytes = packed_conv.image_bytes(p);
  packed_conv.filters = static_cast<uint8_t*>(memory);
  packed_conv.images = packed_conv.filters + filter_bytes;
  for_each(stream, filter_bytes / 4, PackFilter{p, packed_conv, Divisor(packed_conv.k / 4)});
  const Divisor by_area(packed_conv.area);
  const auto pack = [&](auto pixel) {
    constexpr int kBytes = decltype(pixel)::value;
    for_each(stream, image_bytes / kBytes, PackImage<kBytes>{p, packed_conv, by_area, Divisor(packed_conv.width / kBytes)});
  };
  if (packed_conv.width == 4) pack(std::integral_constant<int, 4>{});
  else if (packed_conv.width == 8) pack(std::integral_constant<int, 8>{});
  else pack(std::integral_constant<int, sbk::kVectorBytes>{});
  run_integer_product(stream, IntegerConvProduct(p, packed_conv));
}

}  // namespace rk
