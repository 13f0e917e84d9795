"""What a set of wheels claims to be, by their facts: how they enter ONNX Runtime, and with which providers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from stackbuild.core.packaging import Claim
from stackbuild.inspection.facts import Facts, Library
from stackbuild.tables.providers import MIGRAPHX_PACKAGE


class Form(StrEnum):
    """How a wheel enters ONNX Runtime."""

    RUNTIME = "onnxruntime with its providers"
    PLUGIN = "plugin EP"
    CUSTOM_OPS = "custom-op library"
    OTHER = "neither a provider nor a custom-op library"


@dataclass(frozen=True)
class Subject:
    """`modules` are the import packages, `package` the one that exports get_library_path ('' in the other forms)."""

    form: Form
    wheels: tuple[Path, ...]
    modules: tuple[str, ...]
    package: str
    providers: tuple[str, ...]
    libraries: tuple[Library, ...]
    external: tuple[str, ...]
    requires: tuple[str, ...]
    claims: tuple[Claim, ...]

    @property
    def claim(self) -> Claim:
        """Where all its wheels can be installed: the most particular tags among them, and every Requires-Python."""
        tags = max((claim.tags for claim in self.claims), key=lambda tags: len(Claim(tags).pythons), default=())
        return Claim(tags, ",".join(filter(None, (claim.requires for claim in self.claims))))

    @property
    def preloads(self) -> tuple[str, ...]:
        """Its packages whose `preload()` has to be called before a session of ONNX Runtime: MIGraphX's libraries."""
        return tuple(name for name in self.modules if name == MIGRAPHX_PACKAGE and self.form is Form.RUNTIME)

    @property
    def name(self) -> str:
        return " + ".join(path.name for path in self.wheels)


def subject_of(all_facts: tuple[Facts, ...]) -> Subject:
    """The subject that wheels inspected together make."""
    libraries = tuple(lib for facts in all_facts for lib in facts.libraries)
    providers = tuple(provider for facts in all_facts for provider in facts.providers)
    forms = {provider.form for provider in providers}
    if any("OrtGetApiBase" in lib.exports for lib in libraries):
        form = Form.RUNTIME
    elif "plugin" in forms:
        form = Form.PLUGIN
    else:
        form = Form.CUSTOM_OPS if "custom-ops" in forms else Form.OTHER
    entry = next((p.path for p in providers if p.form in ("plugin", "custom-ops")), "")
    return Subject(
        form=form, wheels=tuple(Path(facts.path) for facts in all_facts),
        modules=tuple(sorted({_module(m) for f in all_facts if f.wheel for m in (*f.wheel.top_level, *_moved_names(f)) if _module(m)})),
        package=entry.split("/", 1)[0] if "/" in entry else "",
        providers=tuple(p.name for p in providers if p.form == "bridge") or (("CPUExecutionProvider",) if form is Form.RUNTIME else ()),
        libraries=libraries, external=tuple(sorted({n for f in all_facts if f.policy for n in f.policy.external})),
        requires=tuple(r for f in all_facts if f.wheel for r in f.wheel.requires),
        claims=tuple(Claim(f.wheel.filename_tags, f.wheel.requires_python) for f in all_facts if f.wheel),
    )  # fmt: skip


def installed_path(path: str) -> str:
    """Where in site-packages a file of a wheel comes to lie: `NAME.data/purelib/` and `platlib/` are emptied into it."""
    return re.sub(r"^[^/]+\.data/(purelib|platlib)/", "", path)


def _moved_names(facts: Facts) -> set[str]:
    """What the top of site-packages gets from the wheel's `.data` folder."""
    return {installed_path(m.path).split("/", 1)[0] for m in facts.members if installed_path(m.path) != m.path}


def _module(top: str) -> str:
    """The import name of something at the top of a wheel; '' for folders of grafted libraries and data."""
    name = re.sub(r"(\.cpython-[\w-]+|\.abi3)?\.(py|so)$", "", top)
    return name if name.isidentifier() else ""
