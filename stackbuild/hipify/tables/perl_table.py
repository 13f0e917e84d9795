"""Reads the tables out of a hipify-perl script, in the layout up to 6.x and the one since 7.0.

Up to 6.x the lists of names stand inside the functions that warn (`foreach $func ( "a", "b" )`); since 7.0 they are
arrays (`@HipOnlyUnsupportedFunctions = ("a", "b");`). Substitutions are `subst("from", "to", "group");` in both.
Read from hipify-perl 6.0.0, 7.0.2 and 7.2.4 as Debian packages them.
"""

from __future__ import annotations

import re
from itertools import pairwise

from stackbuild.core.errors import UsageError
from stackbuild.hipify.tables.tables import HostCall, Subst, Tables

_SUB = re.compile(r"^sub (\w+)", re.M)
_SUBST = re.compile(r'^\s*subst\("((?:[^"\\]|\\.)*)",\s*"((?:[^"\\]|\\.)*)",\s*"(\w+)"\);', re.M)
_HASH = re.compile(r"^my %(\w+) = \((.*?)^\);", re.M | re.S)
_PAIR = re.compile(r'"((?:[^"\\]|\\.)*)"\s*=>\s*"([^"]*)"')
_ARRAY = re.compile(r"^@(\w+) = \((.*?)^\);", re.M | re.S)
_FOREACH = re.compile(r"foreach \$func \((.*?)\n    \)\s*\{(.*?)\n    \}", re.S)
_QUOTED_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
_REWRITE = re.compile(r"\$k \+= s/((?:[^/\\]|\\.)*)/((?:[^/\\]|\\.)*)/g;")
_VERSION = re.compile(r"HIP version ([\d.]+)")

_LISTS = {
    "UnsupportedDeviceFunctions": "device_function",
    "UnsupportedDeviceDataTypes": "device_type",
    "HipOnlyUnsupportedFunctions": "hip",
    "UnsupportedFunctions": "hip",
    "RocOnlyUnsupportedFunctions": "roc",
    "MIOpenOnlyUnsupportedFunctions": "miopen",
    "HipDNNOnlyUnsupportedFunctions": "hipdnn",
}


def version_of(script: str) -> str:
    """The HIP version that a hipify-perl script says it supports, "?" where it says none."""
    match = _VERSION.search(script)
    return match.group(1) if match else "?"


def parse(script: str, digest: str) -> Tables:
    """The tables of a hipify-perl script. Raises UsageError where the text is not one."""
    bodies = _functions(script)
    simple = _substs(bodies.get("simpleSubstitutions", ""))
    if not simple:
        raise UsageError("no substitutions found: not a hipify-perl script", next="point HIPIFY_PERL at hipify-perl")
    hashes = {name: dict(_PAIR.findall(body)) for name, body in _HASH.findall(script)}
    return Tables(
        tool=f"hipify-perl {version_of(script)}",
        digest=digest,
        simple=simple,
        roc=_substs(bodies.get("rocSubstitutions", "")),
        miopen=_substs(bodies.get("MIOpenSubstitutions", "")),
        trial=_substs(bodies.get("experimentalSubstitutions", "")),
        unsupported=_unsupported_names(script, bodies),
        deprecated=hashes.get("deprecated_funcs", {}),
        removed=hashes.get("removed_funcs", {}),
        experimental=hashes.get("experimental_funcs", {}),
        whitelist=next(
            (tuple(_QUOTED_TEXT.findall(body)) for name, body in _ARRAY.findall(script) if name == "whitelist"), ()
        ),
        host_calls=_host_calls(bodies.get("transformHostFunctions", "")),
        device_types_count=bool(re.search(r"hasDeviceCode = .*device_type", script)),
    )


def _functions(script: str) -> dict[str, str]:
    starts = [(m.group(1), m.start()) for m in _SUB.finditer(script)]
    return {name: script[start:end] for (name, start), (_, end) in pairwise([*starts, ("", len(script))])}


def _substs(body: str) -> tuple[Subst, ...]:
    return tuple(Subst(_unescape(a), _unescape(b), group) for a, b, group in _SUBST.findall(body))


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _unsupported_names(script: str, bodies: dict[str, str]) -> dict[str, tuple[str, ...]]:
    lists = [(name, body) for name, body in _ARRAY.findall(script)]
    for name, body in bodies.items():
        if name.startswith("warn"):
            lists += [(name.removeprefix("warn"), match.group(1)) for match in _FOREACH.finditer(body)]
    by: dict[str, tuple[str, ...]] = {}
    for name, body in lists:
        if kind := _LISTS.get(name):
            for cuda in _QUOTED_TEXT.findall(body):
                if kind not in by.get(cuda, ()):
                    by[cuda] = (*by.get(cuda, ()), kind)
    return by


def _host_calls(body: str) -> tuple[HostCall, ...]:
    calls = []
    for match in _FOREACH.finditer(body):
        for pattern, replacement in _REWRITE.findall(match.group(2)):
            calls.append(HostCall(tuple(_QUOTED_TEXT.findall(match.group(1))), pattern, replacement))
    return tuple(calls)
