"""Calls of a function template whose body does not compile have a note: clang refuses them too."""

from __future__ import annotations

from support.hipify import hip

TEXT = """\
template <int N> struct Loader {
  template <int S> __device__ void put(int slot, float* s) const {
    auto a = __cvta_generic_to_shared(s + N);
  }
  template <int S> __device__ void get(int slot) const { }
};
__device__ void plain(float* s) { auto a = __cvta_generic_to_shared(s); }
template <int N> __global__ void k(float* p) {
  Loader<N> l;
  l.template put<1>(0, p);
  l.template get<1>(0);
  plain(p);
  l.template put<2>(0, p);
}
"""


def test_each_call_of_such_a_template_has_a_note() -> None:
    notes = [f for f in hip(TEXT).findings if "the body of" in f.found and f.place]
    assert [(f.place.line, f.severity.value, f.rule) for f in notes if f.place] == [
        (10, "note", "LINT-DEVICE-NAME"),
        (13, "note", "LINT-DEVICE-NAME"),
    ]
