"""Names in the kernels' C++ and HIP, and in the C of `stackbuild`: what a type, a function, a variable, a parameter or a member is called.

The rule is that of `ci/names.py`: no name is a participle alone. A constant's `k` and a member's underscore are not part
of its word: `kMade` and `made_` are `made`. A value of type `bool` may be called so, and one that is a comparison or a
`not`; so may a method of type `bool` that has no parameters and changes nothing, such as `bool closed() const`. An
enumerator may be called so, too: it names a state. `shared` is HIP's term for the memory that a block's threads share.
`left` is the participle of `leave`, but for a function or class that also names a `right` or a `top`.

tree-sitter reads the files, without the preprocessor. What it cannot know is blanked first: attributes of functions such as
`__global__` and `RK_HD`, and the launch of a kernel between `<<<` and `>>>`.

`python ci/cpp_names.py` prints every violation and exits 1 if there is one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import tree_sitter
import tree_sitter_cpp
from layout import REPOSITORY
from names import is_participle

SUFFIXES = (".c", ".cpp", ".h", ".hip", ".hpp")
_PARENTHESES = rb"\((?:[^()]|\([^()]*\))*\)"
_COMPILER_WORDS = re.compile(
    rb"\b(?:__(?:global|device|host|forceinline|noinline|shared|constant|grid_constant|restrict)__|__restrict"
    rb"|(?:RK|SBK)_(?:HD|D|H|INLINE|EXPORT|HOST_DEVICE|DEVICE)|ORT_API_CALL)\b"
    rb"|\b(?:__launch_bounds__|__attribute__|__align__|SBK_EACH|SBK_LAUNCH_BOUNDS)\s*" + _PARENTHESES + rb"|<<<.*?>>>",
    re.DOTALL,
)
"""Words that only a compiler of HIP or the preprocessor understands, and launches."""
TERMS = frozenset(("shared",))
"""Words of HIP that are names of things there."""
SIDES = frozenset(("right", "top"))
"""Names beside which `left` is a side."""
_BOOL = re.compile(r"\bbool\b")
_CONSTANT = re.compile(r"k(?=[A-Z])")
_NAMED_BY_FIELD = frozenset(
    (
        *("class_specifier", "struct_specifier", "union_specifier", "enum_specifier", "alias_declaration"),
        *("namespace_definition", "concept_definition", "preproc_def", "preproc_function_def"),
    )
)
"""Nodes whose field `name` is a name that they give."""
_DECLARATIONS = frozenset(
    (
        *("parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration", "declaration"),
        *("field_declaration", "function_definition", "for_range_loop", "type_definition"),
    )
)
"""Nodes whose declarators have the names that they give."""
_SCOPES = frozenset(("function_definition", "class_specifier", "struct_specifier"))
_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


@dataclass(frozen=True)
class CppName:
    """A name that a file declares: its line, whether a function has it, and whether it is of a value that is true or false."""

    line: int
    text: str
    is_function: bool = False
    is_truth: bool = False

    @property
    def word(self) -> str:
        return _CONSTANT.sub("", self.text.strip("_"))


def declared_names(text: bytes) -> Iterator[CppName]:
    """Every name that a file of C++ declares, but for a `left` beside a `right`."""
    tree = _PARSER.parse(_COMPILER_WORDS.sub(lambda match: re.sub(rb"[^\n]", b" ", match[0]), text))
    names_by_scope: dict[int, list[CppName]] = {}
    todo = [(tree.root_node, 0)]
    while todo:
        node, scope = todo.pop()
        scope = node.start_byte if node.type in _SCOPES else scope
        names_by_scope.setdefault(scope, []).extend(_names_of(node))
        todo += ((child, scope) for child in node.named_children)
    for names in names_by_scope.values():
        has_pair = any(name.word in SIDES for name in names)
        yield from (name for name in names if not (has_pair and name.word == "left"))


def _names_of(node: tree_sitter.Node) -> Iterator[CppName]:
    """The names that one node itself gives."""
    if node.type in _DECLARATIONS:
        type_node = node.child_by_field_name("type")
        for declarator in node.children_by_field_name("declarator"):
            value = declarator.child_by_field_name("value") or node.child_by_field_name("default_value")
            for leaf, function in _leaves(declarator):
                is_bool = type_node is not None and bool(_BOOL.search(_text(type_node)))
                is_truth = _is_property(function) and is_bool if function else is_bool or (value is not None and _is_truth(value))
                yield CppName(leaf.start_point.row + 1, _text(leaf), function is not None, is_truth)
    elif node.type in _NAMED_BY_FIELD:
        name = node.child_by_field_name("name")
        is_definition = node.type not in ("class_specifier", "struct_specifier") or node.child_by_field_name("body")
        if name is not None and is_definition:
            yield CppName(name.start_point.row + 1, _text(name), node.type == "preproc_function_def")
    elif node.type in ("type_parameter_declaration", "lambda_capture_initializer", "optional_type_parameter_declaration"):
        for child in node.named_children[:1]:
            yield CppName(child.start_point.row + 1, _text(child))


def _leaves(node: tree_sitter.Node, function: tree_sitter.Node | None = None) -> Iterator[tuple[tree_sitter.Node, tree_sitter.Node | None]]:
    """The names in a declarator, and the declarator of the function that has the name, None for a value or a type."""
    if node.type in ("identifier", "field_identifier", "type_identifier"):
        yield node, function
    elif node.type == "structured_binding_declarator":
        yield from ((child, None) for child in node.named_children if child.type == "identifier")
    elif node.type in ("qualified_identifier", "template_function"):
        if (name := node.child_by_field_name("name")) is not None:
            yield from _leaves(name, function)
    elif node.type.endswith("declarator"):
        inside = node.child_by_field_name("declarator") or next((n for n in node.named_children if n.type != "type_qualifier"), None)
        if inside is not None:
            is_function = node.type == "function_declarator" and inside.type != "parenthesized_declarator"
            yield from _leaves(inside, node if is_function else function)


def _is_property(function: tree_sitter.Node) -> bool:
    """Whether a function has no parameters and is `const`."""
    parameters = function.child_by_field_name("parameters")
    return parameters is not None and not parameters.named_children and any(_text(n) == "const" for n in function.children)


def _is_truth(value: tree_sitter.Node) -> bool:
    """Whether an expression is true or false, as far as its text shows it."""
    operator = value.child_by_field_name("operator")
    if value.type in ("true", "false"):
        return True
    if value.type == "parenthesized_expression":
        return all(_is_truth(child) for child in value.named_children)
    return operator is not None and _text(operator) in ("==", "!=", "<", ">", "<=", ">=", "&&", "||", "!")


def _text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode()


def violations(paths: Iterable[Path]) -> Iterator[str]:
    """A sentence for each name in these files that is a participle."""
    for path in sorted(paths):
        for name in sorted(declared_names(path.read_bytes()), key=lambda name: name.line):
            word = name.word.removesuffix("_of") if name.is_function else name.word
            if is_participle(word) and word.lower() not in TERMS and not name.is_truth:
                advice = "name what it does" if name.is_function else "name what it is"
                yield f"{path}:{name.line}: `{name.text}` says how the value came about: {advice}"


def files() -> list[Path]:
    """The files of C++ and HIP in `kernels`, and those of C in `stackbuild`."""
    return [path for tree in ("kernels", "stackbuild") for path in (REPOSITORY / tree).rglob("*") if path.suffix in SUFFIXES]


def main() -> int:
    paths = files()
    lines = list(violations(paths))
    print("\n".join(lines) or f"names in {len(paths)} files of C, C++ and HIP: nothing found")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
