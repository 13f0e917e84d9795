"""Rules about a wheel's metadata: RECORD, versions, dependencies, licence."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator

from stackbuild.core.install_paths import landing
from stackbuild.core.packaging import is_requirement
from stackbuild.inspection.expectations import Expectations
from stackbuild.inspection.facts import Facts, Member, RecordRow
from stackbuild.inspection.limits import HASHES
from stackbuild.inspection.readers.wheel import (
    is_specifier,
    local_of,
    normal_name,
    release_of,
    required_names,
    same_version,
)
from stackbuild.inspection.rules.rule import ERROR, NOTE, WARNING, SubjectEvidence, count_of, rule, some

_RECORD_SPEC = "https://packaging.python.org/en/latest/specifications/recording-installed-packages/"


def _unhashed_may(path: str) -> bool:
    """RECORD itself and signatures over it carry no hash."""
    return path.endswith((".dist-info/RECORD", ".dist-info/RECORD.jws", ".dist-info/RECORD.p7s"))


@rule(
    "SB-RECORD-HASH", ERROR, "RECORD does not hash every file",
    why="Without hashes nothing notices a damaged or swapped file. pip and uv install such wheels without a word; `wheel unpack`"
    " and package indexes refuse them.",
    fix="Write RECORD again: `wheel unpack` and `wheel pack`, or let `auditwheel repair` rewrite it.",
    link=_RECORD_SPEC,
)  # fmt: skip
def record_hash(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A row other than RECORD's own without a sha256 or stronger hash."""
    if facts.wheel is None:
        return
    rows = [row for row in facts.wheel.record if not _unhashed_may(row.path)]
    bare = [row.path for row in rows if row.hash.partition("=")[0] not in HASHES]
    if bare:
        yield "RECORD", f"{len(bare)} of {len(rows)} rows have no sha256: {some(bare)}"


@rule(
    "SB-RECORD-MISMATCH", ERROR, "RECORD is not what the wheel holds",
    why="Installers remove and check by RECORD. Files outside it stay behind forever, rows without a file break uninstalling, and"
    " a wrong hash means a file was changed after packing.",
    fix="Pack the wheel in one go, after the last strip or patchelf.",
    link=_RECORD_SPEC,
)  # fmt: skip
def record_mismatch(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """No RECORD; a file without a row; a row without a file, or twice; a hash or size that is not the file's."""
    metadata = facts.wheel
    if metadata is None:
        return
    if not metadata.has_record:
        yield "RECORD", "there is none"
        return
    by_path = {member.path: member for member in facts.members}
    rows: dict[str, list[RecordRow]] = defaultdict(list)
    for row in metadata.record:
        rows[row.path].append(row)
    for path in sorted(by_path.keys() - rows.keys()):
        if not _unhashed_may(path):
            yield path, "in the wheel but not in RECORD"
    for path, row_list in rows.items():
        if len(row_list) > 1:
            yield path, f"listed {len(row_list)} times in RECORD"
        if path not in by_path:
            yield path, "listed in RECORD but not in the wheel"
        else:
            yield from _row_against(row_list[0], by_path[path])


def _row_against(row: RecordRow, member: Member) -> Iterator[SubjectEvidence]:
    if row.size and row.size != str(member.size):
        yield row.path, f"RECORD says {row.size[:20]} bytes, it has {member.size}"
    kind, _, text = row.hash.partition("=")
    if member.digest and f"{kind}={_hex(text)}" != member.digest:
        yield row.path, f"its {kind} is not the one in RECORD"


def _hex(text: str) -> str:
    """The hex of an unpadded urlsafe base64 digest; '' where it is not one."""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).hex()
    except (binascii.Error, ValueError):
        return ""


@rule(
    "SB-META-NAME", ERROR, "The file name and METADATA disagree",
    why="An index and an installer file the wheel under different names or versions.",
    fix="Build the wheel again with one name and version.",
)  # fmt: skip
def meta_name(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Name or version of the file name is not that of METADATA, or METADATA has none."""
    metadata = facts.wheel
    if metadata is None:
        return
    if not metadata.metadata_name or not metadata.metadata_version:
        yield metadata.filename or "METADATA", "METADATA has no Name or no Version"
    elif metadata.filename and metadata.name and (
        normal_name(metadata.metadata_name) != metadata.name or not same_version(metadata.metadata_version, metadata.version)
    ):  # fmt: skip
        yield metadata.filename, f"METADATA says {metadata.metadata_name} {metadata.metadata_version}"


@rule(
    "SB-META-UNDECLARED", ERROR, "Importing needs a module that is not declared",
    why="In a clean environment `import` ends in ModuleNotFoundError; it works for the builder, who has it installed.",
    fix="Add the distribution to the wheel's dependencies.",
    link="https://packaging.python.org/en/latest/specifications/core-metadata/#requires-dist-multiple-use",
)  # fmt: skip
def undeclared_imports(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A module imported unconditionally, by Python or by an extension's numpy binding, has no requirement of its name, and no
    requirement could bring it. A wheel that requires more than numpy and its like gets SB-META-TRANSITIVE."""
    for path, module in () if _may_bring_more(facts) else _not_declared(facts):
        yield path, f"imports {module}; {_requires(facts)}"


#: Import names whose distribution is called differently.
_DISTRIBUTIONS = {"google": ("protobuf",), "yaml": ("pyyaml",), "PIL": ("pillow",), "cv2": ("opencv_python",)}


def _other_name(module: str, declared_modules: set[str]) -> bool:
    return any(
        name in declared_modules or any(d.startswith(name) for d in declared_modules)
        for name in _DISTRIBUTIONS.get(module, ())
    )


@rule(
    "SB-META-TRANSITIVE", WARNING, "Importing needs a module that only another distribution may bring",
    why="It works while a requirement of a requirement brings the module; a release of that one can end it. `verify` imports the"
    " wheel with its declared dependencies alone.",
    fix="Declare what is imported.",
    link="https://packaging.python.org/en/latest/specifications/core-metadata/#requires-dist-multiple-use",
)  # fmt: skip
def transitive(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A module imported unconditionally, no requirement of its name, and some requirement that always applies."""
    for path, module in _not_declared(facts) if _may_bring_more(facts) else ():
        yield path, f"imports {module}; {_requires(facts)}"


def _not_declared(facts: Facts) -> Iterator[tuple[str, str]]:
    """(file, module) of imports that no requirement has the name of."""
    if facts.wheel is None:
        return
    declared_modules = {name.replace("-", "_") for name in required_names(facts.wheel.requires)}
    beside = {p.form for p in facts.providers} & {"plugin", "custom-ops"}
    for each in facts.imports:
        if each.module == "onnxruntime" and beside:
            continue  # such packages must leave the choice of distribution to the user
        if normal_name(each.module).replace("-", "_") not in declared_modules and not _other_name(
            each.module, declared_modules
        ):
            yield each.path, each.module


def _requires(facts: Facts) -> str:
    return f"the wheel requires {(some(facts.wheel.requires) if facts.wheel else '') or 'nothing'}"


def _may_bring_more(facts: Facts) -> bool:
    """Whether a requirement that applies without an extra has requirements that nobody here knows of."""
    return bool(facts.wheel and set(required_names(facts.wheel.requires, extras=False)) - _ALONE)


_ALONE = frozenset(("numpy", "packaging", "protobuf", "typing-extensions", "flatbuffers", "setuptools"))
"""Distributions that require no other one."""


@rule(
    "SB-META-REQUIRES", ERROR, "A requirement that installers cannot read",
    why="pip and uv refuse the whole wheel, or install it without what it needs.",
    fix="Write it as PEP 508 says, `name>=1.2; python_version < '3.12'`; a build backend checks it.",
    link="https://packaging.python.org/en/latest/specifications/dependency-specifiers/",
)  # fmt: skip
def requires(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A `Requires-Dist` or `Requires-Python` of METADATA that does not parse."""
    if facts.wheel is None:
        return
    wrong = [text for text in facts.wheel.requires if not is_requirement(text)]
    if wrong:
        yield "METADATA", f"Requires-Dist: {some(text[:120] for text in wrong)}"
    if not is_specifier(facts.wheel.requires_python):
        yield "METADATA", f"Requires-Python: {facts.wheel.requires_python[:120]}"


@rule(
    "SB-META-WHEEL-VERSION", ERROR, "A wheel format that installers refuse",
    why="pip refuses a wheel of a newer major version, and one that does not say its version.",
    fix="Write `Wheel-Version: 1.0` into WHEEL; a build backend does it.",
    link="https://packaging.python.org/en/latest/specifications/binary-distribution-format/#file-contents",
)  # fmt: skip
def wheel_version(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """The `Wheel-Version` of WHEEL is missing, or its major number is not 1."""
    metadata = facts.wheel
    if metadata and metadata.filename and not re.fullmatch(r"1(\.\d+)*", metadata.wheel_version):
        yield "WHEEL", f"Wheel-Version: {metadata.wheel_version[:40] or 'missing'}"


@rule(
    "SB-META-ENTRY-POINT", ERROR, "An entry point that is not a command and no object",
    why="An installer writes a file of that name; a path in it can lead out of the folder for programs. A value of another form"
    " fails when it is started.",
    fix="Name it without a path, and write the value as `package.module:function`.",
    link="https://packaging.python.org/en/latest/specifications/entry-points/",
)  # fmt: skip
def entry_point(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A line of entry_points.txt whose name is a path, `..`, or holds control characters, or whose value is not
    `module` or `module:attribute`."""
    for each in facts.wheel.entry_points if facts.wheel else ():
        script = each.group in ("console_scripts", "gui_scripts")
        unclean = any(unicodedata.category(char) in ("Cc", "Cf") for char in each.name)
        if not each.name or unclean or (script and (re.search(r"[/\\]", each.name) or each.name in (".", ".."))):
            yield "entry_points.txt", f"the name {each.name!r} under [{each.group}]"
        if not _OBJECT.fullmatch(each.value):
            yield "entry_points.txt", f"the value {each.value!r} of {each.name!r}"


_OBJECT = re.compile(r"[\w.]+(\s*:\s*[\w.]+)?(\s*\[[^\]]*\])?")


@rule(
    "SB-WHEEL-STARTUP", ERROR, "The wheel puts code into every start of Python",
    why="A .pth file beside the packages and a sitecustomize module run whenever that Python starts, whether or not the package"
    " is imported. That is in pip, in other programs, and while another wheel is installed.",
    fix="Run the code when the package is imported.",
    link="https://docs.python.org/3/library/site.html",
)  # fmt: skip
def startup(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A .pth file, sitecustomize or usercustomize at the top of the wheel or of its .data/purelib and .data/platlib."""
    if facts.wheel is None:
        return
    for member in facts.members:
        place = landing(member.path)
        top, _, rest = place.partition("/")
        if (not rest and top.endswith(".pth")) or top.split(".")[0] in ("sitecustomize", "usercustomize"):
            yield member.path, "Python runs it at every start"


@rule(
    "SB-META-LICENCE", WARNING, "No licence file in the .dist-info",
    why="The licences of ONNX Runtime and of what is linked in ask that their text goes with every copy.",
    fix="Name it in `license-files` (METADATA: License-File).",
    link="https://peps.python.org/pep-0639/",
)  # fmt: skip
def licence(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """No licence file beside METADATA."""
    if facts.wheel and not facts.wheel.licence_files:
        yield facts.wheel.filename or "METADATA", "no licence, copying or notice file in the .dist-info"


@rule(
    "SB-META-DESCRIPTION", NOTE, "The project page would be empty or plain",
    why="`twine check --strict` refuses such a wheel, and an index shows no description.",
    fix="Set `readme` in pyproject.toml, or long_description and long_description_content_type.",
    link="https://packaging.python.org/en/latest/specifications/core-metadata/#description-content-type",
)  # fmt: skip
def description(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """No description, or one without its content type."""
    metadata = facts.wheel
    if metadata and not metadata.has_description:
        yield metadata.filename or "METADATA", "no description"
    elif metadata and not metadata.description_type:
        yield metadata.filename or "METADATA", "a description without Description-Content-Type"


@rule(
    "SB-VERSION-LOCAL", WARNING, "The local version will sort wrongly",
    why="`+rocm10.0` sorts below `+rocm7.0`: the segment is compared as text. The dotted form compares numbers.",
    fix="Write `+rocm.10.0`, from the first release on: the two forms do not sort together either.",
    link="https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers",
)  # fmt: skip
def version_local(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A local version such as `rocm7.2.4`, with the number glued to the word."""
    local = local_of(facts.wheel.version) if facts.wheel else ""
    if facts.wheel and re.match(r"[a-z]+\d", local):
        dotted_local = re.sub(r"([a-z])([0-9])", r"\1.\2", local, count=1)
        yield facts.wheel.version, f"the local part is {local}; {dotted_local} sorts rightly"


@rule(
    "SB-WHEEL-BUILD-INFO", ERROR, "The code is not of the version that the wheel claims",
    why="Users and bug reports go by the version; a wheel built from another branch has other code under that name.",
    fix="Check out the tag of the version, and build in a clean tree: sources without `.git`, as stackbuild's, name no commit.",
)  # fmt: skip
def build_info(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """ONNX Runtime's build information names a release branch of another version; or, with `--recipe`, another commit than
    the recipe's lock has for its source."""
    if facts.wheel is None:
        return
    release = release_of(facts.wheel.version)
    for hit in facts.texts:
        for sample in hit.samples if hit.kind == "build-info" else ():
            branch = re.search(r"git-branch=(rel-(\d+)\.(\d+)[\w.]*)", sample)
            if branch and release and (int(branch[2]), int(branch[3])) != release[:2]:
                yield hit.path, f"built from {branch[1]}; the wheel says {facts.wheel.version}"
            commit = re.search(r"git-commit-id=([0-9a-f]+)", sample)
            if expectations.commit and commit and not _same_commit(expectations.commit, commit[1]):
                yield hit.path, f"built from commit {commit[1]}; the lock says {expectations.commit[:12]}"


def _same_commit(one: str, two: str) -> bool:
    """Whether one is the other, or an abbreviation of it."""
    return one.startswith(two) or two.startswith(one)


@rule(
    "SB-DIST-SHARED-MODULE", NOTE, "The distribution installs another one's module",
    why="onnxruntime, onnxruntime-gpu, -rocm, -migraphx and others all install `onnxruntime/` and overwrite each other: the last"
    " one installed wins, file by file, and uninstalling one breaks the rest.",
    fix="Tell users to uninstall the others first, or ship a plugin EP beside the plain onnxruntime.",
    link="https://onnxruntime.ai/docs/execution-providers/plugin-ep-libraries/packaging.html",
)  # fmt: skip
def shared_module(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """A distribution with another name that installs `onnxruntime/`."""
    metadata = facts.wheel
    if metadata and "onnxruntime" in metadata.top_level and metadata.name not in ("", "onnxruntime"):
        yield metadata.name, "installs onnxruntime/, as other onnxruntime distributions do"


@rule(
    "SB-WHEEL-DUPLICATE", NOTE, "The same file several times",
    why="Wheels hold no links, so each copy is downloaded and installed.",
    fix="Ship one and load it by that name.",
)  # fmt: skip
def duplicate(facts: Facts, expectations: Expectations) -> Iterator[SubjectEvidence]:
    """Files of 64 KiB and more with equal size and CRC."""
    same: dict[tuple[int, int], list[str]] = defaultdict(list)
    for member in facts.members:
        if member.size >= 1 << 16 and member.crc32:
            same[member.size, member.crc32].append(member.path)
    for (size, _), paths in same.items():
        if len(paths) > 1:
            yield paths[0], f"{count_of(len(paths), 'copy')} of {size:,} bytes: {some(paths)}"


RULES = (
    record_hash, record_mismatch, meta_name, undeclared_imports, transitive, requires, wheel_version, entry_point, startup, licence,
    description, version_local, build_info, shared_module, duplicate,
)  # fmt: skip
