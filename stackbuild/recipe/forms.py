"""The patterns of a recipe's texts in words, with an example of each, and the text that was probably meant. Pure.

A message never shows a regular expression. `tests/unit/recipe/test_forms.py` fails for a pattern of the recipe's schema
that has no words here.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from stackbuild.core.sizes import SIZE, size_meant
from stackbuild.model.components import pinned_requirement
from stackbuild.tables.debian import DEBIAN_RELEASES


@dataclass(frozen=True)
class TextForm:
    """What a text of one pattern is made of, and one that is right."""

    words: str
    example: str


OPTION = r"^[A-Za-z_][A-Za-z0-9_.+-]*(:[A-Z]+)?$"
WHEEL_VERSION = r"^[0-9][A-Za-z0-9.+!-]*$"
_LOWER = "lower-case letters, digits, `-` and `_`, and begins with a letter"
FORMS = {
    r"^[a-z][a-z0-9_-]{0,47}$": TextForm(f"has at most 48 {_LOWER}", "my-part"),
    r"^[a-z][a-z0-9._-]{0,47}$": TextForm(
        "has at most 48 lower-case letters, digits, `.`, `-` and `_`, no spaces, and begins with a letter", "my-stack"
    ),
    r"^[A-Za-z_][A-Za-z0-9_]*$": TextForm("has letters, digits and `_`, and begins with no digit", "MY_VARIABLE"),
    SIZE: TextForm("is a size: a number with its unit, such as `500M`, `8G` or `1.5 GiB`", "8G"),
    r"^[A-Za-z0-9][A-Za-z0-9._-]*$": TextForm(
        "has letters, digits, `.`, `-` and `_`", "onnxruntime-linux-x64-migraphx"
    ),
    r"^[0-9][A-Za-z0-9.+]*$": TextForm(
        "is a version: it begins with a digit and has letters, digits, `.` and `+`", "1.22.1+rocm.7.2.4"
    ),
    r"^[A-Za-z0-9]+$": TextForm("is a provider's full name", "MIGraphXExecutionProvider"),
    r"^[A-Za-z0-9][A-Za-z0-9._/-]*$": TextForm("has letters, digits, `.`, `-`, `_` and `/`, and no spaces", "v1.22.1"),
    r"^([a-z0-9][a-z0-9.-]*:[0-9]{1,5}/)?[a-z0-9][a-z0-9./_-]*(:[A-Za-z0-9_.-]+)?(@sha256:[0-9a-f]{64})?$": TextForm(
        "is an image's name with a tag, without spaces", "rocm/dev-ubuntu-24.04:7.2.4-complete"
    ),
    OPTION: TextForm("is an option's name, without `-D` and without spaces", "GPU_TARGETS"),
    r"^[a-z]+$": TextForm("is the name of a suite of Debian's archive", "trixie"),
    r"^[a-z][a-z0-9-]{0,47}$": TextForm("is an area of Debian's archive", "main"),
    r"^[0-9.]+$": TextForm("is a version: numbers with dots", "3.31.10"),
    r"^/[A-Za-z0-9._/+-]*$": TextForm("is an absolute path in the base, without spaces", "/opt/rocm"),
    r"^/[A-Za-z0-9._/+-]+$": TextForm("is an absolute path in the base, without spaces", "/opt/rocm/include"),
    r"^[0-9]+\.[0-9]+(\.[0-9]+)?$": TextForm("is a version of ROCm: two or three numbers with dots", "7.2.4"),
    r"^[a-z0-9][a-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$": TextForm(
        "is a folder below `patches/`: lower-case letters, digits, `.`, `-` and `_`", "migraphx/2.15.0"
    ),
    r"^2\.[0-9]+(\.[0-9]+)?$": TextForm("is a version of MIGraphX: it begins with `2.`", "2.15.0"),
    r"^2\.(2[5-9]|[3-9][0-9])$": TextForm("is a version of the C library from 2.25 on", "2.28"),
    r"^HAS_[A-Z0-9_]+$": TextForm("is the name of a probe", "HAS_FIND_2_API"),
    r"^1\.[0-9]+\.[0-9]+$": TextForm("is a version of ONNX Runtime: `1.`, and two more numbers", "1.22.1"),
    r"^[A-Za-z0-9][A-Za-z0-9_-]*$": TextForm("is the name of a CMake package", "half"),
    r"^[a-z][a-z0-9/_-]*$": TextForm("is a folder that ships with stackbuild", "kernels"),
    r"^(https|ssh)://": TextForm("is a URL that begins with https:// or ssh://", "https://github.com/ROCm/rocMLIR"),
    r"^https://": TextForm("is a URL that begins with https://", "https://example.org/source-1.0.tar.gz"),
    r"^[0-9a-f]{64}$": TextForm("is 64 hexadecimal digits in lower case, as `sha256sum FILE` prints them", ""),
    r"^[a-z0-9][a-z0-9+.-]+$": TextForm("is the name of a Debian package, without a version", "hipify-perl"),
    r"^[A-Za-z0-9._-]+==[A-Za-z0-9.]+$": TextForm("is a package of the index with its version", "numpy==2.2.6"),
    r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$": TextForm(
        "has letters, digits, `.`, `-` and `_`, and no spaces", "my-package"
    ),
    WHEEL_VERSION: TextForm(
        "is a wheel's version: it begins with a digit and has letters, digits, `.` and `+`", "1.22.1+rocm.7.2.4"
    ),
    r"^[^\x00-\x1f\x7f\u0085\u2028\u2029]*$": TextForm("is one line, without control characters", "one line of text"),
}
"""By pattern, as the recipe's models have them."""

_AROUND = re.compile(r"""^(?:=\s+|[“‘`<]|["'](?=.*["']$))|(?:\s+//\s.*|[,;”’`>]|(?<=.)["'])$""")


def tidy(text: str) -> str:
    """The text without blanks, quotes, commas and comments around it, as it was probably meant; itself where it has none."""
    bare = text.strip()
    while bare and (less := _AROUND.sub("", bare, count=1).strip()) and less != bare:
        if bare[-1] in "\"'" and bare[:1] != bare[-1] and bare.count(bare[-1]) % 2 == 0:
            break  # a quoted word within the text, such as a marker's
        bare = less
    return bare or text


def is_archive_name(path: str) -> bool:
    """Whether a path or an address ends as an archive does that a source may name."""
    return re.search(r"\.(tar\.\w+|tgz|zip)$", path) is not None


FORM_OF_REF = r"^[A-Za-z0-9][A-Za-z0-9._/-]*$"
_GIT_URL, _ARCHIVE_URL = r"^(https|ssh)://", r"^https://"
_GLIBC = r"^2\.(2[5-9]|[3-9][0-9])$"
_DEBIAN_PACKAGE = r"^[a-z0-9][a-z0-9+.-]+$"
_SUITE = r"^[a-z]+$"
_NAMES = (
    *list(FORMS)[:3],
    OPTION,
    r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$",
    r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
    r"^[A-Za-z0-9]+$",
    r"^/[A-Za-z0-9._/+-]*$",
    r"^/[A-Za-z0-9._/+-]+$",
)
"""Patterns of names that the recipe gives: the words of such a text belong together."""


def words_of(pattern: str) -> str:
    """What a text of that pattern is made of."""
    return FORMS[pattern].words


def example_of(pattern: str) -> str:
    """A text of that pattern."""
    return FORMS[pattern].example


def advice(pattern: str, value: object, is_meant: bool = True) -> str:
    """The next step for a value that does not have that pattern: what was probably meant, or an example.

    With `is_meant` false the value gives no hint of it: `true` in place of a name.
    """
    if "@sha256:" in str(value):
        return "write all 64 hexadecimal digits after `@sha256:`, or a tag in place of the digest"
    if str(value).startswith("-D") and len(str(value)) < 4:
        return "write the option's name as the key and its value behind it: `NAME: VALUE`, without `-D`"
    if pattern in (OPTION, r"^[A-Za-z_][A-Za-z0-9_]*$") and (
        pair := re.fullmatch(r"\s*(?:-D\s*)?([A-Za-z_]\w*)(?::[A-Z]+)?\s*=\s*(.+)", str(value))
    ):
        return f"write `{pair[1]}: {pair[2]}`, with a colon and a blank"
    if str(value).startswith("-") and pattern == r"^[A-Za-z_][A-Za-z0-9_]*$":
        return "write the variable's name as the key and its value behind it, such as `CXXFLAGS: -O2`"
    if "*" in str(value) and pattern == FORM_OF_REF:
        return "write one tag, branch or commit: no pattern is looked for, such as `v1.22.1`"
    if pattern in (_GIT_URL, _ARCHIVE_URL) and (step := _of_own_disk(str(value), pattern)):
        return step
    candidates = _versions(str(value)) if pattern == WHEEL_VERSION else _candidates(str(value))
    if pattern == SIZE:
        candidates = chain((size_meant(str(value)),), candidates)
    if pattern == _GLIBC and (release := re.search(r"2[._](\d\d)(?!\d)", str(value))):
        candidates = chain((f"2.{release[1]}",), candidates)
    if pattern == _DEBIAN_PACKAGE:
        text = str(value).strip().lower()
        text = text.rpartition("/")[2].partition("_")[0] if text.endswith(".deb") else text
        candidates = chain((re.split(r"[=<>(/:\s]|_(?=\d)", text)[0],), candidates)
    if pattern == _SUITE:
        words = re.split(r"[^a-z0-9]+", str(value).lower())
        releases = [DEBIAN_RELEASES.get(word, word) for word in words]
        candidates = chain((each for each in releases if each in (*DEBIAN_RELEASES.values(), "sid")), candidates)
    if pattern == r"^[A-Za-z0-9]+$":
        candidates = chain((re.sub(r"\s+", "", str(value)),), candidates)
    if pattern == r"^[^\x00-\x1f\x7f\u0085\u2028\u2029]*$":
        candidates = chain(
            (" ".join(re.sub(r"[\x00-\x1f\x7f\u0085\u2028\u2029]", " ", str(value)).split()),), candidates
        )
    if name := re.match(r"([A-Za-z0-9][\w.-]*?)\s*(?:==|>=|<=|~=|<|>)\s*\d", str(value)):
        candidates = chain((name[1],), candidates)
    if pattern == OPTION:
        bare = re.sub(r"^-D\s*", "", str(value).strip()).partition("=")[0]
        candidates = chain((re.sub(r"\s+", "_", bare.strip()),), candidates)
    if pattern.startswith("^[a-z0-9][a-z0-9._-]*(/"):
        candidates = chain((re.sub(r"^(?:\./)?(?:patches/)?", "", str(value).strip()),), candidates)
    if pattern == r"^[A-Za-z0-9][A-Za-z0-9._-]*$":
        candidates = chain((str(value).strip().rpartition("/")[2],), candidates)
    if pattern == r"^[A-Za-z0-9._-]+==[A-Za-z0-9.]+$":
        candidates = chain((pinned_requirement(str(value)), f"{str(value).strip()}==VERSION"), candidates)
    if (
        pattern not in _NAMES
        and not pattern.startswith("^[^")
        and not re.search(r"\S\s+[:@]\S|^[A-Za-z]+\s+\d", str(value))
        and len(words := str(value).strip(" ,;").split()) > 1
        and pattern != SIZE
    ):
        candidates = chain(sorted(words, key=lambda word: not re.search(r"[/\d]", word)), candidates)
    suggestion = next((text for text in candidates if re.search(pattern, text) and text != value), "")
    if suggestion and is_meant:
        return f"write `{yaml_text(suggestion)}`"
    example = FORMS[pattern].example
    return f"write it such as `{yaml_text(example)}`" if example else _whole_digest(str(value))


def yaml_text(text: str) -> str:
    """A text as a recipe must have it to be a text: in quotes where YAML reads a number, a date or true and false."""
    is_other = re.fullmatch(
        r"[-+]?(?:\d[\d_]*)?\.?\d*(?:e[-+]?\d+)?|0[xo][0-9a-f]+|\d{4}-\d\d-\d\d|true|false|null|yes|no|on|off|~", text, re.IGNORECASE
    )
    return json.dumps(text) if is_other or ": " in text or " #" in text else text


def flow_text(value: object) -> str:
    """A value as one line of YAML has it: `[gfx90a, "3.10"]`, `{suite: trixie}`."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {flow_text(member)}' for key, member in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow_text, value))}]"
    if isinstance(value, bool) or value is None:
        return str(value).lower() if value is not None else "null"
    if not isinstance(value, str):
        return str(value)
    is_plain = re.fullmatch(r"[A-Za-z0-9_./-][^\[\]{},#\"'`\n]*", value) and not value.endswith(":") and not value.startswith("- ")
    return yaml_text(value) if is_plain else json.dumps(value, ensure_ascii=False)


def _whole_digest(value: str) -> str:
    """The next step for a digest that is not of SHA-256."""
    if subresource := re.fullmatch(r"(?i)\s*(?:sha256[-:])?([A-Za-z0-9+/_-]{43}=)\s*", value):
        digest = base64.b64decode(subresource[1].replace("-", "+").replace("_", "/"))
        return f"write `{digest.hex()}`: the same digest in hexadecimal"
    other = {32: "MD5", 40: "SHA-1", 128: "SHA-512"}.get(len(value)) if re.fullmatch(r"(?i)[0-9a-f]+", value) else None
    other = other or {"384": "SHA-384", "512": "SHA-512"}.get(value.strip().lower().removeprefix("sha")[:3])
    which = f"this is of {other}: " if other else ""
    return f"{which}write the whole digest, as `sha256sum FILE` prints it"


def _of_own_disk(value: str, pattern: str) -> str:
    """The next step for a path where an address stands; "" for what is not a path."""
    path = re.sub(r"^file://", "", value.strip())
    if pattern == _ARCHIVE_URL and re.fullmatch(r"[\w./~+-]+\.(?:tar\.\w+|tgz|zip)", path) and not re.match(r"[\w-]+(\.[\w-]+)*\.[a-z]{2,}/", path):
        return "unpack it in a folder beside the recipe, and write that as `path:` in place of `archive:` and `sha256:`"
    if pattern == _GIT_URL and re.match(r"/|~|\.\.?/", path):
        return "write `path:` in place of `git:` and `ref:`, with a folder beside the recipe"
    return ""


def _versions(value: str) -> Iterator[str]:
    """The text as a version by PEP 440, and with what follows the number as its local part."""
    from stackbuild.core.packaging import InvalidVersion, Version

    bare = value.strip(" ,;“”‘’\"'").removeprefix("v").removeprefix("V")
    local = re.sub(r"\+rocm(?=\d)", "+rocm.", re.sub(r"^([0-9.]+)[-_ ]", r"\1+", bare))
    for text in (bare, re.sub(r"^(\d{4})-(\d\d)-(\d\d)$", r"\1.\2.\3", bare), local):
        with contextlib.suppress(InvalidVersion):
            yield str(Version(text))


def _candidates(value: str) -> Iterator[str]:
    """What somebody may have meant by a text, the nearest first."""
    bare = value.strip(" \t\n,;“”‘’\"'[](){}")
    if len(bare.split()) > 2 and re.search(r"[\d/]", first := bare.split()[0].rstrip(",;")):
        yield first  # a comment without its `#`
    if image := re.fullmatch(
        r"(?:docker|oci|https?)://(?:hub\.docker\.com/(?:r|_)/|docker\.io/)?([^/]\S*?)(?:/tags\S*|/)?", bare
    ):
        yield image[1] if ":" in image[1].rpartition("/")[2] else f"{image[1]}:TAG"
    if image := re.fullmatch(r"(?!.*@sha256:)((?:[\w.-]+/)+[\w.-]+)[@:]([\w.-]*\d[\w.-]*)(?:[@:][\w.-]+)*", bare):
        yield f"{image[1]}:{image[2]}"
    if re.match(r"(?:git|ftp|svn|file|ssl|www)://[\w.-]+\.[a-z]+/", bare):
        yield f"https://{bare.partition('://')[2]}"
    if re.search(r"\S\s+[:@]\S", bare):
        yield re.sub(r"\s+(?=[:@])", "", bare)
    yield from _git_names(bare)
    yield bare
    yield re.sub(r"@(?=[0-9a-f]{64}$)", "@sha256:", bare)
    if bare.startswith(("sources.", "components.")):
        yield bare.partition(".")[2]
    yield bare.lower()
    yield re.sub(r"^([vV])\s+(?=\d)", r"\1", bare)
    yield re.sub(r"[\s_]+", "-", bare.lower())
    if bare[:1] in "vV":
        yield bare[1:]
    if digest := re.search(r"(?i)(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", bare):
        yield digest[0].lower()
    if bare.startswith("-D"):
        yield bare[2:].partition("=")[0]
    if bare.startswith("http://"):
        yield bare.replace("http://", "https://", 1)
    yield re.sub(
        r"^(https?|ssh|htps|htpps|hhtps)(?::/*|//|;//)(?=\w)",
        lambda scheme: f"{'ssh' if scheme[1] == 'ssh' else 'https'}://",
        bare,
    )
    if re.fullmatch(r"[\w-]+(\.[\w-]+)*\.[a-z]{2,}/\S+", bare):
        yield f"https://{bare}"
    if scp := re.fullmatch(r"([\w.-]+@[\w.-]+):([\w./~-]+)", bare):
        yield f"ssh://{scp[1]}/{scp[2]}"
    if "://" not in bare and not ("/" in bare and re.search(r"[:@]", bare)):
        yield re.sub(r"[^a-z0-9._-]+", "-", bare.lower()).strip("-._")
        yield re.sub(r"[^a-z0-9._-]+", "-", re.sub(r"^[^a-z]+", "", bare.lower())).strip("-._")
    yield re.sub(r"[^A-Za-z0-9_]+", "_", bare)
    if number := re.search(r"\d+(?:\.\d+)*", bare.replace(",", ".")):
        yield number[0]
        yield ".".join(number[0].split(".")[:3])


def _git_names(bare: str) -> Iterator[str]:
    """What git's own ways to write a branch, a tag or an address come to."""
    if name := re.fullmatch(r"(?:refs/(?:heads|tags|remotes/\w+)/|origin/|tags/|=)?([\w./-]*[\w-])(?:[~^]\S*)", bare):
        yield name[1]
    if name := re.fullmatch(r"git\+(https://\S+|ssh://\S+)", bare):
        yield name[1].removesuffix(".git")
    if name := re.fullmatch(r"(?:gh:|github:)?([\w.-]+/[\w.-]+)", bare):
        yield f"https://github.com/{name[1]}"
    if re.fullmatch(r"\d+\.\d+", bare):
        yield f"{bare}.0"
