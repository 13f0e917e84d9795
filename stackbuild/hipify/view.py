"""One text as the stages of a conversion see it: blanked once, its names and lines found once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from stackbuild.hipify.scan import FILL, NAME, Lines, blank, qualifier, whole_names
from stackbuild.report import Finding, Place, Severity

# Namespaces that CUDA's own names stand in; any other qualifier makes a name someone else's.
_CUDA_SPACES = frozenset(
    f"{name}::" for name in ("cub", "hipcub", "cooperative_groups", "cg", "nvcuda", "wmma", "nv", "cuda", "thrust")
)


@dataclass(frozen=True, eq=False)
class View:
    """A text and its path relative to the source. `code` is the text blanked, offset for offset."""

    text: str
    name: str = ""

    @cached_property
    def code(self) -> str:
        return blank(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(NAME.findall(self.code))

    @cached_property
    def lines(self) -> Lines:
        return Lines(self.text)

    @cached_property
    def newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    @property
    def is_cuda(self) -> bool:
        """Whether nvcc would take the file as CUDA: then it includes CUDA's runtime by itself."""
        return not self.name or self.name.endswith((".cu", ".cuh", ".cu.inc", ".hip"))

    def own(self, name: str) -> list[int]:
        """Where `name` stands as CUDA's own: a whole identifier, no member, in no foreign namespace."""
        return [at for at in whole_names(self.code, name) if not self.foreign(at)]

    def foreign(self, at: int) -> bool:
        found = qualifier(self.code, at)
        return found not in ("", "::") and found not in _CUDA_SPACES

    def in_comment(self, at: int) -> bool:
        """Whether the character at an offset, which is no white space, belongs to a comment."""
        return self.code[at] == " " and not self.text[at].isspace()

    def in_literal(self, at: int) -> bool:
        """Whether the character at an offset stands inside a string or character literal."""
        return self.code[at] == FILL

    def finding(
        self, at: int, rule: str, severity: Severity, found: str, why: str, fix: str, link: str = ""
    ) -> Finding:
        """A finding at an offset of the text."""
        line, column = self.lines.at(at)
        return Finding(rule, severity, self.name, found, why, fix, link, Place(self.name, line, column))
