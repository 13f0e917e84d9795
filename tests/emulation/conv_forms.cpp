// Checks how the implicit GEMM's host side cuts a batch, in the form that an NVIDIA build has: nothing is launched. Prints "N shapes, M wrong";
// exit status 1 where one is. What is packed at once, and the flag of a sum that is no number, have to be those that the workspace is
// sized by, however many parts a batch is made in.
#include <cstdio>

#include "conv/conv_pack_kernels.hpp"
#include "conv/conv_wgmma.hpp"

#undef SBK_NVIDIA
#define SBK_NVIDIA 1
namespace sbk::conv_detail {
inline bool engine_takes(const GemmConv&) { return true; }
}  // namespace sbk::conv_detail
#define takes_copy_engine engine_takes
#include "conv/conv_gemm.hip"

namespace {

using namespace sbk;
using namespace sbk::conv_detail;

int shapes = 0, wrong = 0, windows = 0, cut = 0, flags = 0;

ConvParams image(int64_t batch, int64_t channels, int64_t extent, int64_t outputs, int64_t kernel, int64_t stride, bool last) {
  ConvParams p;
  p.dtype = DataType::float16, p.algorithm = ConvAlgorithm::implicit_gemm;
  p.layout = last ? Layout::channels_last : Layout::channels_first;
  p.batch = batch, p.in_channels = channels, p.out_channels = outputs;
  for (int i = 0; i < 2; ++i) {
    p.in[i] = extent, p.kernel[i] = kernel, p.stride[i] = stride, p.pad_begin[i] = kernel / 2;
    p.out[i] = (extent + 2 * p.pad_begin[i] - kernel) / stride + 1;
  }
  return p;
}

const char* mistake_of(const ConvParams& p) {
  const GemmNeeds needs = gemm_needs(p);
  if (!needs.fits) return nullptr;
  const GemmForm form = gemm_form(p);
  const Sizes z = sizes_of(form.p);
  const int64_t images = images_at_once(form.p, z);
  const bool parts = images < p.batch;
  windows += form.lines == Lines::windows, cut += parts, flags += needs.flag > 0;
  if (parts && needs.flag > 0) return "a part clears the flag of the part before";
  if (form.lines == Lines::whole) return nullptr;
  const ConvParams part = part_of(p, 0, images);
  const bool is_window = form.lines == Lines::windows;
  const int64_t lanes = z.vector / 2;
  const Fold fold = is_window ? window_image(part, nullptr) : fold_of(nullptr, nullptr, part, p.layout == Layout::channels_last, false, z.padded_channels, lanes);
  if (fold.vectors <= 0 || static_cast<size_t>(fold.vectors) * (is_window ? kVectorBytes : z.vector) != needs.input) return "a part packs another number of vectors than the workspace holds";
  if (is_window && window_lines(p).together > 1 && needs.flag == 0) return "columns together without a flag";
  return nullptr;
}

// A variant beyond the last is one of the form that was last before windows were.
const char* mistake_beyond(ConvParams p) {
  const int count = gemm_variants(p);
  for (const int beyond : {1, 2, 90}) {
    p.variant = count + beyond;
    if (gemm_form(p).lines == Lines::windows && !may_window(p)) return "windows that the engine does not take";
  }
  return nullptr;
}

}  // namespace

int main() {
  for (const int64_t batch : {1, 2, 8, 16, 63, 136, 224, 1024, 40000}) {
    for (const int64_t extent : {17, 64, 224, 640, 1024, 2048, 4096, 9000}) {
      for (const int64_t kernel : {2, 3, 6, 7, 11}) {
        for (const int64_t stride : {1, 2, 4, 100}) {
          for (const int64_t outputs : {8, 12, 32, 64}) {
            for (const int64_t channels : {1, 3, 4}) {
              for (const bool last : {true, false}) {
                ConvParams p = image(batch, channels, extent, outputs, kernel, stride, last);
                if (p.out[0] < 1) continue;
                ++shapes;
                for (const char* mistake : {mistake_of(p), mistake_beyond(p)}) {
                  if (mistake == nullptr) continue;
                  if (++wrong <= 8) {
                    std::printf("%lld images of %lld × %lld², %lld outputs, kernel %lld, stride %lld, channels %s: %s\n", static_cast<long long>(batch),
                                static_cast<long long>(channels), static_cast<long long>(extent), static_cast<long long>(outputs),
                                static_cast<long long>(kernel), static_cast<long long>(stride), last ? "last" : "first", mistake);
                  }
                }
              }
            }
          }
        }
      }
    }
  }
  std::printf("%d shapes, %d wrong; %d in windows, %d in parts, %d with a flag\n", shapes, wrong, windows, cut, flags);
  return wrong > 0;
}
