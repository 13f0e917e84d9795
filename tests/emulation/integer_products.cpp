// Checks the products of 8-bit integers (kernels/ep/ops/quantized/integer_product_kernels.hpp) in each shape of MatMul's tiles, on the device
// that this is built for: build.py --program for emulated AMD waves, nvcc for a GPU. Prints "N products, M wrong"; exit status 1 where
// one is. Values, zero points and extents are those that a mistake of a lane, a byte or a boundary shows in.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "ops/quantized/matmul_integer_kernels.hpp"

namespace {

using rk::IntegerMatrices;
using Bytes = std::vector<uint8_t>;

std::mt19937 generator(7);
int products = 0, wrong = 0;

void ok(hipError_t error) {
  if (error == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(error));
  std::exit(2);
}

// The ends of both types more often than other values.
Bytes bytes(size_t count) {
  constexpr std::array<uint8_t, 4> kEnds = {0x80, 0x7f, 0xff, 0};
  Bytes values(count);
  for (uint8_t& value : values) {
    const auto drawn = static_cast<uint32_t>(generator());
    value = drawn % 16 < kEnds.size() ? kEnds[drawn % 16] : static_cast<uint8_t>(drawn >> 8);
  }
  return values;
}

class DeviceBytes {
 public:
  explicit DeviceBytes(const void* from, size_t size) {
    ok(hipMalloc(&data_, size));
    ok(hipMemcpy(data_, from, size, hipMemcpyHostToDevice));
  }
  explicit DeviceBytes(const Bytes& from) : DeviceBytes(from.data(), from.size()) {}
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  ~DeviceBytes() { (void)hipFree(data_); }
  uint8_t* data() const { return static_cast<uint8_t*>(data_); }

 private:
  void* data_ = nullptr;
};

struct Extents {
  int m, k, n;
};

template <class S>
void check(const Extents& e, rk::ByteReader of_a, rk::ByteReader of_b) {
  const auto size = [](int lines, int each) { return static_cast<size_t>(lines) * static_cast<size_t>(each); };
  const Bytes a = bytes(size(e.m, e.k)), b = bytes(size(e.k, e.n)), a_zeros = bytes(size(e.m, 1)), b_zeros = bytes(size(e.n, 1));
  std::vector<int32_t> y(size(e.m, e.n), -1);
  const DeviceBytes da(a), db(b), da_zeros(a_zeros), db_zeros(b_zeros), dy(y.data(), y.size() * sizeof(int32_t));
  IntegerMatrices p{};
  p.a = da.data(), p.b = db.data(), p.y = dy.data();
  p.a_reader = of_a, p.b_reader = of_b;
  p.a_zeros = {da_zeros.data(), of_a, rk::Period(e.m)}, p.b_zeros = {db_zeros.data(), of_b, rk::Period(e.n)};
  p.m = e.m, p.n = e.n, p.k = e.k, p.batch = 1;
  const rk::IntegerProduct product(p);
  const int64_t tiles = rk::integer_tiles<rk::IntegerProduct, S>(product);
  rk::integer_product<rk::IntegerProduct, S><<<dim3(static_cast<uint32_t>(tiles)), dim3(rk::kIntegerThreads), 0, hipStream_t{}>>>(product, tiles);
  ok(hipGetLastError());
  ok(hipDeviceSynchronize());
  ok(hipMemcpy(y.data(), dy.data(), y.size() * sizeof(int32_t), hipMemcpyDeviceToHost));
  int64_t differ = 0;
  for (int i = 0; i < e.m; ++i) {
    for (int j = 0; j < e.n; ++j) {
      int32_t sum = 0;
      for (int c = 0; c < e.k; ++c) {
        sum += (of_a(a[size(i, e.k) + c]) - of_a(a_zeros[i])) * (of_b(b[size(c, e.n) + j]) - of_b(b_zeros[j]));
      }
      differ += sum != y[size(i, e.n) + j];
    }
  }
  ++products;
  if (differ == 0) return;
  ++wrong;
  std::printf("WRONG %d x %d by %d x %d in tiles of %d x %d, flips %d and %d: %lld values\n", e.m, e.k, e.k, e.n, S::kRows, S::kColumns, of_a.flip,
              of_b.flip, static_cast<long long>(differ));
}

}  // namespace

int main() {
  constexpr std::array<Extents, 7> kExtents = {{{1, 1, 1}, {5, 33, 7}, {32, 64, 64}, {33, 130, 66}, {70, 96, 260}, {130, 515, 132}, {2, 1040, 40}}};
  for (const Extents& e : kExtents) {
    for (int types = 0; types < 4; ++types) {
      const rk::ByteReader of_a{types % 2 == 0 ? 0x80 : 0}, of_b{types / 2 == 0 ? 0x80 : 0};
      check<rk::LargeShape>(e, of_a, of_b);
      check<rk::FlatShape>(e, of_a, of_b);
      check<rk::MiddleShape>(e, of_a, of_b);
      check<rk::SmallShape>(e, of_a, of_b);
    }
  }
  std::printf("%d products, %d wrong\n", products, wrong);
  return wrong == 0 ? 0 : 1;
}
