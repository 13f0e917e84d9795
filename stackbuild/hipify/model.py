"""The values of a conversion: what it is for, what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from stackbuild.hipify.cpp.edits import Edit, LineMap
from stackbuild.hipify.cpp.tree_names import NO_NAMES, TreeNames
from stackbuild.hipify.tables.declarations import Declarations
from stackbuild.hipify.tables.tables import Flavour
from stackbuild.model.findings import Finding, Severity

Launch = Literal["keep", "ggl"]
Compat = Literal["", "hipify"]
COMPATS: tuple[Compat, ...] = ("", "hipify")
LAUNCHES: tuple[Launch, ...] = ("keep", "ggl")
INSIDE_NAME = "HIPIFY-RULE-INSIDE-NAME"
"""The finding of a literal rule that would cut an identifier."""


NOT_CONVERTED = "HIPIFY-NOT-CONVERTED"
"""The finding of an entry of a source that no output is made of."""


@dataclass(frozen=True)
class Target:
    """What the HIP text is for.

    `rocm` is the ROCm version such as "6.4" ("" where unknown: no version gates are checked). `headers` are the header
    names that exist in the target's include folders; None where no folder was looked at. `launch` keeps `<<<>>>` or
    makes `hipLaunchKernelGGL` of it. `wavefronts` are the lane counts of the GPUs, both where unknown. `hip_macros` are
    macros of the project that only its build for HIP defines. `compat` is "hipify" for the text that HIPIFY would make, where this
    package's own is another on purpose. `own_headers` are files of the tree whose name CUDA has a header of too; `tree` is what the tree's headers declare. `declarations` is what the target's headers declare, None where
    that is not known.
    """

    rocm: str = ""
    headers: frozenset[str] | None = None
    launch: Launch = "keep"
    flavour: Flavour = "hip"
    experimental: bool = False
    wavefronts: tuple[int, ...] = (32, 64)
    lint: bool = True
    hip_macros: tuple[str, ...] = ()
    compat: Compat = ""
    own_headers: frozenset[str] = field(default=frozenset(), repr=False)
    tree: TreeNames = field(default=NO_NAMES, repr=False)
    declared: Declarations | None = field(default=None, repr=False)


@dataclass(frozen=True)
class ConvertedText:
    """One converted text.

    `substitutions` counts by API group, `rules` by rule id (how often each matched, also of those that only move
    things). `needs` are support headers of the rules that the text includes now. `edits` are what was done, settled, by
    offset of the original. `declares` are names that look like CUDA's and that the text declares itself; `unless` are findings
    that do not apply where another file of the tree declares a name or has a header: (line, column, name).
    """

    text: str
    findings: tuple[Finding, ...]
    substitutions: Mapping[str, int]
    rules: Mapping[str, int]
    lines: LineMap
    needs: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = field(default=(), repr=False)
    declares: tuple[str, ...] = ()
    unless: tuple[tuple[int, int, str], ...] = ()


@dataclass(frozen=True)
class FileReport:
    """What became of one file: its paths relative to source and output, and the counts and findings of its text.

    `state` is converted, unchanged (same input as last time), copied (nothing to convert) or refused.
    """

    source: str
    output: str
    state: Literal["converted", "unchanged", "copied", "refused"]
    findings: tuple[Finding, ...] = ()
    substitutions: Mapping[str, int] = field(default_factory=dict)
    rules: Mapping[str, int] = field(default_factory=dict)
    lines: LineMap = LineMap()
    declares: tuple[str, ...] = ()
    unless: tuple[tuple[int, int, str], ...] = ()


@dataclass(frozen=True)
class Report:
    """A whole run: `engine` and `tool` say what did it, `changed_outputs` how many outputs changed on disk.

    `rules` are the faults of rules, `entries` the findings about what lies in the source and the output rather than about texts.
    """

    engine: str
    tool: str
    target: Target
    files: tuple[FileReport, ...]
    changed_outputs: int
    removed: tuple[str, ...] = ()
    rules: tuple[Finding, ...] = ()
    seconds: float = 0.0
    entries: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Those of the rules and of entries, then those of the files in order of path, line and column."""
        return self.rules + self.entries + tuple(f for file in self.files for f in file.findings)

    @property
    def faults(self) -> tuple[Finding, ...]:
        """What is wrong with the rules: those that match nothing, and those that match inside a longer identifier."""
        return self.rules + tuple(f for file in self.files for f in file.findings if f.rule == INSIDE_NAME)

    @property
    def losses(self) -> tuple[Finding, ...]:
        """The files and folders of the source that could not be read."""
        return tuple(f for f in self.entries if f.rule == NOT_CONVERTED and f.severity is Severity.ERROR)

    @property
    def substitutions(self) -> dict[str, int]:
        total: dict[str, int] = {}
        for file in self.files:
            for group, count in file.substitutions.items():
                total[group] = total.get(group, 0) + count
        return dict(sorted(total.items()))

    @property
    def worst(self) -> Severity | None:
        for severity in Severity:
            if any(f.severity is severity for f in self.findings):
                return severity
        return None
