"""The target, or the targets, that a name of a GPU may mean: `navi31`, `RDNA3`, `gfx11`, and the lines of rocminfo and lspci.

gpu_names.toml has the names and their sources.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from stackbuild.tables.targets import (
    BUILDABLE,
    TARGETS,
    GpuTarget,
    is_buildable,
    plain_name,
    target_named,
)

TABLE = Path(__file__).with_name("gpu_names.toml")
_PCI_LINE = re.compile(
    r"^amdgcn-amd-amdhsa--|^.*\[AMD(?:/ATI)?\]\s*|\[[0-9a-f]{4}(?::[0-9a-f]{4})?\]|\(rev [0-9a-f]+\)", re.IGNORECASE
)
"""What `lspci` and `rocminfo` print around a name: triple; address, class and vendor, ids, revision."""
_CHIP_AND_PRODUCTS = re.compile(r"(?P<chip>[^\[\]]*)\[(?P<products>[^\[\]]*)\]\s*")
_FAMILY = re.compile(r"gfx(9[0-9a-f]?|1[0-9][0-9a-f]?)x?(?:-(?:all|dgpu|igpu|dcgpu))?")
"""The beginning of targets: `gfx11`, `gfx110X-all` of TheRock."""
_FEATURE_NAMES = ("xnack+", "xnack-", "sramecc+", "sramecc-")
_MISREAD = str.maketrans("oil", "011")


_SUFFIX = r"(?!\s*-?(?:(?!oc\b)(?:[a-z]{1,3}|super)\b|[0-9]{3}))"
"""What may not come after a product's name in a longer one: `XT` or `GRE` would be another product's."""
_MAKER_WORDS = ("radeon", "amd", "instinct", "pro", "graphics")


@cache
def _rows() -> dict[str, tuple[str, ...]]:
    """The targets of each name in the table, as the table writes it."""
    sections = tomllib.loads(TABLE.read_text("utf-8")).values()
    return {name: tuple(gfx) for section in sections for name, gfx in section.items() if name != "source"}


@cache
def names() -> dict[str, tuple[str, ...]]:
    """The targets of each name in the table, by the plain form of the name."""
    return {_plain(name): gfx for name, gfx in _rows().items()}


@cache
def _products() -> dict[str, str]:
    """Every product and every name of the table by its plain form; the first way to write it."""
    full = [*(product for target in BUILDABLE.values() for product in target.products), *_rows()]
    return {_plain(name): name for name in reversed(full)}


def targets_named(name: str) -> tuple[GpuTarget, ...]:
    """Every buildable target that the name may mean, none where it is not known. A product is more exact than its chip."""
    text = _PCI_LINE.sub("", name.strip()).strip()
    if match := _CHIP_AND_PRODUCTS.fullmatch(text):
        return _union(_parts(match["products"])) or _union(_parts(match["chip"]))
    return _single(text) or _union(_parts(text)) or _in_parentheses(name) or _inside(text)


def _single(text: str) -> tuple[GpuTarget, ...]:
    """The targets of one name."""
    if target := target_named(text):
        return (target,)
    plain = _plain(text)
    if plain in names():
        return tuple(BUILDABLE[gfx] for gfx in names()[plain])
    if match := _FAMILY.fullmatch(text.strip().lower()):
        return tuple(target for gfx, target in BUILDABLE.items() if gfx.startswith(f"gfx{match[1]}"))
    if len(plain) > 3 and any(sign.isdigit() for sign in plain):
        return _series(plain)
    return ()


def _series(plain: str) -> tuple[GpuTarget, ...]:
    """The targets of the products whose names begin so: `RX 7900`, `MI300`."""
    rows = {**names(), **{_plain(product): (gfx,) for gfx, target in BUILDABLE.items() for product in target.products}}
    whole = re.compile(re.escape(plain) + (r"(?!\d)" if plain[-1].isdigit() else ""))
    return tuple(
        BUILDABLE[gfx] for gfx in BUILDABLE if any(gfx in row for name, row in rows.items() if whole.match(name))
    )


def _inside(name: str) -> tuple[GpuTarget, ...]:
    """Those of the longest product in a longer name, as shops and boards have it: `Sapphire Pulse Radeon RX 7900 XTX 24GB`."""
    text = _without_memory(name)
    matches = [(len(plain), product) for plain, product in _products().items() if _pattern(product).search(text)]
    return _single(max(matches)[1]) if matches else ()


def _without_memory(name: str) -> str:
    """A name in small letters without the size of its memory, such as `24GB`."""
    return re.sub(r"\b[0-9]+ ?gb\b", "", name.lower())


@cache
def _pattern(product: str) -> re.Pattern[str]:
    """A product's name as whole words of a text. A number needs `RX` or `Radeon` before it."""
    words = [word for word in re.findall(r"[a-z]+|[0-9]+|\+", product.lower()) if word not in (*_MAKER_WORDS, "rx")]
    if not any(map(str.isdigit, words)):
        return re.compile(r"(?!)")
    before = r"\b(?:rx|radeon)[\s-]*" if words[0].isdigit() else r"(?<![a-z0-9])"
    return re.compile(before + r"[\s-]*(?:pro[\s-]*)?".join(map(re.escape, words)) + r"(?![a-z0-9+])" + _SUFFIX)


def _parts(text: str) -> Iterator[str]:
    """The names in a list such as `Radeon RX 7900 XT/7900 XTX`, or `Ryzen AI Max+ PRO 395 w/ Radeon 8060S`."""
    yield from (part for part in re.split(r"\bw/|/|\bor\b", text) if part.strip())


def _union(parts: Iterator[str]) -> tuple[GpuTarget, ...]:
    return tuple(dict.fromkeys(target for part in parts for target in _single(part)))


def _in_parentheses(name: str) -> tuple[GpuTarget, ...]:
    """Those of a name in parentheses: Mesa prints `AMD Radeon Graphics (RADV GFX1151)`."""
    return _union(word for group in re.findall(r"\(([^()]*)\)", name) for word in group.split())


def _plain(name: str) -> str:
    """A name without what counts for nothing; `3.5` keeps its digits."""
    return plain_name(name.replace(".", ""))


def products_of(target: GpuTarget) -> str:
    """Two of its products, for a list that a person chooses from."""
    return ", ".join(target.products[:2])


def names_near(name: str) -> list[str]:
    """Up to three names of targets and products that are like that one, the nearest first.

    A number is not guessed, but where two neighbouring digits after the first are in the other order: a product of
    another number is another GPU, often of another generation.
    """
    bare = plain_name(name)
    if (digits := f"gfx{bare.removeprefix('gfx').translate(_MISREAD)}") in BUILDABLE:
        return [digits]
    if bare.startswith("gfx"):
        return difflib.get_close_matches(bare, BUILDABLE, n=3, cutoff=0.7)
    series, number = _series_and_number(name)
    if number:
        same = _of_series(series, {number}) or _of_series(series, set(_transpositions(number)))
        ranks = {full: difflib.SequenceMatcher(None, bare, plain_name(full)).ratio() for full in same}
        return sorted(same, key=lambda full: -ranks[full])[:3]
    wordy = {plain: full for plain, full in _products().items() if not any(map(str.isdigit, plain))}
    longer = [plain for plain in wordy if len(bare) > 2 and plain.startswith(bare)][:3]
    return [wordy[near] for near in longer or difflib.get_close_matches(bare, wordy, n=3, cutoff=0.7)]


def _series_and_number(name: str) -> tuple[str, str]:
    """What comes before the number of a product, without the vendor's words, and that number: `ryzenai9hx` and `370`."""
    words = re.findall(r"[a-z+]+|[0-9]+", _without_memory(name))
    numbers = [place for place, word in enumerate(words) if len(word) > 2 and word.isdigit()]
    if not numbers:
        return "", ""
    before = [w for w in words[: numbers[-1]] if not difflib.get_close_matches(w, _MAKER_WORDS, n=1, cutoff=0.8)]
    return "".join(before), words[numbers[-1]]


def _of_series(series: str, numbers: set[str]) -> list[str]:
    """The products of one of these numbers, and of that series as far as one was named."""
    products = []
    for full in _products().values():
        other, number = _series_and_number(full)
        if number in numbers and (not series or difflib.SequenceMatcher(None, series, other).ratio() > 0.85):
            products.append(full)
    return products


def _transpositions(number: str) -> Iterator[str]:
    """The number with two neighbouring digits exchanged; the first, which is the generation's, stays."""
    for at in range(1, len(number) - 1):
        yield number[:at] + number[at + 1] + number[at] + number[at + 2 :]


def buildable_like(target_id: str) -> str:
    """The tail of an error message: what was probably meant."""
    gfx, _, features = target_id.partition(":")
    parts = [part for part in re.split(r"[\s,;]+", target_id) if part]
    if gfx in BUILDABLE and features:
        near = [difflib.get_close_matches(one, _FEATURE_NAMES, n=1, cutoff=0.4) for one in features.split(":")]
        features_near = sorted({one[0] for one in near if one})
        if (
            all(near)
            and [*features.split(":")] == [one[0] for one in near]
            and len({one[:3] for one in features_near}) == len(near)
        ):
            return f", whose features are not in the order of the alphabet; write {':'.join([gfx, *features_near])}"
        suggestion = f"; did you mean {':'.join([gfx, *features_near])}?" if all(near) and features_near else ""
        return f"; its features are {', '.join(_FEATURE_NAMES)}{suggestion}"
    if (match := re.fullmatch(r"(gfx[0-9a-f]+)[-_ .]*(xnack|sramecc)([+-]?)", target_id.lower())) and match[
        1
    ] in BUILDABLE:
        signs = match[3] or "+-"
        return f"; did you mean {' or '.join(f'{match[1]}:{match[2]}{sign}' for sign in signs)}?"
    if len(parts) > 1 and all(map(is_buildable, parts)):
        return f"; write each as an item of its own: [{', '.join(parts)}]"
    if (target := target_named(target_id)) and plain_name(target_id) == target.gfx:
        return f"; did you mean {target.gfx}?"
    if choices := targets_named(target_id):
        names = " or ".join(f"{choice.gfx} ({products_of(choice)})" for choice in choices)
        return f"; {target_id} is {choices[0].gfx if len(choices) == 1 else names}: " + (
            f"did you mean {choices[0].gfx}?" if len(choices) == 1 else "write those that you have, each as an item"
        )
    if re.match(r"sm_?\d|compute_", target_id):
        return "; it is one of NVIDIA's; AMD's begin with gfx: gfx942 is the MI300X, gfx1100 the RX 7900 XTX"
    if members := _members(target_id.strip().lower()):
        return f"; a recipe names each target: write {', '.join(members)}"
    if target_id in ("native", "auto", "all", "default"):
        return "; a recipe names its targets, as `rocminfo` prints them: gfx1100 for an RX 7900 XTX"
    if (version := re.search(r"(?<![\d.])(\d{1,2})\.(\d)\.(\d{1,2})(?![\d.])", target_id)) and (
        gfx_of_version := f"gfx{version[1]}{version[2]}{int(version[3]):x}"
    ) in BUILDABLE:
        return f"; did you mean {gfx_of_version}?"
    digits = f"gfx{gfx.lower().removeprefix('gfx').strip('-_ ').translate(_MISREAD)}"
    if digits in BUILDABLE:
        return f"; did you mean {digits}?"
    if digits in TARGETS:
        return f"; LLVM knows it, and no product of the table has it: remove it, or write one of {', '.join(BUILDABLE)}"
    close = difflib.get_close_matches(digits, BUILDABLE, n=3, cutoff=0.7) or names_near(target_id)
    return (
        f"; did you mean {' or '.join(close)}?"
        if close
        else f"; write what `rocminfo` prints as gfx…; known are {', '.join(BUILDABLE)}"
    )


_GENERIC = {
    "gfx9-generic": "gfx900 gfx906", "gfx9-4-generic": "gfx942 gfx950", "gfx10-1-generic": "gfx1010",
    "gfx10-3-generic": "gfx1030 gfx1031 gfx1032 gfx1034 gfx1035",
    "gfx11-generic": "gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153", "gfx12-generic": "gfx1200 gfx1201",
}  # fmt: skip
"""LLVM's generic targets and the processors of the table that each covers (AMDGPUUsage, "Generic Processors")."""


def _members(name: str) -> list[str]:
    """The targets that a generic target, a pattern such as `gfx11*` or a range such as `gfx1100-gfx1103` covers."""
    if name in _GENERIC:
        return _GENERIC[name].split()
    if name.startswith("gfx") and set("*?[") & {*name}:
        return fnmatch.filter(BUILDABLE, name)
    if ends := re.fullmatch(r"gfx([0-9a-f]+)\s*(?:-|\.\.\.?|to|:)\s*(?:gfx)?([0-9a-f]+)", name):
        first, last = (int(end, 16) for end in ends.groups())
        return [gfx for gfx in BUILDABLE if first <= int(gfx[3:], 16) <= last and len(gfx) == len(ends[1]) + 3]
    return []
