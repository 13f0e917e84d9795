"""`wheel`: packs the wheel. The same input gives the same bytes: sorted names, fixed times and modes, RECORD last."""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import json
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackbuild.actions.job import Job
from stackbuild.actions.sbom import FILE_NAME, sbom
from stackbuild.core import digest
from stackbuild.core.errors import StepFailed
from stackbuild.model.materials import Material, read_materials
from stackbuild.publishing.wheel_readme import kind_of, readme

if TYPE_CHECKING:
    from stackbuild.inspection.facts import Facts, Policy

DEFLATE_LEVEL = 6


def do(job: Job) -> dict[str, str]:
    """Write one wheel into `job.out`. Notes: `wheel`, its file name."""
    meta: dict[str, Any] = {
        name: value if name in ("materials", "packer", "python", "time") else json.loads(value)
        for name, value in job.params.items()
    }
    from stackbuild.inspection import inspect  # auditwheel's policies are slow to import

    root = job.inputs[job.step.needs[0].step]
    members = _members(root, meta["packages"], job.step.name)
    python = meta.get("python", "")
    facts = inspect(root)
    tag = f"{f'{python}-{python}' if python else 'py3-none'}-{_platform(facts.policy, tuple(meta['external']), job.step.name)}"
    distribution = meta["distribution"].replace("-", "_").replace(".", "_").lower()
    stem = f"{distribution}-{meta['version'].replace('-', '_')}"
    info = f"{stem}.dist-info"
    texts = {f"{info}/METADATA": _metadata(meta, _description(root, meta, facts)), f"{info}/WHEEL": _wheel(tag)}
    texts |= {f"{info}/licenses/{path}": _text(root, path, job.step.name) for path in meta["license_files"]}
    materials = (*read_materials(meta["materials"]), *_libraries(root, members, facts))
    texts[f"{info}/sboms/{FILE_NAME}"] = sbom(
        meta["distribution"], meta["version"], meta["license"], materials, int(meta["time"])
    ).decode()
    name = f"{stem}-{tag}.whl"
    with zipfile.ZipFile(job.out / name, "w") as archive:
        writer = _Writer(archive, time.gmtime(int(meta["time"]))[:6])
        for member in members:
            source = _file(root, member, job.step.name)
            writer.add(member, source.read_bytes(), 0o755 if source.stat().st_mode & 0o100 else 0o644)
        for member, text in texts.items():
            writer.add(member, text.encode())
        writer.add_record(f"{info}/RECORD")
    return {"wheel": name}


def _text(root: Path, name: str, step: str) -> str:
    if not (root / name).is_file():
        raise StepFailed(f"`license_files` names {name}, which the component did not install", where=step)
    return _file(root, name, step).read_text("utf-8")


def _file(root: Path, name: str, step: str) -> Path:
    """A file of the component's output, through links if they stay inside: a step may have left one to the machine's."""
    place = (root / name).resolve()
    if not place.is_relative_to(root.resolve()):
        raise StepFailed(f"{name} is a link out of the component's output", where=step, next="install a file there")
    return place


def _members(root: Path, packages: list[str], step: str) -> list[str]:
    members = []
    for package in packages:
        if not (root / package).is_dir():
            there = ", ".join(sorted(p.name for p in root.iterdir())) or "nothing"
            raise StepFailed(f"no package `{package}` in the component's output, which has: {there}", where=step)
        members += [str(p.relative_to(root)) for p in (root / package).rglob("*") if p.is_file()]
    return sorted(members)


def _libraries(root: Path, members: list[str], facts: Facts) -> list[Material]:
    """The libraries that lie in the wheel, and the sonames that it needs from outside."""
    paths = {library.path for library in facts.libraries} & set(members)
    bundled_libraries = [
        Material("bundled-library", path, "", f"file:{path}", "", (("sha256", digest.of_file(root / path)),))
        for path in sorted(paths)
    ]
    outside = facts.policy.external if facts.policy else ()
    return [*bundled_libraries, *(Material("external-library", soname, "", f"soname:{soname}") for soname in outside)]


def _platform(policy: Policy | None, external: tuple[str, ...], step: str) -> str:
    """The platform tag that is honest: the manylinux policy the libraries satisfy, were the `external` sonames there.

    Anything else they need from outside the policy makes it a plain `linux_x86_64`. A pattern of `external` that no
    library matches is an error: such a one once let 890 MB of ROCm into a wheel (aiter#5318).
    """
    if policy is None:
        return "any"
    for pattern in external:
        if not fnmatch.filter(policy.external, pattern):
            needed_names = ", ".join(policy.external) or "nothing from outside"
            raise StepFailed(f"`external` has {pattern}, which no library needs; they need: {needed_names}", where=step)
    outside = [name for name in policy.external if not any(fnmatch.fnmatchcase(name, p) for p in external)]
    return "linux_x86_64" if outside else policy.name


@dataclass
class _Writer:
    """Writes the members of a wheel, all with one time, and collects their RECORD rows."""

    archive: zipfile.ZipFile
    moment: tuple[int, ...]
    rows: list[str] = field(default_factory=list)

    def add(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """Write a member and its RECORD row: urlsafe base64 of the sha256 without padding, as the wheel format has it."""
        encoded_digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        quoted_name = f'"{name}"' if "," in name else name
        self.rows.append(f"{quoted_name},sha256={encoded_digest},{len(data)}\n")
        self._write(name, data, mode)

    def add_record(self, name: str) -> None:
        """Write RECORD itself, whose own row has no digest."""
        self._write(name, "".join([*self.rows, f"{name},,\n"]).encode(), 0o644)

    def _write(self, name: str, data: bytes, mode: int) -> None:
        info = zipfile.ZipInfo(name, self.moment)  # type: ignore[arg-type]
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        info.create_system = 3
        self.archive.writestr(info, data, compresslevel=DEFLATE_LEVEL)


def _description(root: Path, meta: dict[str, Any], facts: Facts) -> str:
    package = meta["packages"][0]
    module = root / package / "__init__.py"
    kind = kind_of(package, module.read_text("utf-8", "replace") if module.is_file() else "")
    targets = [summary.target for summary in facts.targets]
    outside = facts.policy.external if facts.policy else ()
    return readme(f"{meta['distribution']} {meta['version']}", meta["summary"], package, kind, targets, outside)


def _metadata(meta: dict[str, Any], description: str) -> str:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {meta['distribution']}",
        f"Version: {meta['version']}",
        f"Summary: {meta['summary']}",
        f"License-Expression: {meta['license']}",
        f"Requires-Python: {meta['requires_python']}",
    ]
    lines += [f"License-File: {path}" for path in meta["license_files"]]
    lines += [f"Requires-Dist: {requirement}" for requirement in meta["requires"]]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", description])


def _wheel(tag: str) -> str:
    return f"Wheel-Version: 1.0\nGenerator: stackbuild\nRoot-Is-Purelib: false\nTag: {tag}\n"
