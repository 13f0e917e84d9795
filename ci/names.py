"""Names: what a module, a class, an alias, a function or a variable of this repository's Python is called.

A name is the noun of its value. A word such as `found` says how a value came about and not what it is, so no module,
package, function, parameter, variable, renamed import, constant or field of `stackbuild`, `kernels` and `ci` is called by a participle
alone: by a word that ends in -ed, or by the participle of an irregular verb. A value that is true or false may be called
so: `closed` says what is true. The text shows that a value is one: its annotation is `bool`, or its value or default is a
comparison, a `not` or a call such as `any`. `left` is the participle of `leave`, but for a function or class that also
names a `right`.

The fields of models, and of classes in the modules `DOCUMENTS`, are left out: they are keys of JSON and YAML documents. No
class and no alias is called by a participle. None has two meanings in the three trees and tests/support, and an
underscore before a name makes no other one. A function or method, private or not, is called by what it does or returns:
`merge_spans`, not `merged` and not `merged_of`. A property that is true or false, such as `closed` of Python's files, may be a participle.
The last word of a name states a type, and the annotation beside it agrees: `file_names` are of `str`, a `lock_path` is a
`Path` or its text, `missed_rungs` are of rungs (`NOUNS`). A name that says a wrong type misleads more than one that says
nothing.

`python ci/names.py` prints every violation and exits 1 if there is one.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from layout import ROOTS, STACKBUILD

IRREGULAR = frozenset(
    (
        *("arisen", "awoken", "beaten", "become", "begotten", "begun", "bent", "bereft", "besought", "bitten"),
        *("bled", "blown", "born", "borne", "bought", "bred", "broken", "brought", "built", "burnt", "caught"),
        *("chosen", "clung", "crept", "dealt", "done", "drawn", "dreamt", "driven", "drunk", "dug", "dwelt"),
        *("eaten", "fallen", "fed", "fled", "flung", "flown", "forbidden", "foregone", "foreseen", "forgiven"),
        *("forgone", "forgotten", "forsaken", "fought", "found", "frozen", "given", "gone", "got", "gotten"),
        *("grown", "heard", "held", "hewn", "hidden", "hung", "kept", "knelt", "knitted", "known", "laden"),
        *("laid", "lain", "leant", "leapt", "learnt", "led", "left", "lent", "lit", "lost", "made", "meant", "met"),
        *("mistaken", "misunderstood", "mown", "outdone", "outgrown", "overcome", "overdone", "overdrawn"),
        *("overridden", "overseen", "overtaken", "overthrown", "overwritten", "paid", "partaken", "pled"),
        *("proven", "rebuilt", "redone", "redrawn", "remade", "repaid", "resold", "resent", "rethought", "retold"),
        *("rewound", "rewritten", "ridden", "risen", "said", "sawn", "seen", "sent", "sewn", "shaken", "shaven"),
        *("shone", "shod", "shorn", "shot", "shown", "shrunk", "slain", "slept", "slid", "slung", "smelt"),
        *("smitten", "sold", "sought", "sown", "sped", "spelt", "spent", "spilt", "spoilt", "spoken", "sprung"),
        *("spun", "stolen", "stood", "stricken", "stridden", "striven", "strewn", "strung", "stuck", "stung"),
        *("stunk", "sunk", "sunken", "swept", "swollen", "sworn", "swum", "swung", "taken", "taught", "told"),
        *("torn", "trodden", "understood", "undertaken", "undone", "unwound", "upheld", "wept", "withdrawn"),
        *("withheld", "withstood", "woken", "won", "worn", "woven", "written", "wrung"),
        *("bidden", "clad", "cloven", "foretold", "mislaid", "misled", "outshone", "overheard", "overpaid", "overshot"),
        *("oversold", "slunk", "struck", "sung", "thriven", "thrown", "underpaid", "wrought"),
    )
)
"""The participles of English irregular verbs that are not also the verb itself or a noun, as `run`, `cut`, `bound` are."""
TRUTHS = frozenset(("all", "any", "bool", "callable", "hasattr", "isinstance", "issubclass"))
"""Functions of Python that return true or false."""
DOCUMENTS = frozenset(
    STACKBUILD.folder / place
    for place in (
        *("model", "bench/advice.py", "bench/error_metrics.py", "build/fetch.py", "checks/venv.py", "hipify/model.py"),
        *("hipify/rules/rules.py", "hipify/tables/tables.py", "hipify/tree/report_file.py", "inspection/facts.py"),
        *("pipeline/image.py", "pipeline/run_record.py", "publishing/publication.py", "remote/push.py", "sources/oci_writer.py"),
    )
) | {Path(__file__).resolve().parent / "campaign/frame.py"}
"""Packages and modules of values whose fields are keys: `--json` prints them, or a file or a digest has them."""
NOUNS = {
    "names": "Name|Text|str",
    "path": "Path|str",
    "paths": "Path|str",
    "rungs": "Rung|str",
    "findings": "Finding",
    "texts": "Text|str|bytes",
    "seconds": "float|int|str|Counter",
    "urls": "Url|str",
    "url": "Url|str",
    "sha256": "str",
}
"""Last words of names, and the types of which an annotation of such a name has one. Names of one word are left out."""
SUPPORT = Path(__file__).resolve().parent.parent / "tests" / "support"
"""What tests share: its types have names of their own, too."""
_CAMEL_CASE = re.compile(r"_?[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*")
_BOOL = re.compile(r"(?:Annotated\[)?bool\b")
_PARTICIPLE = re.compile(r"[a-z]+ed")
"""A word that ends as regular participles do."""
NOUNS_IN_ED = frozenset(
    (
        *("bed", "bleed", "breed", "creed", "deed", "embed", "exceed", "feed", "greed", "heed", "hundred", "indeed"),
        *("kindred", "knead", "led", "need", "proceed", "red", "reed", "sacred", "seabed", "seed", "shed", "shred", "sled"),
        *("speed", "steed", "succeed", "testbed", "thread", "tweed", "verneed", "wed", "weed", "zed"),
    )
)
"""Nouns, verbs and adjectives that end in -ed. `verneed` is the name of a section of ELF."""


def is_participle(name: str) -> bool:
    """Whether a name is one word, in any case and with any underscores around, and that a participle."""
    word = name.strip("_")
    if not (word.isalpha() and (word[1:].islower() or word.isupper())):
        return False
    word = word.lower()
    words = [word.removeprefix(prefix) for prefix in ("", "un", "re")]
    is_regular = bool(_PARTICIPLE.fullmatch(word)) and NOUNS_IN_ED.isdisjoint(words)
    return is_regular or not IRREGULAR.isdisjoint(words)


@dataclass(frozen=True)
class Binding:
    """A place that gives a value a name: its line, and what its text says of the value's type."""

    line: int
    name: str
    is_truth: bool


def bindings(path: Path, tree: ast.Module) -> Iterator[Binding]:
    """Every parameter, variable, attribute, field and renamed import, but for the fields of documents."""
    truths = frozenset(_bool_names(tree))
    is_document = bool({path, path.parent} & DOCUMENTS)
    for scope in ast.walk(tree):
        if isinstance(scope, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            is_model = isinstance(scope, ast.ClassDef) and any(ast.unparse(base) == "Model" for base in scope.bases)
            places = [] if is_model or (is_document and isinstance(scope, ast.ClassDef)) else list(_scope_bindings(scope, truths))
            has_pair = any(place.name.strip("_").lower() == "right" for place in places)
            yield from (place for place in places if not (has_pair and place.name.strip("_").lower() == "left"))


def _bool_names(tree: ast.Module) -> Iterator[str]:
    """The names that a module annotates as true or false."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and _is_bool(node.annotation):
            yield node.arg
        elif isinstance(node, ast.AnnAssign) and _is_bool(node.annotation):
            yield ast.unparse(node.target)


def _scope_bindings(scope: ast.AST, truths: frozenset[str]) -> Iterator[Binding]:
    """Those of one function, class or module, without those of the functions and classes in it."""
    nodes = list(_own_nodes(scope))
    values = dict(pair for node in (scope, *nodes) for pair in _assignments(node))
    for node in nodes:
        name, annotation = "", None
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            name = node.attr
        elif isinstance(node, ast.arg):
            name, annotation = node.arg, node.annotation
        elif isinstance(node, ast.alias) and node.asname:
            name = node.asname
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            name = node.name
        if name:
            value = values.get(id(node))
            is_truth = name in truths if annotation is None else _is_bool(annotation)
            yield Binding(node.lineno, name, is_truth or (value is not None and _is_truth(value, truths)))


def false_nouns(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Line, name and annotation of every parameter, variable and field whose last word states another type."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation:
            name, annotation = node.arg, ast.unparse(node.annotation)
        elif isinstance(node, ast.AnnAssign):
            name, annotation = ast.unparse(node.target).rpartition(".")[2], ast.unparse(node.annotation)
        else:
            continue
        first, _, noun = name.strip("_").lower().rpartition("_")
        is_truth = first.startswith(("is", "has")) or bool(_BOOL.match(annotation))
        if first and not is_truth and noun in NOUNS and not re.search(NOUNS[noun], annotation):
            yield node.lineno, name, annotation


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below a node, down to the functions and classes in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _own_nodes(child)


def _assignments(node: ast.AST) -> Iterator[tuple[int, ast.expr]]:
    """The identity of each target that a statement assigns to, or of a parameter, and the value or default."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield id(target), node.value
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(map(id, target.elts), node.value.elts, strict=False)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        names = [*node.args.posonlyargs, *node.args.args]
        yield from zip(map(id, reversed(names)), reversed(node.args.defaults), strict=False)
        yield from ((id(name), value) for name, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if value)
    elif isinstance(node, ast.NamedExpr | ast.AugAssign) or (isinstance(node, ast.AnnAssign) and node.value):
        yield id(node.target), node.value


def _is_bool(annotation: ast.expr | None) -> bool:
    return annotation is not None and bool(_BOOL.match(ast.unparse(annotation)))


def _is_truth(value: ast.expr, truths: frozenset[str]) -> bool:
    """Whether an expression is true or false, as far as its text shows it."""
    match value:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()) | ast.Constant(value=bool()):
            return True
        case ast.BoolOp(values=values):
            return all(_is_truth(each, truths) for each in values)
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            return _is_truth(one, truths) and _is_truth(other, truths)
        case ast.Call(func=ast.Name(id=name)):
            return name in TRUTHS or name.startswith("is_")
        case ast.Call(func=ast.Attribute(attr=name)):
            return name.startswith(("is_", "has_")) or name in ("exists", "startswith", "endswith")
        case ast.Name(id=name):
            return name in truths
    return False


def functions(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of every function and method, also within others; properties of type bool are not among them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_property = any(ast.unparse(one) in ("property", "cached_property") for one in node.decorator_list)
            if not (is_property and node.returns is not None and _is_bool(node.returns)):
                yield node.lineno, node.name


def types(path: Path, tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Line, name and meaning of every class and alias. A class means itself, an alias its expression."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.lineno, node.name, f"{path}:{node.name}"
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name) and _CAMEL_CASE.fullmatch(target.id):
                    yield statement.lineno, target.id, ast.unparse(statement.value)


def violations(paths: Iterable[Path]) -> Iterator[str]:
    """A sentence for each name of these modules that is a participle or states a wrong type."""
    for path in sorted(paths):
        module = path.parent.name if path.stem == "__init__" else path.stem
        if is_participle(module):
            yield f"{path}: the module `{module}` is called by a participle: name it by a noun"
        tree = ast.parse(path.read_text("utf-8"))
        for place in bindings(path, tree):
            if is_participle(place.name) and not place.is_truth and not _CAMEL_CASE.fullmatch(place.name):
                yield f"{path}:{place.line}: `{place.name}` says how the value came about: name what it is"
        for line, name, annotation in false_nouns(tree):
            yield f"{path}:{line}: `{name}` is annotated `{annotation}`: its last word states another type"
        for line, name in functions(tree):
            if is_participle(name.removesuffix("_of")):
                yield f"{path}:{line}: the function `{name}` is called by a participle: name what it does"
        for line, name, _ in types(path, tree):
            if is_participle(name):
                yield f"{path}:{line}: the type `{name}` is called by a participle: name it by a noun"


def clashes(paths: Iterable[Path]) -> Iterator[str]:
    """A sentence for each type of these modules whose name has another meaning in one of them.

    `_Row` and `Row` are one name.
    """
    meanings: dict[str, tuple[str, str]] = {}
    for path in paths:
        for line, name, meaning in types(path, ast.parse(path.read_text("utf-8"))):
            before, place = meanings.setdefault(name.strip("_"), (meaning, f"{path}:{line}"))
            if before != meaning:
                yield f"{path}:{line}: the type `{name}` has another meaning at {place}"


def modules() -> list[Path]:
    """The modules of `stackbuild`, `kernels` and `ci`."""
    return [path for tree in ROOTS for path in tree.modules.values()]


def main() -> int:
    paths = modules()
    lines = [*violations(paths), *clashes([*paths, *sorted(SUPPORT.rglob("*.py"))])]
    print("\n".join(lines) or f"names of {len(paths)} modules in {len(ROOTS)} trees: nothing found")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
