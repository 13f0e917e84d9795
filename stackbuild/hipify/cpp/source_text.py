"""One text as the stages of a conversion see it: blanked once, its names and lines found once."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from stackbuild.hipify.cpp import complex_operators, macros
from stackbuild.hipify.cpp.braces import Braces
from stackbuild.hipify.cpp.macros import Macro
from stackbuild.hipify.cpp.scan import FILL, NAME, Lines, back_space, blank, qualifier, whole_names, words
from stackbuild.hipify.cpp.scopes import Declaration, Scopes
from stackbuild.hipify.cpp.tree_names import NO_NAMES, TreeNames
from stackbuild.model.findings import Finding, Severity, SourceLocation

# Namespaces that CUDA's own names stand in; any other qualifier makes a name someone else's.
_CUDA_SPACES = frozenset(
    f"{name}::" for name in ("cub", "hipcub", "cooperative_groups", "cg", "nvcuda", "wmma", "nv", "cuda", "thrust")
)

_DEFINES = re.compile(r"#[ \t]*define[ \t]+\Z")
_WHOLE = re.compile(r"(?<!\w)[A-Za-z_]\w*")
_MANY = 150
"""Names that are looked for one by one: to find all words at once takes as long."""
# Each begins with its word's letters: the search then skips to those.
_ALIASES = (
    ("using", re.compile(r"using(?<!\wusing)\s+(?P<name>\w+)\s*=\s*(?:enum\s+|::\s*)*(?P<of>\w+)\s*;")),
    ("typedef", re.compile(r"typedef(?<!\wtypedef)\s+(?:enum\s+|::\s*)*(?P<of>\w+)\s+(?P<name>\w+)\s*;")),
)

_CALL = re.compile(r"\s*\(")


@dataclass(frozen=True, eq=False)
class View:
    """A text, whose lines end with `\\n`, and its path relative to the source. `code` is the text blanked, offset for offset.

    `cuda_names` are the names that CUDA has: those may qualify (`cudaMemcpyKind::cudaMemcpyHostToDevice`), and be hidden by
    what a class or a namespace of the text declares. `renamed_names` are those of them that HIP spells otherwise: one that the
    text defines as its own function stays. `ruled_names` are names of the project that rules rename. `hip_macros` are macros
    that only the project's build for HIP defines. `tree` is what headers of the same tree declare.
    """

    text: str
    name: str = ""
    cuda_names: frozenset[str] = frozenset()
    renamed_names: frozenset[str] = frozenset()
    ruled_names: frozenset[str] = frozenset()
    hip_macros: frozenset[str] = frozenset()
    tree: TreeNames = NO_NAMES

    @cached_property
    def code(self) -> str:
        return blank(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        return self._words[0]

    @property
    def numbers(self) -> frozenset[str]:
        """What begins with a digit, as it is spelt: `32`, `32u`, `0x1f`, `1e5f`."""
        return self._words[1]

    @cached_property
    def _words(self) -> tuple[frozenset[str], frozenset[str]]:
        return words(self.code)

    @cached_property
    def word_lines(self) -> str:
        """All `words`, each after a newline: letters that stand in the code stand in this, which is far shorter."""
        return "\n" + "\n".join(self.words)

    def words_with(self, *parts: str) -> set[str]:
        """The words that have any of some parts, which are words' parts themselves."""
        words: set[str] = set()
        for part in parts:
            at = self.word_lines.find(part)
            while at >= 0:
                start, end = self.word_lines.rfind("\n", 0, at) + 1, self.word_lines.find("\n", at)
                words.add(self.word_lines[start : end if end >= 0 else None])
                at = self.word_lines.find(part, end) if end >= 0 else -1
        return words

    @cached_property
    def macros(self) -> list[Macro]:
        """The macros that the text defines, each as often as it does."""
        return macros.read(self.code) if "define" in self.words else []

    @cached_property
    def macros_in_reach(self) -> list[Macro]:
        """The macros of the text, and those of the tree's headers that it names and does not define."""
        if self.tree.macro_names.isdisjoint(self.words):
            return self.macros
        own = {macro.name for macro in self.macros}
        return self.macros + [macro for macro in self.tree.macro_definitions if macro.name not in own]

    @cached_property
    def code_with_types(self) -> str:
        """`code`, and after it declarations of the types of the tree's headers that it names."""
        return self.code + self.tree.typedefs(sorted(self.words)) if self.tree.types else self.code

    @cached_property
    def has_complex_operators(self) -> bool:
        """Whether the text, or a header of the tree, defines operators for CUDA's complex numbers."""
        if self.tree.has_complex_operators:
            return True
        types = complex_operators.operand_types(self.code) if "operator" in self.words else set()
        return any(complex_operators.is_complex(name, self.code, self.tree.type_of) for name in types)

    @cached_property
    def has_pair_operators(self) -> bool:
        """Whether the text, or a header of the tree, defines operators for vectors of two floats or doubles."""
        return self.tree.has_pair_operators or (
            "operator" in self.words and complex_operators.has_pair_operators(self.code)
        )

    def meets(self, condition: str) -> bool:
        """Whether the text is one that a rule with this `where:` is for."""
        if condition == "extremes":
            return self._calls_extremes
        if condition == "pair-operators":
            return self.has_pair_operators
        return not condition or self.has_complex_operators

    @cached_property
    def _calls_extremes(self) -> bool:
        """Whether a CUDA file with device code calls min or max by themselves: `std::min` is another one."""
        if (
            not self.is_cuda
            or self.words.isdisjoint(("min", "max"))
            or self.words.isdisjoint(("__global__", "__device__"))
        ):
            return False
        return any(_CALL.match(self.code, at + 3) for name in ("min", "max") for at in self.own(name))

    @cached_property
    def _bodies(self) -> list[int]:
        return [macro.at for macro in self.macros]

    def macro_at(self, at: int) -> Macro | None:
        """The macro in whose body an offset is."""
        number = bisect_right(self._bodies, at) - 1
        return self.macros[number] if number >= 0 and at < self.macros[number].end else None

    def is_defined_at(self, at: int) -> bool:
        """Whether the name at an offset is that of a macro where it is defined."""
        return _DEFINES.search(self.code, max(0, at - 80), at) is not None

    @cached_property
    def lines(self) -> Lines:
        return Lines(self.text)

    @property
    def is_cuda(self) -> bool:
        """Whether nvcc would take the file as CUDA: then it includes CUDA's runtime by itself."""
        return not self.name or self.name.endswith((".cu", ".cuh", ".cu.inc", ".hip"))

    @property
    def is_header(self) -> bool:
        """Whether other files include this one. Of a name without a suffix that is so, or it would not be a source."""
        last = self.name.rpartition("/")[2]
        return (bool(last) and "." not in last) or last.endswith((".h", ".hh", ".hpp", ".cuh", ".hxx", ".inc", ".inl", ".ipp", ".tcc"))

    @cached_property
    def _scopes(self) -> Scopes:
        return Scopes(self.code, self.braces)

    @cached_property
    def braces(self) -> Braces:
        return Braces(self.code)

    @cached_property
    def _hidden_names(self) -> dict[str, list[Declaration]]:
        return {}

    def places(self, name: str) -> list[int]:
        """Where `name` stands as a whole identifier. Of a text that many are asked of, all are found at once."""
        if name in self._places:
            return self._places[name]
        if len(self._places) == _MANY:
            return self._every.get(name, [])
        self._places[name] = places = whole_names(self.code, name)
        return places

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        return {}

    @cached_property
    def _every(self) -> dict[str, list[int]]:
        """Where each word of the text stands."""
        every: dict[str, list[int]] = {}
        for match in _WHOLE.finditer(self.code):
            every.setdefault(match.group(), []).append(match.start())
        return every

    def own(self, name: str) -> list[int]:
        """Where `name` stands as CUDA's own: a whole identifier, no member, in no foreign namespace or scope."""
        if name not in self._own:
            self._own[name] = self._find_own(name)
        return self._own[name]

    @cached_property
    def _own(self) -> dict[str, list[int]]:
        return {}

    def _find_own(self, name: str) -> list[int]:
        places = self.places(name)
        if name in self.cuda_names and (hiding := self.hidden_declarations(name)):
            own = [d for d in hiding if d.is_global]
            anyones = set(_outside(places, hiding))
            outside = set(_outside(places, own)) if own else set(places)
            places = [at for at in places if at in (outside if self._is_global(at) else anyones)]
        return [at for at in places if not self.foreign(at)]

    def hidden_declarations(self, name: str) -> list[Declaration]:
        """The declarations of a CUDA name as something else, which hide CUDA's in their scopes."""
        if name not in self._hidden_names:
            places = self.places(name)
            self._hidden_names[name] = self._scopes.declarations(name, places)
            if name in self.renamed_names:
                self._hidden_names[name] += self._scopes.definitions(name, places)
        return self._hidden_names[name]

    def definitions(self, name: str) -> list[Declaration]:
        """The definitions of a name as a function of the program itself."""
        return self._scopes.definitions(name, self.places(name))

    def in_space(self, at: int) -> bool:
        """Whether an offset is inside a named namespace."""
        return self._scopes.in_space(at)

    def in_c(self, at: int) -> bool:
        """Whether an offset is between the braces of `extern "C"`, where HIP's headers, which are C++, cannot be read."""
        return "extern" in self.words and self._scopes.in_c(at)

    def _is_global(self, at: int) -> bool:
        return qualifier(self.code, at) == "::"

    def foreign(self, at: int) -> bool:
        """Whether the name at an offset is a member, or qualified by what is not CUDA's."""
        qualification = qualifier(self.code, at)
        if qualification in ("", "::"):
            return False
        if qualification in (".", "->"):
            return True
        space = qualification[:-2]
        if self._declared_in(space, at):
            return False
        if qualification not in _CUDA_SPACES and space not in self.cuda_names and space not in self._aliases:
            return True
        before = back_space(self.code, at)
        return self.foreign(back_space(self.code, before - 2) - len(space))

    def _declared_in(self, space: str, at: int) -> bool:
        """Whether the text or the tree declares the name at an offset in a namespace of that name: then both are renamed."""
        name = NAME.match(self.code, at)
        if name is None or not (name.group() in self.cuda_names or name.group() in self.ruled_names):
            return False
        return (space, name.group()) in self.tree.members or any(
            d.space == space for d in self.hidden_declarations(name.group())
        )

    @cached_property
    def _aliases(self) -> frozenset[str]:
        """The names that the text, or a header of the tree, gives to types of CUDA."""
        matches = [m for word, pattern in _ALIASES if word in self.words for m in pattern.finditer(self.code)]
        matches.sort(key=re.Match.start)
        types = {**self.tree.type_of, **{m["name"]: m["of"] for m in matches}}
        return frozenset(alias for alias, of in types.items() if of in self.cuda_names)

    def in_comment(self, at: int) -> bool:
        """Whether the character at an offset belongs to a comment; it must not be white space."""
        return self.code[at] == " " and not self.text[at].isspace()

    def in_literal(self, at: int) -> bool:
        """Whether the character at an offset stands inside a string or character literal."""
        return self.code[at] == FILL

    def finding(
        self, at: int, rule: str, severity: Severity, message: str, why: str, fix: str, link: str = ""
    ) -> Finding:
        """A finding at an offset of the text."""
        line, column = self.lines.at(at)
        return Finding(rule, severity, self.name, message, why, fix, link, SourceLocation(self.name, line, column))


def _outside(places: list[int], hiding: list[Declaration]) -> list[int]:
    """The places that are in no span of the declarations."""
    remaining_places: list[int] = []
    spans = sorted({span for spans in {id(d.spans): d.spans for d in hiding}.values() for span in spans})
    number = reach = 0
    for at in places:
        while number < len(spans) and spans[number][0] <= at:
            reach = max(reach, spans[number][1])
            number += 1
        if at >= reach:
            remaining_places.append(at)
    return remaining_places
