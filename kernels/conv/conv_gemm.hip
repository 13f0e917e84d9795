#include "conv/conv_gemm.hpp"

#include <algorithm>

#include "conv/conv_pack_kernels.hpp"
#include "conv/conv_wgmma.hpp"

namespace sbk::conv_detail {
namespace {

constexpr int kGeneralTiles = 5;  // of float16, for every target
constexpr int64_t kLimit = INT32_MAX / 2;  // places in the input are 32 bits, those of padding pixels included

struct Sizes {
  int64_t merged_groups;                  // groups that become one
  int64_t groups, c, k, padded_channels;  // those that there are then, and channels of one
  int64_t own_c, own_k;              // channels of the convolution's own groups
  int64_t d, h, w, od, oh, ow, q, r, s, rows;  // absent axes are 1; the width is the last
  int32_t vector;                    // bytes of channels copied at a time

  int64_t area() const { return d * h * w; }
  int64_t taps() const { return q * r * s; }
};

// Groups narrower than a tile become one group of its width, whose filters hold zeros for each other's channels: the same
// tiles multiply, with fewer of them, and channels are read in whole vectors.
int64_t merged_groups(const ConvParams& p, int64_t taps) {
  constexpr int64_t kTile = 32, kMost = 64;
  const int64_t c = p.in_channels / p.groups, k = p.out_channels / p.groups;
  if (p.groups == 1 || !(c < 8 || k < 16 || (taps > 1 && c < kTile && k < kTile))) return 1;
  // Hopper's copy engine takes float16 in stages of 64 channels.
  const int64_t least_rows = SBK_NVIDIA && p.dtype == DataType::float16 ? 2 * kTile : kTile;
  int64_t best = 1;
  for (int64_t m = 1; m <= std::min(p.groups, kMost); ++m) {
    if (p.groups % m != 0) continue;
    best = m;
    if (m * k >= least_rows && m * c >= least_rows) break;
  }
  return best;
}

// A convolution without a window is the same over one axis of all pixels.
ConvParams without_axes(const ConvParams& p) {
  bool plain = p.spatial == kConvMaxSpatial;
  for (int i = 0; i < p.spatial; ++i) plain = plain && p.kernel[i] == 1 && p.stride[i] == 1 && p.pad_begin[i] == 0 && p.in[i] == p.out[i];
  if (!plain) return p;
  ConvParams q = p;
  q.spatial = 1;
  q.in[0] = q.out[0] = p.in[0] * p.in[1] * p.in[2];
  return q;
}

// Where channels are few, a line's taps may become channels: the same convolution of images that have, at each output column,
// the channels of all that the window has in a line. What is packed then has no zeros beside each pixel's few channels.
bool may_fold(const ConvParams& p) {
  constexpr int64_t kFew = 4;
  const ConvParams t = with_three_axes(p);
  if (p.groups != 1 || p.in_channels > kFew || t.kernel[2] == 1) return false;
  for (const int64_t taps : t.kernel) {
    if (taps > kMaxTaps) return false;
  }
  return p.out_channels < kLimit / (t.kernel[0] * t.kernel[1] * (t.kernel[2] + 2) * kFew);  // packed filters
}

ConvParams folded_params(const ConvParams& p) {
  ConvParams q = with_three_axes(p);
  q.in_channels *= q.kernel[2];
  q.in[2] = q.out[2];
  q.kernel[2] = q.stride[2] = q.dilation[2] = 1;
  q.pad_begin[2] = 0;
  return q;
}

// On Hopper the copy engine reads pixels that overlap, so that the values of a line's taps, which lie side by side where an image has
// few channels, are channels without being written again and again: the image is packed once, with kWindowChannels values a pixel
// and zeros beside its lines. A pixel of what is multiplied begins at each column's first tap, on a whole vector. The engine reads so
// many pixels in a time, however short (265 in a microsecond for each of an H200's multiprocessors). So neighbouring columns become one
// pixel, whose filters are theirs, each moved by a stride: where channels are last, their outputs are neighbours as well. An infinity or
// NaN then meets the zeros behind another column's taps, as it does where groups are merged: a sum that is not a number is made again.
constexpr int64_t kWindowChannels = 4;

struct WindowLines {
  int64_t together;  // columns that are one
  int64_t taps;      // of their line
  int64_t pixels;    // of a line, with the zeros beside it

  int64_t values() const { return taps * kWindowChannels; }
};

WindowLines window_lines(const ConvParams& p) {
  constexpr int64_t kTogether = 4, kMostOutputs = 128, kLanes = lanes_of<__half>();  // with 256 outputs the products cost more than it brings
  const ConvParams t = with_three_axes(p);
  const int64_t step = kTogether * t.stride[2];  // a line is whole vectors, and whole steps from column to column
  const bool apart = p.residual == nullptr || p.residual != p.y;
  const bool at_once = p.batch * t.in[1] * t.out[2] * (t.kernel[2] + step) * kWindowChannels < kLimit;
  const bool fits = apart && at_once && p.layout == Layout::channels_last && p.out_channels % kLanes == 0 && t.out[2] % kTogether == 0;
  const int64_t together = fits && kTogether * p.out_channels <= kMostOutputs ? kTogether : 1;
  return {together, t.kernel[2] + (together - 1) * t.stride[2], ceil_div((t.out[2] - 1) * t.stride[2] + t.kernel[2], step) * step};
}

ConvParams window_params(const ConvParams& p) {
  constexpr int64_t kLeast = 16;  // channels that the engine's tiles take
  const WindowLines lines = window_lines(p);
  ConvParams q = folded_params(p);
  q.in_channels = std::max(ceil_div(lines.values(), lanes_of<__half>()) * lanes_of<__half>(), kLeast);
  q.out_channels *= lines.together;
  q.in[2] = q.out[2] /= lines.together;
  return q;
}

Sizes sizes_of(const ConvParams& params) {
  const ConvParams p = with_three_axes(without_axes(params));
  Sizes z{};
  z.d = p.in[0], z.h = p.in[1], z.w = p.in[2];
  z.od = p.out[0], z.oh = p.out[1], z.ow = p.out[2];
  z.q = p.kernel[0], z.r = p.kernel[1], z.s = p.kernel[2];
  z.merged_groups = merged_groups(p, z.taps());
  z.groups = p.groups / z.merged_groups;
  z.own_c = p.in_channels / p.groups;
  z.own_k = p.out_channels / p.groups;
  z.c = z.own_c * z.merged_groups;
  z.k = z.own_k * z.merged_groups;
  // Images have three channels: eight of float16 would multiply mostly zeros.
  z.vector = p.dtype == DataType::float16 && z.c <= 4 && z.groups == 1 && z.d == 1 && z.q == 1 ? kVectorBytes / 2 : kVectorBytes;
  const int64_t lanes = z.vector / static_cast<int64_t>(size_of(p.dtype));
  z.padded_channels = ceil_div(z.c, lanes) * lanes;
  z.rows = p.batch * z.od * z.oh * z.ow;
  return z;
}

// Images at a time, so that places and rows stay in 32 bits: in eights, which start on whole vectors, or one by one. 0 where one
// is too many.
int64_t images_at_once(const ConvParams& p, const Sizes& z) {
  if (p.batch == 0) return 0;
  const int64_t image = std::max({z.rows / p.batch, z.area() * z.padded_channels * z.groups, int64_t{1}});
  const int64_t most = (kLimit - 1) / image;
  return most >= p.batch ? p.batch : most > 8 ? most / 8 * 8 : std::min<int64_t>(most, 1);
}

// Values of K, zeros included.
int64_t depth_of(const ConvParams& p) {
  const Sizes z = sizes_of(p);
  return z.taps() * z.padded_channels;
}

// Half the products or fewer. What is packed may have more values then, as windows overlap: with three channels that cost more than it
// brought on an H200 (docs/appendix/kernels-notes.md).
bool prefers_fold(const ConvParams& p) { return 2 * depth_of(folded_params(p)) <= depth_of(p); }

int variants_as(const ConvParams& p);
bool may_window(const ConvParams& p);

// What becomes of lines before they are multiplied.
enum class Lines { whole, folded, windows };

// A convolution as it is multiplied. The whole batch's is that of each part of it, as the workspace and its flag are.
struct GemmForm {
  ConvParams p;
  Lines lines = Lines::whole;
};

// The variants of the folded form come behind the others, and those of windows behind these.
GemmForm gemm_form(const ConvParams& p) {
  if (p.choosing == ConvChoosing::unfolded || !may_fold(p)) return {p};
  if (p.variant == 0) {
    if (may_window(p)) return {window_params(p), Lines::windows};
    return prefers_fold(p) ? GemmForm{folded_params(p), Lines::folded} : GemmForm{p};
  }
  const int whole = variants_as(p);
  if (p.variant <= whole) return {p};
  GemmForm shape{folded_params(p), Lines::folded};
  shape.p.variant -= whole;
  const int of_folded = variants_as(folded_params(p));
  if (shape.p.variant <= of_folded || !may_window(p)) return shape;  // a number beyond the last leaves the choice to the tiles' cost
  shape = {window_params(p), Lines::windows};
  shape.p.variant = p.variant - whole - of_folded + kGeneralTiles;
  return shape;
}

template <class T, int N>
Status pack_narrow(const Pack& p, bool from_last, hipStream_t stream) {
  const int64_t items = std::min<int64_t>(p.items, kMostBlocksAcross);
  const dim3 grid(static_cast<uint32_t>(ceil_div(p.area, kPackThreads)), static_cast<uint32_t>(items));
  if (from_last) return launch_overlapped(conv_pack_narrow<T, N, true>, grid, dim3(kPackThreads), 0, stream, p);
  return launch_overlapped(conv_pack_narrow<T, N, false>, grid, dim3(kPackThreads), 0, stream, p);
}

// Whether a thread makes a pixel's channels at once.
template <class T>
bool is_narrow(const Pack& p) {
  const int64_t total = static_cast<int64_t>(p.groups) * p.padded_channels;
  return (total == 4 && sizeof(T) == 2) || ((total == 4 || total == 8) && p.area >= kPackThreads);
}

// Channels side by side in a tile: the width that leaves fewer of them empty. 0 where the area is less than a tile's.
template <class T>
int pack_words(const Pack& p) {
  const int64_t total = static_cast<int64_t>(p.groups) * p.padded_channels;
  if (p.area < PackTile<T, 32>::kArea) return 0;
  return ceil_div(total, PackTile<T, 16>::kChannels) % 2 == 0 ? 32 : 16;
}

// The blocks of pack_few, or of pack_planes with so many words.
template <class T>
PackBlock pack_blocks(Pack* p, int words) {
  constexpr int64_t kLanes = lanes_of<T>();
  const int64_t total = static_cast<int64_t>(p->groups) * p->padded_channels;
  const auto items = static_cast<uint32_t>(std::min<int64_t>(p->items, kMostBlocksAcross));
  const auto down = static_cast<uint32_t>(ceil_div(total, words == 16 ? PackTile<T, 16>::kChannels : PackTile<T, 32>::kChannels));
  if (words > 0) return {0, 0, 0, static_cast<uint32_t>(ceil_div(p->area, words == 16 ? PackTile<T, 16>::kArea : PackTile<T, 32>::kArea)), down, items};
  const int64_t most = std::min(std::max<int64_t>(kPackBytes / kVectorBytes / p->area, 1) * kLanes, total), chunks = ceil_div(total, most);
  p->chunk = static_cast<int32_t>(ceil_div(ceil_div(total, chunks), kLanes) * kLanes);  // all of about the same length
  return {0, 0, 0, static_cast<uint32_t>(ceil_div(total, p->chunk)), items, 1};
}

constexpr const char* kManyChannels = "conv: more channels than one launch takes";

// `p` without what this works out.
template <class T>
Status pack(Pack p, bool from_last, hipStream_t stream) {
  constexpr int64_t kLanes = lanes_of<T>();
  const int64_t total = static_cast<int64_t>(p.groups) * p.padded_channels, items = std::min<int64_t>(p.items, kMostBlocksAcross);
  p.aligned = aligned_to(p.from, kVectorBytes);
  if (is_narrow<T>(p)) return total == 8 ? pack_narrow<T, 8>(p, from_last, stream) : pack_narrow<T, 4>(p, from_last, stream);
  if (from_last) {
    const dim3 grid(static_cast<uint32_t>(ceil_div(p.area * (total / kLanes), kPackThreads)), static_cast<uint32_t>(items));
    return launch_overlapped(conv_pack_last<T>, grid, dim3(kPackThreads), 0, stream, p);
  }
  const int words = pack_words<T>(p);
  const PackBlock blocks = pack_blocks<T>(&p, words);
  if (blocks.down > kMostBlocksAcross) return unsupported_status(kManyChannels);
  const auto kernel = words == 32 ? conv_pack_first<T, 32> : words == 16 ? conv_pack_first<T, 16> : conv_pack_first<T, 0>;
  return launch_overlapped(kernel, dim3(blocks.across, blocks.down, blocks.deep), dim3(kPackThreads), 0, stream, p);
}

// An image and its filters, both with channels first. Where one launch takes both, a second is spared.
template <class T>
Status pack_both(Pack x, Pack w, hipStream_t stream) {
  x.aligned = aligned_to(x.from, kVectorBytes), w.aligned = aligned_to(w.from, kVectorBytes);
  const int words = pack_words<T>(x);
  const PackBlock image = pack_blocks<T>(&x, words), filter = pack_blocks<T>(&w, 0);
  const int64_t blocks = static_cast<int64_t>(image.across) * image.down * image.deep + static_cast<int64_t>(filter.across) * filter.down;
  if (is_narrow<T>(x) || is_narrow<T>(w) || pack_words<T>(w) > 0 || blocks > most_blocks(kPackThreads)) {
    SBK_TRY(pack<T>(x, false, stream));
    return pack<T>(w, false, stream);
  }
  const auto kernel = words == 32 ? conv_pack_both<T, 32> : words == 16 ? conv_pack_both<T, 16> : conv_pack_both<T, 0>;
  return launch_overlapped(kernel, dim3(static_cast<uint32_t>(blocks)), dim3(kPackThreads), 0, stream, x, w, filter, image);
}

int64_t form_of(const ConvParams& p, const Sizes& z, Lines lines) {
  const int64_t together = lines == Lines::windows ? window_lines(p).together : 1;
  return together << 48 | z.padded_channels << 16 | z.merged_groups << 8 | static_cast<int64_t>(lines) << 1 | 1;
}

// An image's lines, or a filter's (which have one output column: all their taps).
Fold fold_of(const void* from, void* to, const ConvParams& p, bool last, bool filter, int64_t padded_channels, int64_t lanes) {
  const ConvParams t = with_three_axes(p);
  const auto i32 = [](int64_t v) { return static_cast<int32_t>(v); };
  const int64_t width = filter ? t.kernel[2] : t.in[2], out = filter ? 1 : t.out[2];
  const int64_t lines = filter ? t.kernel[0] * t.kernel[1] : t.in[0] * t.in[1], items = filter ? p.out_channels : p.batch;
  Fold f{};
  f.from = from, f.to = to;
  f.vectors = i32(items * lines * out * (padded_channels / lanes));
  f.width = i32(width), f.channels = f.tap_channels = i32(p.in_channels), f.taps = i32(t.kernel[2]);
  f.stride = i32(t.stride[2]), f.dilation = filter ? 1 : i32(t.dilation[2]), f.pad = filter ? 0 : i32(t.pad_begin[2]);
  f.item = p.in_channels * lines * width, f.line = last ? width * p.in_channels : width;
  f.pixel = last ? i32(p.in_channels) : 1, f.channel = last ? 1 : lines * width;
  f.by_vector = FastDivisor(static_cast<uint32_t>(padded_channels / lanes)), f.by_column = FastDivisor(static_cast<uint32_t>(out));
  f.by_line = FastDivisor(static_cast<uint32_t>(lines)), f.by_channel = FastDivisor(static_cast<uint32_t>(p.in_channels));
  return f;
}

// The lines of window_lines, a vector of two pixels at a time.
Fold window_image(const ConvParams& p, void* to) {
  constexpr int64_t kPixels = lanes_of<__half>() / kWindowChannels;
  Fold f = fold_of(p.x, to, p, p.layout == Layout::channels_last, false, lanes_of<__half>(), lanes_of<__half>());
  const int64_t columns = window_lines(p).pixels / kPixels;
  f.vectors = static_cast<int32_t>(p.batch * with_three_axes(p).in[1] * columns);
  f.by_column = FastDivisor(static_cast<uint32_t>(columns)), f.by_channel = FastDivisor(kWindowChannels);
  f.tap_channels = kWindowChannels, f.taps = f.stride = kPixels, f.dilation = 1;
  return f;
}

// Of the `number`th of the columns that are one.
Fold window_filter(const ConvParams& p, const Sizes& z, void* to, int64_t number) {
  const ConvParams t = with_three_axes(p);
  auto* own = static_cast<__half*>(to) + number * p.out_channels * t.kernel[1] * z.padded_channels;
  Fold f = fold_of(p.w, own, p, p.filter_layout == FilterLayout::channels_last, true, z.padded_channels, lanes_of<__half>());
  f.tap_channels = kWindowChannels, f.by_channel = FastDivisor(kWindowChannels);
  f.pad = static_cast<int32_t>(number * t.stride[2]), f.taps = static_cast<int32_t>(window_lines(p).taps);
  return f;
}

// Folds what has vectors to make, an image and filters, in one launch.
template <class T, int N>
Status fold(const Fold& image, const Fold& filter, hipStream_t stream) {
  const int64_t filter_blocks = ceil_div(filter.vectors, kPackThreads), blocks = filter_blocks + ceil_div(image.vectors, kPackThreads);
  if (blocks > most_blocks(kPackThreads)) return unsupported_status("conv: more to pack than one launch takes");
  return launch_overlapped(conv_fold<T, N>, dim3(static_cast<uint32_t>(blocks)), dim3(kPackThreads), 0, stream, image, filter,
                           static_cast<uint32_t>(filter_blocks));
}

template <class T>
Status fold_both(const ConvParams& p, Lines lines, const Sizes& z, void* to_x, void* to_w, int32_t* flag, hipStream_t stream) {
  const int64_t lanes = z.vector / static_cast<int64_t>(sizeof(T));
  Fold image{}, filter{};
  if (lines == Lines::windows) {
    for (int64_t i = 1; to_w != nullptr && i < window_lines(p).together; ++i) SBK_TRY((fold<T, lanes_of<T>()>({}, window_filter(p, z, to_w, i), stream)));
    if (to_x != nullptr) image = window_image(p, to_x), image.flag = flag;
    if (to_w != nullptr) filter = window_filter(p, z, to_w, 0);
    return fold<T, lanes_of<T>()>(image, filter, stream);
  }
  if (to_x != nullptr) image = fold_of(p.x, to_x, p, p.layout == Layout::channels_last, false, z.padded_channels, lanes);
  if (to_w != nullptr) filter = fold_of(p.w, to_w, p, p.filter_layout == FilterLayout::channels_last, true, z.padded_channels, lanes);
  if constexpr (sizeof(T) == 2) {
    if (z.vector < kVectorBytes) return fold<T, lanes_of<T>() / 2>(image, filter, stream);
  }
  return fold<T, lanes_of<T>()>(image, filter, stream);
}

Pack filter_pack(const ConvParams& p, const Sizes& z, void* to) {
  const auto i32 = [](int64_t v) { return static_cast<int32_t>(v); };
  return {p.w, to, p.out_channels, i32(z.taps()), 1, i32(z.own_c), i32(z.padded_channels), i32(z.merged_groups), i32(z.own_k), nullptr, 0, false};
}

int32_t* flag_of(const GemmNeeds& needs, const Launch& launch) {
  return needs.flag == 0 ? nullptr : reinterpret_cast<int32_t*>(static_cast<char*>(launch.workspace) + needs.flag_at());
}

// Packs what needs it into the workspace and returns where input and filters are. `z`: of `p` as it is multiplied; `needs`: of the whole
// batch.
template <class T>
Status prepare(const ConvParams& p, Lines lines, const Sizes& z, const GemmNeeds& needs, const Launch& launch, const void** x, const void** w) {
  const auto stream = static_cast<hipStream_t>(launch.stream);
  if (launch.workspace_bytes < needs.bytes() || (launch.workspace == nullptr && needs.bytes() > 0)) {
    return {Code::workspace_too_small, "conv: workspace is smaller than conv_workspace_bytes"};
  }
  void* const to_x = launch.workspace;
  void* const to_w = static_cast<char*>(launch.workspace) + needs.filter_at();
  const bool packs_x = needs.input > 0, packs_w = needs.filter > 0;
  *x = packs_x ? to_x : p.x;
  *w = packs_w ? to_w : needs.packed_weights ? p.packed_weights : p.w;
  if (lines != Lines::whole) return fold_both<T>(p, lines, z, to_x, packs_w ? to_w : nullptr, flag_of(needs, launch), stream);
  const auto i32 = [](int64_t v) { return static_cast<int32_t>(v); };
  Pack image{p.x, to_x, p.batch, i32(z.area()), i32(z.groups), i32(z.c), i32(z.padded_channels), 1, 1, nullptr, 0, false};
  Pack filter = filter_pack(p, z, to_w);
  (packs_w ? filter : image).flag = flag_of(needs, launch);
  const bool image_last = p.layout == Layout::channels_last, filter_last = p.filter_layout == FilterLayout::channels_last;
  if (packs_x && packs_w && !image_last && !filter_last) return pack_both<T>(image, filter, stream);
  if (packs_x) SBK_TRY(pack<T>(image, image_last, stream));
  return packs_w ? pack<T>(filter, filter_last, stream) : Status{};
}

template <class T>
GemmConv describe(const ConvParams& params, const Sizes& z, const void* x, const void* w) {
  const ConvParams p = with_three_axes(without_axes(params));
  const int64_t lanes = z.vector / static_cast<int64_t>(sizeof(T));
  const auto i32 = [](int64_t v) { return static_cast<int32_t>(v); };
  const auto u32 = [](int64_t v) { return static_cast<uint32_t>(v); };
  GemmConv g{};
  g.x = x;
  g.w = w;
  g.bias = p.bias;
  g.residual = p.residual;
  g.y = p.y;
  g.D = i32(z.d);
  g.Q = i32(z.q);
  g.H = i32(z.h);
  g.W = i32(z.w);
  g.C = i32(z.padded_channels);
  g.K = i32(z.k);
  g.R = i32(z.r);
  g.S = i32(z.s);
  g.x_channels = g.x_values = g.x_pixel = i32(z.padded_channels * z.groups);
  g.x_line = i32(z.w * z.padded_channels * z.groups);
  g.y_channels = i32(p.out_channels);
  g.together = 1;
  for (int i = 0; i < 2; ++i) {
    g.stride[i] = i32(p.stride[i + 1]), g.dilation[i] = i32(p.dilation[i + 1]), g.pad[i] = i32(p.pad_begin[i + 1]);
  }
  g.deep_stride = i32(p.stride[0]), g.deep_dilation = i32(p.dilation[0]), g.deep_pad = i32(p.pad_begin[0]);
  g.rows = i32(z.rows);
  g.k_vectors = i32(z.taps() * z.padded_channels / lanes);
  g.image = FastDivisor(u32(z.od * z.oh * z.ow));
  g.plane = FastDivisor(u32(z.oh * z.ow));
  g.line = FastDivisor(u32(z.ow));
  g.tap = FastDivisor(u32(z.padded_channels / lanes));
  g.tap_line = FastDivisor(u32(z.s));
  g.tap_plane = FastDivisor(u32(z.r * z.s));
  g.channels_last = p.layout == Layout::channels_last;
  const bool near = 8 * p.out_channels <= INT32_MAX;  // Hopper's whole vectors are written eight rows apart, with a 32-bit distance
  g.aligned = near && aligned_to(p.y, kVectorBytes) && aligned_to(p.residual, kVectorBytes) && aligned_to(p.bias, kVectorBytes);
  g.activation = p.activation;
  return g;
}

// Of the images [first, first + count).
GemmConv images_of(const GemmConv& g, int64_t element, int64_t first, int64_t count) {
  const int64_t pixels = g.image.divisor();
  const auto past = [&](const void* data, int64_t values) {
    return data == nullptr ? nullptr : static_cast<const char*>(data) + values * element;
  };
  GemmConv part = g;
  part.rows = static_cast<int32_t>(count * pixels);
  part.x = past(g.x, first * g.D * g.H * g.W * g.x_channels);
  part.residual = past(g.residual, first * pixels * g.y_channels);
  part.y = const_cast<char*>(past(g.y, first * pixels * g.y_channels));
  part.aligned = g.aligned && aligned_to(part.y, kVectorBytes) && aligned_to(part.residual, kVectorBytes);
  return part;
}

// As many images at a time as one launch takes.
template <class Shape>
Status enqueue(const GemmConv& g, int64_t groups, hipStream_t stream) {
  const int64_t pixels = g.image.divisor(), most_rows = most_blocks(Shape::kThreads) / ceil_div(g.K, Shape::kN) * Shape::kM;
  const int64_t most = g.rows <= most_rows ? g.rows : most_rows / pixels;
  return in_parts(g.rows / pixels, std::max<int64_t>(most, 1), [&](int64_t first, int64_t count) {
    const GemmConv part = images_of(g, sizeof(typename Shape::Type), first, count);
    return enqueue_tiles<Shape>(conv_gemm<Shape>, Shape::kThreads, 0, part, groups, 1, stream);
  });
}

// Tiles that a multiprocessor works through, weighed by their size and by how well a tile of that size keeps the matrix
// units busy (relative rates, measured on an H200 with tools/conv_ways.py).
double cost(const GemmConv& g, int64_t groups, int64_t units, const GemmTile& tile) {
  const int64_t blocks = ceil_div(g.rows, tile.m) * ceil_div(g.K, tile.n) * groups;
  const double turns = static_cast<double>(blocks) / static_cast<double>(units);
  return (turns < 1.0 ? 1.0 : turns) * static_cast<double>(tile.m * tile.n) / tile.rate;
}

// Waves that share a tile's sums gain nothing along a short K of which a device has tiles enough (float32 on an H200: 64×32 takes 0.67 to
// 0.79 of the time of 32×32).
template <class T>
GemmTile with_rate(const GemmConv& g, int64_t groups, int64_t units, const GemmTile& tile) {
  constexpr int32_t kShort = 64;  // vectors
  constexpr double kShared = 0.5;
  if (!SBK_NVIDIA || sizeof(T) != 4 || tile.m != 32 || g.k_vectors > kShort) return tile;
  return ceil_div(g.rows, tile.m) * ceil_div(g.K, tile.n) * groups >= 16 * units ? GemmTile{tile.m, tile.n, kShared} : tile;
}

// `p` as it is, `q` as it is multiplied.
template <class T>
GemmConv describe_form(const ConvParams& p, const GemmForm& shape, const Sizes& z, const void* x, const void* w) {
  GemmConv g = describe<T>(shape.p, z, x, w);
  if (shape.lines != Lines::windows) return g;
  const WindowLines lines = window_lines(p);
  g.x_values = static_cast<int32_t>(lines.values());
  g.x_pixel = static_cast<int32_t>(lines.together * with_three_axes(p).stride[2] * kWindowChannels);
  g.together = static_cast<int32_t>(lines.together), g.by_own = FastDivisor(static_cast<uint32_t>(p.out_channels));
  g.x_line = static_cast<int32_t>(lines.pixels * kWindowChannels);
  return g;
}

#if SBK_NVIDIA
constexpr int kSlabs = 4, kStages = 3, kParts = 4;
#else
constexpr int kSlabs = 2, kStages = 2, kParts = 2;
#endif

template <class T, bool Deep>
struct Tiles {
  static constexpr int kCount = kGeneralTiles;
  static constexpr GemmTile kList[kCount] = {{64, 32, 0.69}, {64, 64, 0.95}, {128, 64, 1.1}, {128, 128, 1.3}, {32, 32, 0.57}};
  // use(shape) of a tile, for `k_vectors` along K.
  template <class F>
  static auto with(int tile, [[maybe_unused]] int64_t k_vectors, F use) {
    if (tile == 0) return use(GemmShape<T, 64, 32, 128, 2, kSlabs, kStages, kVectorBytes, false, 1, Deep>{});
    if (tile == 1) return use(GemmShape<T, 64, 64, 128, 2, kSlabs, kStages, kVectorBytes, false, 1, Deep>{});
    if (tile == 2) return use(GemmShape<T, 128, 64, 256, 4, kSlabs, kStages, kVectorBytes, false, 1, Deep>{});
    if (tile == 3) return use(GemmShape<T, 128, 128, 256, 2, kSlabs, kStages, kVectorBytes, false, 1, Deep>{});
    return use(GemmShape<T, 32, 32, 128, 1, kSlabs, kStages, kVectorBytes, false, kParts, Deep>{});
  }
};

#if SBK_NVIDIA
// float32 there is three tf32 products: splitting operands costs registers, and larger tiles leave too few waves. Where
// K is long, adding the sums of two slabs at a time wins; where it is short, the waves that those registers cost.
template <bool Deep>
struct Tiles<float, Deep> {
  static constexpr int kCount = 3;
  static constexpr GemmTile kList[kCount] = {{64, 32, 0.6}, {64, 64, 1.0}, {32, 32, 0.97}};
  static constexpr int kLong = 16;  // vectors: two stages
  template <class F>
  static auto with(int tile, int64_t k_vectors, F use) {
    if (tile == 0) return use(GemmShape<float, 64, 32, 128, 2, kSlabs, kStages, kVectorBytes, false, 1, Deep>{});
    if (tile == 2) return use(GemmShape<float, 32, 32, 128, 1, kSlabs, kStages, kVectorBytes, false, kParts, Deep>{});
    if (k_vectors <= kLong) return use(GemmShape<float, 64, 64, 128, 2, kSlabs, kStages, kVectorBytes, false, 1, Deep>{});
    return use(GemmShape<float, 64, 64, 128, 2, kSlabs, kStages, kVectorBytes, true, 1, Deep>{});
  }
};
#endif

// Of float16 images with few channels, copied half a vector at a time.
using NarrowShape = GemmShape<__half, 128, 64, 256, 4, 2, kStages, kVectorBytes / 2>;

// Whether the device has the shared memory for a tile. Hopper's, behind the others in the list, are made for its own.
template <class T>
bool has_room(int tile, const GemmConv& g, const DeviceFacts& device) {
  if (tile >= Tiles<T, false>::kCount) return true;  // a deep tile takes as much
  return Tiles<T, false>::with(tile, g.k_vectors, [&](auto shape) { return most_shared_bytes<decltype(shape)>(device.wave) <= device.shared; });
}

// The general kernels' tiles and, for float16 on Hopper, wgmma's after them.
template <class T>
int tiles_of(const GemmConv& g, GemmTile (&tiles)[kMaxGemmTiles]) {
  int count = 0;
  for (const GemmTile& tile : Tiles<T, false>::kList) tiles[count++] = tile;
  if constexpr (sizeof(T) == 2) {
    count += wgmma_tiles(g, tiles + count);
  }
  return count;
}

// The place in the list of the tile that `variant` names, or else of the cheapest that the device has room for; -1 where it
// has for none.
template <class T>
int choose_tile(const GemmConv& g, int64_t groups, int variant, const DeviceFacts& device) {
  GemmTile tiles[kMaxGemmTiles];
  const int count = tiles_of<T>(g, tiles);
  if (variant > 0 && variant <= count) return has_room<T>(variant - 1, g, device) ? variant - 1 : -1;
  // Of wgmma's alone, where there are any: their rates have a scale of their own.
  int best = -1;
  constexpr int kGeneral = Tiles<T, false>::kCount;
  for (int i = count > kGeneral ? kGeneral : 0; i < count; ++i) {
    if (!has_room<T>(i, g, device)) continue;
    if (i < kGeneral) tiles[i] = with_rate<T>(g, groups, device.units, tiles[i]);
    if (best < 0 || cost(g, groups, device.units, tiles[i]) < cost(g, groups, device.units, tiles[best])) best = i;
  }
  return best;
}

template <class T>
Status launch_gemm(const GemmConv& g, int64_t groups, int variant, hipStream_t stream) {
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  const int tile = choose_tile<T>(g, groups, variant, device);
  if (tile < 0) return unsupported_status("conv: the device has too little shared memory (LDS) for a tile");
  if (tile >= Tiles<T, false>::kCount) return launch_wgmma(g, groups, tile - Tiles<T, false>::kCount, stream);
  const auto use = [&](auto shape) { return enqueue<decltype(shape)>(g, groups, stream); };
  if (is_deep(g)) return Tiles<T, true>::with(tile, g.k_vectors, use);
  return Tiles<T, false>::with(tile, g.k_vectors, [&](auto shape) { return enqueue<decltype(shape)>(g, groups, stream); });
}

// `shape` and `needs`: the whole batch's, of which `p` is a part.
template <class T>
Status run(const ConvParams& p, GemmForm shape, const GemmNeeds& needs, const Launch& launch) {
  shape.p.batch = p.batch, shape.p.x = p.x, shape.p.residual = p.residual, shape.p.y = p.y;
  const Sizes z = sizes_of(shape.p);
  const void* x = nullptr;
  const void* w = nullptr;
  SBK_TRY(prepare<T>(p, shape.lines, z, needs, launch, &x, &w));
  GemmConv g = describe_form<T>(p, shape, z, x, w);
  g.odd = flag_of(needs, launch);
  const auto stream = static_cast<hipStream_t>(launch.stream);
  if constexpr (sizeof(T) == 2) {
    if (z.vector < kVectorBytes) return enqueue<NarrowShape>(g, z.groups, stream);
  }
  return launch_gemm<T>(g, z.groups, shape.p.variant, stream);
}

// Of the images [first, first + count).
ConvParams part_of(const ConvParams& p, int64_t first, int64_t count) {
  int64_t in = p.in_channels, out = p.out_channels;
  for (int i = 0; i < p.spatial; ++i) in *= p.in[i], out *= p.out[i];
  const auto past = [&](const void* data, int64_t values) {
    return data == nullptr ? nullptr : static_cast<const char*>(data) + first * values * static_cast<int64_t>(size_of(p.dtype));
  };
  ConvParams part = p;
  part.batch = count;
  part.x = past(p.x, in);
  part.residual = past(p.residual, out);
  part.y = const_cast<char*>(past(p.y, out));
  return part;
}

// Whether places, taps and groups are such as the kernels take. `p`: as it is multiplied.
bool fits(const ConvParams& p) {
  if (sums_nothing(p) || p.batch == 0) return false;  // and may have no taps to divide by
  const Sizes z = sizes_of(p);
  return images_at_once(p, z) > 0 && z.taps() * z.padded_channels < kLimit && z.groups <= kMostBlocksAcross && z.q <= kMaxTaps && z.r <= kMaxTaps &&
         z.s <= kMaxTaps;
}

// Whether the copy engine can read its lines' windows where they overlap: a column's first tap is on a whole vector. Of a batch that is
// made at once alone: what is packed first clears the flag, and no GPU has run parts of one in this form.
bool may_window([[maybe_unused]] const ConvParams& p) {
#if SBK_NVIDIA
  if (p.dtype != DataType::float16 || !may_fold(p) || p.batch == 0 || output_count(p) == 0) return false;
  const ConvParams t = with_three_axes(p);
  if (t.in[0] != 1 || t.kernel[0] != 1 || t.pad_begin[0] != 0 || t.dilation[2] != 1 || t.stride[2] * kWindowChannels % lanes_of<__half>() != 0) return false;
  const ConvParams q = window_params(p);
  const Sizes z = sizes_of(q);
  const int64_t image = window_lines(p).pixels * kWindowChannels * t.in[1];  // its values, packed
  if (!fits(q) || images_at_once(q, z) < p.batch || image > (kLimit - 1) / p.batch) return false;
  return takes_copy_engine(describe_form<__half>(p, {q, Lines::windows}, z, nullptr, nullptr));
#else
  return false;
#endif
}

// The tiles of `p`, as it is.
int variants_as(const ConvParams& p) {
  if (!fits(p)) return 0;
  const Sizes z = sizes_of(p);
  if (z.vector < kVectorBytes) return 1;
  GemmTile tiles[kMaxGemmTiles];
  const ConvParams first = part_of(p, 0, images_at_once(p, z));
  const Sizes of_first = sizes_of(first);
  return p.dtype == DataType::float32 ? tiles_of<float>(describe<float>(first, of_first, nullptr, nullptr), tiles)
                                      : tiles_of<__half>(describe<__half>(first, of_first, nullptr, nullptr), tiles);
}

}  // namespace

int gemm_variants(const ConvParams& p) {
  const int whole = variants_as(p);
  if (!may_fold(p) || p.choosing == ConvChoosing::unfolded) return whole;
  return whole + variants_as(folded_params(p)) + (may_window(p) ? variants_as(window_params(p)) - kGeneralTiles : 0);
}

GemmNeeds gemm_needs(const ConvParams& p) {
  GemmNeeds needs;
  if (sums_nothing(p)) return needs;
  const auto [q, lines] = gemm_form(p);
  if (!fits(q)) return needs;
  const bool is_whole = lines == Lines::whole;
  const Sizes z = sizes_of(q);
  const int64_t images = images_at_once(q, z);
  const auto element = static_cast<int64_t>(size_of(p.dtype));
  // What merged groups spoil is made again from the residual, of all images.
  if (z.merged_groups > 1 && (images < p.batch || (p.residual != nullptr && p.residual == p.y))) return needs;
  needs.fits = true;
  const bool padding = z.padded_channels != z.c;
  // A tensor that does not start on a vector is copied as well; null stands for a pointer that will be aligned. So is one
  // whose later images do not.
  const bool apart = images < p.batch && images * z.area() * p.in_channels * element % kVectorBytes != 0;
  if (!is_whole || padding || apart || (p.layout == Layout::channels_first && z.area() > 1) || !aligned_to(p.x, kVectorBytes)) {
    const int64_t image = lines == Lines::windows ? z.d * z.h * window_lines(p).pixels * kWindowChannels : z.area() * z.padded_channels * z.groups;
    needs.input = static_cast<size_t>(images * image * element);
  }
  if (!is_whole || padding || z.merged_groups > 1 || (p.filter_layout == FilterLayout::channels_first && z.taps() > 1) || !aligned_to(p.w, kVectorBytes)) {
    // Where groups are merged, one of the kernels that pack clears the flag: filters alone are packed each time.
    needs.form = z.merged_groups > 1 && needs.input == 0 ? 0 : form_of(p, z, lines);
    needs.packed_weights = needs.form != 0 && p.packed_weights != nullptr && p.packed_form == needs.form && aligned_to(p.packed_weights, kVectorBytes);
    needs.packed_filter = static_cast<size_t>(q.out_channels * z.taps() * z.padded_channels * element);
    needs.filter = needs.packed_weights ? 0 : needs.packed_filter;
  }
  if (z.merged_groups > 1 || (lines == Lines::windows && window_lines(p).together > 1)) needs.flag = sizeof(int32_t);
  return needs;
}

int32_t* gemm_flag(const ConvParams& p, const Launch& launch) { return flag_of(gemm_needs(p), launch); }

Status pack_filter(const ConvParams& p, void* to, hipStream_t stream) {
  const GemmForm shape = gemm_form(p);
  const Sizes z = sizes_of(shape.p);
  if (shape.lines != Lines::whole) {
    return p.dtype == DataType::float32 ? fold_both<float>(p, shape.lines, z, nullptr, to, nullptr, stream)
                                        : fold_both<__half>(p, shape.lines, z, nullptr, to, nullptr, stream);
  }
  const bool last = p.filter_layout == FilterLayout::channels_last;
  const Pack filter = filter_pack(p, z, to);
  return p.dtype == DataType::float32 ? pack<float>(filter, last, stream) : pack<__half>(filter, last, stream);
}

bool takes_gemm(const ConvParams& whole) {
  DeviceFacts device;
  if (!gemm_needs(whole).fits || !device_facts(&device).ok()) return false;
  ConvParams p = gemm_form(whole).p;
  p.batch = images_at_once(p, sizes_of(p));
  const Sizes z = sizes_of(p);
  if (z.vector < kVectorBytes) return most_shared_bytes<NarrowShape>(device.wave) <= device.shared;
  const int tile = p.dtype == DataType::float32
                       ? choose_tile<float>(describe<float>(p, z, nullptr, nullptr), z.groups, p.variant, device)
                       : choose_tile<__half>(describe<__half>(p, z, nullptr, nullptr), z.groups, p.variant, device);
  return tile >= 0;
}

Status run_gemm(const ConvParams& p, const Launch& launch) {
  const GemmForm shape = gemm_form(p);
  const GemmNeeds needs = gemm_needs(p);
  return in_parts(p.batch, images_at_once(shape.p, sizes_of(shape.p)), [&](int64_t first, int64_t count) {
    const ConvParams part = part_of(p, first, count);
    return p.dtype == DataType::float32 ? run<float>(part, shape, needs, launch) : run<__half>(part, shape, needs, launch);
  });
}

}  // namespace sbk::conv_detail
