// Trilu: the upper or the lower triangle of each matrix, zeros elsewhere.
#include "core/kernel/kernel.hpp"
#include "core/kernel/parallel_for.hpp"
#include "core/tensor/types.hpp"

namespace rk {
namespace {

template <class T>
struct TriangleElement {
  const T* x;
  T* y;
  int64_t rows;
  int64_t columns;
  int64_t diagonal;
  bool upper;

  RK_HD void operator()(int64_t index) const {
    const int64_t column = index % columns, row = index / columns % rows;
    const bool is_inside = upper ? column - row >= diagonal : column - row <= diagonal;
    y[index] = is_inside ? x[index] : T{};
  }
};

class Trilu : public Kernel {
 public:
  explicit Trilu(const Info& info) : upper_(info.integer("upper", 1) != 0) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor k = context.input(1);
    const int rank = x.shape.rank();
    require(rank >= 2, "Trilu takes matrices");
    require(!k || k.size() == 1, "Trilu's k must be one element");
    const int64_t rows = x.shape[rank - 2], columns = x.shape[rank - 1];
    // Beyond the corners every diagonal is alike, and one near the ends of int64 would overflow.
    const int64_t diagonal = k ? std::clamp(integers(k)[0], -rows, columns) : 0;
    const Tensor y = context.output(0, x.shape);
    with_bytes(bytes_of(x.type), [&](auto zero) {
      using T = decltype(zero);
      for_each(context.stream(), y.size(), TriangleElement<T>{x.as<T>(), y.as<T>(), rows, columns, diagonal, upper_});
    });
  }

 private:
  bool upper_;
};

}  // namespace

void add_trilu(Entries& e) { e.push_back({"Trilu", 14, kNewest, {{"T", any_storage()}}, make<Trilu>, {1}}); }

}  // namespace rk
