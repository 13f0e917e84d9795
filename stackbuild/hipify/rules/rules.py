"""Project rules: what a set of rules is, and how one is read from YAML with every mistake at its place.

A rule has one *kind*, which names what it matches, and says what it becomes:

    identifier  whole identifiers by name          pattern    whole identifiers by regular expression
    literal     text in code, never mid-identifier header     the file of an #include; `to: ""` drops it
    call        a function, to change arguments    namespace  `cub::` and `using namespace cub`
    fix         a mechanical fix of this package   shim       a support header, for the names it is needed for
    path        part of a file's path, by regular expression: in quoted includes and in the output's own path

See docs/hipify.md for each field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from stackbuild.core.digest import Json, of_value
from stackbuild.core.errors import Mistake, RecipeError
from stackbuild.core.yaml import KeyPath, Places, compose
from stackbuild.hipify.tables.tables import FLAVOURS

KINDS = ("identifier", "pattern", "literal", "header", "path", "call", "namespace", "fix", "shim")
FIELDS = {
    "id",
    "why",
    "link",
    "to",
    "files",
    "except",
    "rocm",
    "optional",
    "wrap",
    "insert",
    "drop",
    "count",
    "when",
    "arguments",
    "by_hand",
    "flavour",
    "bare",
    "members",
    "unless",
    "where",
    "before",
}
_ANY = frozenset({"id", "why", "link", "rocm", "optional", "flavour"})
_SCOPED_KEYS = _ANY | {"files", "except"}
TAKES = {
    "identifier": _SCOPED_KEYS | {"to", "bare", "unless", "where"},
    **dict.fromkeys(("pattern", "literal", "header"), _SCOPED_KEYS | {"to"}),
    "namespace": _SCOPED_KEYS | {"to", "members"},
    "path": _ANY | {"to"},
    "call": _SCOPED_KEYS | {"to", "wrap", "insert", "drop", "count", "arguments", "by_hand", "bare"},
    "fix": _SCOPED_KEYS,
    "shim": _SCOPED_KEYS | {"when", "where", "before"},
}
"""The fields of each kind beside the kind itself."""
FIXES = (
    "sync-masks", "cub-warps", "register", "launch-brackets", "tile-types", "least-versions", "own-overloads", "standard-names", "thread-positions", "thrust-headers",
    "vector-values", "pasted-names",
)  # fmt: skip
WHERE = ("complex-operators", "pair-operators", "extremes")
"""What a source may define for a rule to be for it."""
SUPPORT_PREFIX = "support:"
"""What the `to:` of a header rule begins with where it names a support header."""
PLACE = re.compile(r"\{(\d{1,3})\}")
"""Where an argument goes in the `arguments:` of a call rule."""
_LONGEST_PATTERN = 1000
_PATTERN_PART = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?:[*+?]|\{\d*,\d*\})\+|(\(\?>|[()|*+]|\{\d*,\d*\})", re.DOTALL
)
"""Parts of a pattern. Groups, alternatives and repeats count; escapes, sets and possessive repeats are passed over."""
_SUPPORT_NAME = re.compile(r"\w[\w.+-]*")
_BOUND = re.compile(r"(>=|<=|==|<|>)\s*([0-9]{1,9}(?:\.[0-9]{1,9}){0,9})$")
_GROUP_NAME = re.compile(r"^\?(?::|P<\w+>)")
_ARGUMENT = re.compile("[0-9]{1,3}")


@dataclass(frozen=True)
class ConversionRule:
    """One rule. `match` are the names, text or patterns; `to` what they become, for headers in order of preference.

    `files` and `excluded` are globs over the path in the source, `rocm` a range such as ">=6.0,<7.0". A rule that
    is not `optional` must match somewhere. `wrap` and `insert` are (argument index from 0, text) of call rules.
    `by_hand` reports each such call as one that no rule can convert. `arguments` is a whole new argument list, in which
    `{0}` is the first of `count` arguments. `flavours` are the target's that it applies to; empty means all. `bare`
    removes what only CUDA's name may carry: a call's explicit template arguments, the `struct` or `enum` before an
    identifier. `members` are names in a namespace `a::b` that identify it where the source omits `a::`.
    A file that has one of the names `unless` is not for the rule. With `where: complex-operators` it is for sources that
    define operators for CUDA's complex numbers, with `where: pair-operators` for those that define some for vectors of two
    floats or doubles, with `where: extremes` for CUDA files that call min or max. A support header that a header of the tree
    needs is included by each file that includes one of the headers `before`; so is one that no name needs, but a condition.
    """

    id: str
    kind: str
    match: tuple[str, ...]
    why: str
    place: str
    to: tuple[str, ...] | None = None
    link: str = ""
    files: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    rocm: str = ""
    optional: bool = False
    wrap: tuple[tuple[int, str], ...] = ()
    insert: tuple[tuple[int, str], ...] = ()
    drop: tuple[int, ...] = ()
    count: int | None = None
    when: tuple[str, ...] = ()
    arguments: str = ""
    by_hand: bool = False
    flavours: tuple[str, ...] = ()
    bare: bool = False
    members: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    where: str = ""
    before: tuple[str, ...] = ()

    @property
    def moves(self) -> bool:
        """Whether a call rule asks for other arguments, and not only for another form of some."""
        return bool(self.count is not None or self.insert or self.drop or self.arguments)

    def is_for_rocm(self, rocm: str) -> bool:
        """Whether the rule is for this ROCm version; an unknown version counts as the newest."""
        return not self.rocm or in_range(rocm, self.rocm)

    def is_for_target(self, rocm: str, flavour: str) -> bool:
        """Whether the rule is for this ROCm version and flavour."""
        return self.is_for_rocm(rocm) and (not self.flavours or flavour in self.flavours)

    def is_for(self, name: str) -> bool:
        """Whether the rule is for this file."""
        if self.files and not any(glob(g).fullmatch(name) for g in self.files):
            return False
        return not (self.excluded and any(glob(g).fullmatch(name) for g in self.excluded))


@dataclass(frozen=True, eq=False)
class RuleSet:
    """Rules of one or more sets in order of precedence. `shims` are the texts of support headers by name."""

    sets: tuple[str, ...] = ()
    rules: tuple[ConversionRule, ...] = ()
    shims: dict[str, str] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        return of_value([self.sets, [{**vars(r), "place": ""} for r in self.rules], self.shims])


def join(sets: list[RuleSet]) -> RuleSet:
    """Several sets as one, the first given first. Raises RecipeError where two rules have one id."""
    rules = tuple(rule for one in sets for rule in one.rules)
    by_id: dict[str, ConversionRule] = {}
    twice = []
    for rule in rules:
        if rule.id in by_id:
            twice.append(Mistake(rule.place, f"rule id {rule.id!r} is also at {by_id[rule.id].place}", "rename one"))
        by_id.setdefault(rule.id, rule)
    if twice:
        raise RecipeError(tuple(twice))
    shims = {name: text for one in reversed(sets) for name, text in one.shims.items()}
    return RuleSet(tuple(name for one in sets for name in one.sets), rules, shims)


@lru_cache(maxsize=64)
def version(text: str) -> tuple[int, ...]:
    """A version as numbers, without zeros at the end: "6.4.0" and "6.4" are the same."""
    numbers = [int(n) for n in re.findall(r"\d+", text)]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def is_rocm_version(text: str) -> bool:
    """Whether a text is a ROCm version: two or three numbers with dots, of which the first is no larger than ROCm's may be."""
    return re.fullmatch(r"[1-9]\d?\.\d{1,2}(?:\.\d{1,3})?", text) is not None


def in_range(rocm: str, bounds: str) -> bool:
    """Whether a ROCm version, "" for the newest, lies in bounds such as ">=6.0,<7.0"."""
    have = version(rocm) if rocm else (9999,)
    for bound in bounds.split(","):
        match = _BOUND.match(bound.strip())
        assert match is not None  # checked when the rule was read
        want = version(match.group(2))
        if not {">=": have >= want, "<=": have <= want, "==": have == want, "<": have < want, ">": have > want}[
            match.group(1)
        ]:
            return False
    return True


def _has_versions(bounds: str) -> bool:
    """Whether bounds that can be read have a version between them: each end, and what lies next to it, is tried."""
    numbers = [match.group(2) for b in bounds.split(",") if (match := _BOUND.match(b.strip()))]
    near = [*numbers, *(f"{n}.0.1" for n in numbers), *(f"{n}.1" for n in numbers), "0.0.1", ""]
    return any(in_range(one, bounds) for one in near)


def renamed_path(path: str, rules: Iterable[ConversionRule]) -> tuple[str, str]:
    """A path under path rules, and the id of the last rule that changed it ("" for none)."""
    by = ""
    for rule in rules:
        for pattern in rule.match:
            new_path = re.sub(pattern, rule.to[0] if rule.to else "", path)
            path, by = new_path, rule.id if new_path != path else by
    return path, by


_GLOBS: dict[str, re.Pattern[str]] = {}


def glob(pattern: str) -> re.Pattern[str]:
    """A path glob as a regular expression: `**/` any folders, `*` and `?` within one name, `{a,b}` alternatives."""
    if pattern not in _GLOBS:
        out = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*")
        out = out.replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
        out = re.sub(r"\\\{(.*?)\\\}", lambda m: "(?:" + m.group(1).replace(",", "|") + ")", out)
        _GLOBS[pattern] = re.compile(out)
    return _GLOBS[pattern]


def read(text: str, name: str) -> RuleSet:
    """The rule set of a YAML text; `name` is the file in messages. Raises RecipeError with every mistake."""
    data, places = compose(text, name)
    reader = _RuleReader(places)
    rules = reader.rules(data)
    if reader.mistakes:
        raise RecipeError(tuple(reader.mistakes))
    assert isinstance(data, dict)
    return RuleSet((str(data["name"]),), rules)


_WORDS_FOR_TO = ("replace", "replacement", "with", "becomes", "by", "new", "target", "into", "substitute", "rename", "then")
"""Other tools' words for what a name becomes."""


class _RuleReader:
    def __init__(self, places: Places) -> None:
        self.places = places
        self.mistakes: list[Mistake] = []

    def blame(self, path: KeyPath, what: str, next: str) -> None:
        self.mistakes.append(Mistake(self.places.of_value(path), what, next))

    def blame_key(self, path: KeyPath, keys: list[str]) -> None:
        what = f"unknown key {path[-1]!r}"
        self.mistakes.append(Mistake(self.places.of_key(path), what, f"known are {', '.join(keys)}"))

    def rules(self, data: Json) -> tuple[ConversionRule, ...]:
        if not isinstance(data, dict):
            self.blame((), "a rule set is a mapping", "begin with `schema: 1`, `name:` and `rules:`")
            return ()
        for key in data.keys() - {"schema", "name", "about", "rules"}:
            self.blame_key((key,), ["schema", "name", "about", "rules"])
        if data.get("schema") != 1:
            self.blame(("schema",), f"schema is {data.get('schema')!r}", "this stackbuild reads `schema: 1`")
        if not isinstance(data.get("name"), str):
            self.blame(("name",), "the set has no name", "add `name: NAME`")
        entries = data.get("rules")
        if not isinstance(entries, list) or not entries:
            self.blame(("rules",), "the set has no rules", "add a list `rules:`")
            return ()
        read = [self.rule(item, ("rules", i)) for i, item in enumerate(entries)]
        return tuple(rule for rule in read if rule is not None)

    def rule(self, item: Json, path: KeyPath) -> ConversionRule | None:
        if not isinstance(item, dict):
            self.blame(path, "a rule is a mapping", "write `- id: ID` and its fields below")
            return None
        before = len(self.mistakes)
        kinds = [k for k in KINDS if k in item]
        if len(kinds) != 1:
            self.blame(path, f"a rule has one kind, this has {len(kinds)}", f"give one of: {', '.join(KINDS)}")
            return None
        kind = kinds[0]
        for key in sorted(item.keys() - TAKES[kind] - {kind}):
            if key in FIELDS:
                self.mistakes.append(
                    Mistake(
                        self.places.of_key((*path, key)),
                        f"a {kind} rule has no `{key}`",
                        f"it takes {', '.join(sorted(TAKES[kind]))}",
                    )
                )
            elif key in _WORDS_FOR_TO and "to" in TAKES[kind] and "to" not in item:
                step = f"write `to: {item[key]}`" if isinstance(item[key], str) else "write `to:`"
                self.mistakes.append(Mistake(self.places.of_key((*path, key)), f"unknown key {key!r}", step))
                item = {**item, "to": item[key]}
            else:
                self.blame_key((*path, key), sorted(TAKES[kind]))
        rule = ConversionRule(
            id=self.text(item, path, "id", required=True),
            kind=kind,
            match=self.texts(item, path, kind),
            why=self.text(item, path, "why", required=True),
            place=self.places.of_value(path),
            to=self.texts(item, path, "to") if "to" in item else None,
            link=self.text(item, path, "link"),
            files=self.texts(item, path, "files"),
            excluded=self.texts(item, path, "except"),
            rocm=self.text(item, path, "rocm"),
            optional=self.flag(item, path, "optional"),
            wrap=self.indexed_texts(item, path, "wrap"),
            insert=self.indexed_texts(item, path, "insert"),
            drop=self.numbers(item, path, "drop"),
            count=next(iter(self.numbers(item, path, "count")), None),
            when=self.texts(item, path, "when"),
            arguments=self.text(item, path, "arguments"),
            by_hand=self.flag(item, path, "by_hand"),
            flavours=self.texts(item, path, "flavour"),
            bare=self.flag(item, path, "bare"),
            members=self.texts(item, path, "members"),
            unless=self.texts(item, path, "unless"),
            where=self.text(item, path, "where"),
            before=self.texts(item, path, "before"),
        )
        self.check(rule, path)
        return rule if len(self.mistakes) == before else None

    def check(self, rule: ConversionRule, path: KeyPath) -> None:
        """What a rule of each kind must have, and that its patterns and ranges can be read."""
        if not rule.match or "" in rule.match:
            self.blame((*path, rule.kind), "it names nothing", f"say what the {rule.kind} is")
        if rule.to is not None and len(rule.to) != 1 and rule.kind != "header":
            self.blame(
                (*path, "to"), f"`to` is {len(rule.to)} texts", "give one: only a header rule chooses among several"
            )
        self.check_support(rule, path)
        if rule.kind in ("identifier", "pattern", "literal", "header", "path", "namespace") and rule.to is None:
            self.blame(path, f"a {rule.kind} rule says what it becomes", "add `to:`")
        if rule.kind == "call":
            self.check_call(rule, path)
        if unknown_values := [f for f in rule.flavours if f not in FLAVOURS]:
            self.blame((*path, "flavour"), f"unknown flavour {unknown_values[0]!r}", f"known are {', '.join(FLAVOURS)}")
        if rule.kind == "fix" and (unknown_values := [m for m in rule.match if m not in FIXES]):
            self.blame((*path, "fix"), f"unknown fix {unknown_values[0]!r}", f"known are {', '.join(FIXES)}")
        if rule.where and rule.where not in WHERE:
            self.blame((*path, "where"), f"unknown condition {rule.where!r}", f"known are {', '.join(WHERE)}")
        if rule.kind == "shim" and not rule.when and not (rule.where and rule.before):
            self.blame(path, "a shim rule says for which names it is needed", "add `when: [NAME, …]`")
        if rule.rocm and not all(_BOUND.match(b.strip()) for b in rule.rocm.split(",")):
            self.blame((*path, "rocm"), f"{rule.rocm!r} is not a version range", 'write one such as ">=6.0,<7.0"')
        elif rule.rocm and not _has_versions(rule.rocm):
            self.blame((*path, "rocm"), f"no version is in {rule.rocm!r}", 'write one such as ">=6.0,<7.0"')
        if rule.kind in ("identifier", "call", "namespace"):
            for name in rule.match:
                is_qualified = rule.kind == "namespace" and re.fullmatch(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+", name)
                if not is_qualified and not re.fullmatch(r"[A-Za-z_]\w*", name):
                    self.blame((*path, rule.kind), f"{name!r} is not an identifier", "use `literal:` or `pattern:`")
        if rule.kind in ("pattern", "path"):
            self.check_patterns(rule, path)
        for _, text in rule.wrap:
            if text.count("{}") != 1:
                self.blame((*path, "wrap"), f"{text!r} has not one {{}}", "put {} where the argument goes")

    def check_support(self, rule: ConversionRule, path: KeyPath) -> None:
        """A support header is a file in the folder of that name, and in the root of the output."""
        named_target = (
            rule.match
            if rule.kind == "shim"
            else (t.removeprefix(SUPPORT_PREFIX) for t in rule.to or () if t.startswith(SUPPORT_PREFIX))
        )
        for name in named_target if rule.kind in ("shim", "header") else ():
            if not _SUPPORT_NAME.fullmatch(name):
                self.blame(
                    path, f"{name!r} is not the name of a support header", "name a file of `support/` beside the set"
                )

    def check_call(self, rule: ConversionRule, path: KeyPath) -> None:
        if not (rule.to or rule.wrap or rule.insert or rule.drop or rule.arguments or rule.by_hand or rule.bare):
            fix = "add `to:`, `wrap:`, `insert:`, `drop:` or `arguments:`, or `by_hand: true`"
            self.blame(path, "a call rule changes something", fix)
        if rule.arguments and (rule.wrap or rule.insert or rule.drop or rule.count is None):
            what = "`arguments:` is a whole list of arguments in place of `count:` others"
            self.blame((*path, "arguments"), what, "give `count:`, and neither `wrap:`, `insert:` nor `drop:`")
        numbers = [int(n) for n in PLACE.findall(rule.arguments)]
        if rule.count is not None and (beyond := [n for n in numbers if n >= rule.count]):
            self.blame(
                (*path, "arguments"), f"{{{beyond[0]}}} is none of {rule.count} arguments", "count them from {0}"
            )

    def check_patterns(self, rule: ConversionRule, path: KeyPath) -> None:
        for pattern in rule.match:
            if len(pattern) > _LONGEST_PATTERN:
                what = f"a pattern of {len(pattern)} characters"
                self.blame((*path, rule.kind), what, f"write several rules: {_LONGEST_PATTERN} is the most")
                continue
            if _is_endless(pattern):
                what = (
                    f"{pattern!r} repeats a group that repeats or has like alternatives inside, which may take for ever"
                )
                self.blame(
                    (*path, rule.kind), what, "write it with one repeat, or make the inner one possessive: `a++`"
                )
                continue
            try:
                regex = re.compile(pattern)
                if rule.to:
                    re.sub(pattern, rule.to[0], "")
                    _check_template(regex, rule.to[0])
            except (re.error, IndexError, OverflowError, RecursionError, ValueError) as error:
                self.blame((*path, rule.kind), f"{pattern!r}: {error}", "fix the regular expression or its `to:`")

    def text(self, item: dict[str, Json], path: KeyPath, key: str, required: bool = False) -> str:
        value = item.get(key, "")
        if not isinstance(value, str) or (required and not value.strip()):
            self.blame((*path, key), f"{key} is not a text", f"add `{key}: …`" if value == "" else f"quote `{key}:`")
            return ""
        return value

    def texts(self, item: dict[str, Json], path: KeyPath, key: str) -> tuple[str, ...]:
        value = item.get(key, [])
        entries = value if isinstance(value, list) else [value]
        for i, one in enumerate(entries):
            if not isinstance(one, str):
                where = (*path, key, i) if isinstance(value, list) else (*path, key)
                self.blame(where, f"{one!r} is not a text", "quote it")
        return tuple(one for one in entries if isinstance(one, str))

    def flag(self, item: dict[str, Json], path: KeyPath, key: str) -> bool:
        value = item.get(key, False)
        if not isinstance(value, bool):
            self.blame((*path, key), f"{key} is {value!r}", "write true or false")
        return value is True

    def numbers(self, item: dict[str, Json], path: KeyPath, key: str) -> tuple[int, ...]:
        value = item.get(key, [])
        entries = value if isinstance(value, list) else [value]
        if any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in entries):
            self.blame((*path, key), f"{key} is {value!r}", "write numbers counted from 0")
            return ()
        return tuple(n for n in entries if isinstance(n, int))

    def indexed_texts(self, item: dict[str, Json], path: KeyPath, key: str) -> tuple[tuple[int, str], ...]:
        value = item.get(key, {})
        if not isinstance(value, dict) or not all(
            _ARGUMENT.fullmatch(k) and isinstance(v, str) for k, v in value.items()
        ):
            self.blame((*path, key), f"{key} is not a mapping of argument numbers to text", f"write `{key}: {{0: …}}`")
            return ()
        return tuple((int(k), str(v)) for k, v in value.items())


def _is_endless(pattern: str) -> bool:
    """Whether a repeated group repeats inside, or has alternatives that may begin alike: on a name that does not match, it
    may be tried in more ways than there is time for."""
    groups, is_atomic, starts = [False], [False], [0]
    for part in _PATTERN_PART.finditer(pattern):
        match part[1]:
            case None:
                pass
            case "(" | "(?>":
                groups.append(False)
                is_atomic.append(part[1] == "(?>")
                starts.append(part.end())
            case ")":
                if len(groups) > 1:  # else it is not a pattern, and is refused
                    alternatives = _GROUP_NAME.sub("", pattern[starts.pop() : part.start()]).split("|")
                    inner = groups.pop() or _begin_alike(alternatives)
                    inner &= not is_atomic.pop()
                    again = _PATTERN_PART.match(pattern, part.end())
                    if inner and again and again[1] and again[1][0] in "*+{":
                        return True
                    groups[-1] |= inner
            case "|":
                pass
            case _:
                groups[-1] = True
    return False


def _begin_alike(alternatives: list[str]) -> bool:
    """Whether two alternatives of a pattern may match one beginning, as far as their first characters tell."""
    firsts = [alternative[:1] for alternative in alternatives]
    return len(firsts) > 1 and (len(set(firsts)) < len(firsts) or not all(re.match(r"\w", first) for first in firsts))


def _check_template(regex: re.Pattern[str], template: str) -> None:
    for number in re.findall(r"\\g?<?(\d{1,9})", template):
        if int(number) > regex.groups:
            raise IndexError(f"`to` names group {number} of {regex.groups}")
