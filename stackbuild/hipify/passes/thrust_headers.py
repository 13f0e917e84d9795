"""The fix `thrust-headers`: headers of Thrust that CUDA's brings by other headers, and rocThrust's does not.

A file that includes a header of Thrust gets the headers of what else of Thrust it names. Both libraries have all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.directives import Include
from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.source_text import View

_HEADERS = {
    "adjacent_difference": "adjacent_difference",
    "binary_search": "binary_search lower_bound upper_bound equal_range",
    "copy": "copy copy_n copy_if",
    "count": "count count_if",
    "device_free": "device_free",
    "device_malloc": "device_malloc",
    "device_ptr": "device_ptr device_pointer_cast",
    "device_vector": "device_vector",
    "equal": "equal",
    "execution_policy": "device host seq",
    "extrema": "min_element max_element minmax_element",
    "fill": "fill fill_n",
    "find": "find find_if find_if_not",
    "for_each": "for_each for_each_n",
    "functional": "plus minus multiplies divides modulus negate equal_to not_equal_to greater less greater_equal less_equal"
    " logical_and logical_or logical_not bit_and bit_or bit_xor maximum minimum identity",
    "gather": "gather gather_if",
    "generate": "generate generate_n",
    "host_vector": "host_vector",
    "inner_product": "inner_product",
    "iterator/constant_iterator": "constant_iterator make_constant_iterator",
    "iterator/counting_iterator": "counting_iterator make_counting_iterator",
    "iterator/discard_iterator": "discard_iterator make_discard_iterator",
    "iterator/permutation_iterator": "permutation_iterator make_permutation_iterator",
    "iterator/reverse_iterator": "reverse_iterator make_reverse_iterator",
    "iterator/transform_iterator": "transform_iterator make_transform_iterator",
    "iterator/zip_iterator": "zip_iterator make_zip_iterator",
    "logical": "all_of any_of none_of",
    "merge": "merge merge_by_key",
    "mismatch": "mismatch",
    "partition": "partition partition_copy stable_partition stable_partition_copy partition_point is_partitioned",
    "reduce": "reduce reduce_by_key",
    "remove": "remove remove_if remove_copy remove_copy_if",
    "replace": "replace replace_if replace_copy replace_copy_if",
    "reverse": "reverse reverse_copy",
    "scan": "inclusive_scan exclusive_scan inclusive_scan_by_key exclusive_scan_by_key",
    "scatter": "scatter scatter_if",
    "sequence": "sequence",
    "set_operations": "set_difference set_intersection set_symmetric_difference set_union",
    "sort": "sort sort_by_key stable_sort stable_sort_by_key is_sorted is_sorted_until",
    "swap": "swap_ranges",
    "tabulate": "tabulate",
    "transform": "transform transform_if",
    "transform_reduce": "transform_reduce",
    "transform_scan": "transform_inclusive_scan transform_exclusive_scan",
    "tuple": "make_tuple tuple tie",
    "unique": "unique unique_copy unique_by_key unique_by_key_copy",
}
_HEADER_OF = {name: header for header, names in _HEADERS.items() for name in names.split()}
_THRUST_NAME = re.compile(r"thrust\s*::\s*(\w+)")


def fix(view: View, includes: tuple[Include, ...], by: str) -> Iterator[Edit]:
    """An edit that puts the headers after the first of Thrust's that no `#if` is around."""
    if "thrust" not in view.words:
        return
    have = {include.path for include in includes if include.path.startswith("thrust/")}
    first = next((one for one in includes if one.path.startswith("thrust/") and not one.branches), None)
    if first is None:
        return
    named_headers = {_HEADER_OF[name] for name in _THRUST_NAME.findall(view.code) if name in _HEADER_OF}
    headers = sorted(path for header in named_headers if (path := f"thrust/{header}.h") not in have)
    if headers:
        lead = "" if view.text[first.end - 1 : first.end] == "\n" else "\n"
        yield Edit(first.end, first.end, lead + "".join(f"#include <{path}>\n" for path in headers), by)
