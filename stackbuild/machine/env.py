"""The verb `env`: the environment worth setting for a GPU and a workload, and what to keep one's hands off. Pure."""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from stackbuild.core import yaml
from stackbuild.core.errors import UsageError
from stackbuild.core.model import Field, Model
from stackbuild.core.shell_words import shell_word
from stackbuild.core.versions import numbers
from stackbuild.tables import compatibility
from stackbuild.tables.gpu_names import names_near, products_of, targets_named
from stackbuild.tables.near_words import one_of
from stackbuild.tables.other_gpus import other_gpus_of
from stackbuild.tables.targets import GpuTarget, is_buildable

Workload = Literal["onnxruntime", "migraphx", "lc0", "pytorch"]
WORKLOADS: tuple[Workload, ...] = ("onnxruntime", "migraphx", "lc0", "pytorch")
FORMS = ("shell", "dotenv", "dockerfile")


class Setting(Model):
    """A variable worth setting."""

    name: str
    value: str
    when: tuple[Workload, ...]
    gfx: tuple[str, ...] = Field(default=(), description="Patterns of targets; all where empty.")
    since: str = Field(default="", description="The first ROCm it holds for; every one where empty.")
    folder: bool = Field(default=False, description="The value is a folder, which must be there.")
    why: str
    source: str


class VariableWarning(Model):
    """A variable not to set, or not for that reason; or a target, and what is wrong with it."""

    name: str
    since: str = Field(default="", description="The first ROCm it holds for; every one where empty.")
    why: str
    source: str


class _EnvironmentFile(Model):
    schema_: Literal[1] = Field(alias="schema")
    set: tuple[Setting, ...]
    beware: tuple[VariableWarning, ...]


@dataclass(frozen=True)
class Environment:
    """What `env` found: the GPU, what to set, and what of the given environment to take away."""

    gpu: str
    gfx: str
    workload: Workload
    settings: tuple[Setting, ...]
    warnings: tuple[VariableWarning, ...]


@cache
def _table() -> _EnvironmentFile:
    path = Path(__file__).with_name("environment.yaml")
    data, _ = yaml.compose(path.read_text("utf-8"), str(path))
    return _EnvironmentFile.model_validate(data)


def target_of(gpu: str) -> GpuTarget:
    """The target of a GPU's name or a gfx: `RX 7900 XTX`, `navi31`, `gfx942:xnack-`, a line of lspci. Raises UsageError.

    A name of several targets, such as `RDNA3`, is an error that lists them.
    """
    choices = targets_named(gpu.partition(":")[0] if is_buildable(gpu) else gpu)
    if len(choices) == 1:
        return choices[0]
    if choices:
        listing = "; ".join(f"{target.gfx} ({products_of(target)})" for target in choices)
        raise UsageError(
            f"{gpu!r} is {len(choices)} targets: {listing}",
            where="--gpu",
            next=f"name the one that is in the machine, such as {choices[0].gfx}; `rocminfo` prints it",
        )
    if other := other_gpus_of(gpu):
        raise UsageError(
            f"no ROCm has binaries for {gpu!r} ({other.maker})",
            where="--gpu",
            next=other.next,
        )
    close = names_near(gpu)
    raise UsageError(
        f"no GPU {gpu!r} is known: the table of AMD's products does not have it",
        where="--gpu",
        next=f"did you mean {', '.join(close)}?"
        if close
        else "give an AMD GPU's name, such as RX 7900 XTX, or its gfx target, as rocminfo prints it",
    )


def environment(
    gpu: str, workload: str, variables: Mapping[str, str], rocm: str = "", devices: tuple[str, ...] = ()
) -> Environment:
    """The rows for that GPU and workload, and warnings for what `variables` already has, and for a GPU without binaries.

    `rocm`, a version such as `7.2.4`, decides which rows hold (all, where it is not known), and goes into the names of folders
    that must not outlive it. `devices` are the only GPUs that the process shall see; every one where empty. Raises UsageError.
    """
    if workload not in WORKLOADS:
        raise UsageError(f"no workload {workload!r}", where="--workload", next=one_of(workload, tuple(WORKLOADS)))
    if rocm and not re.fullmatch(r"[0-9]+(\.[0-9]+)+(-[0-9]+)?", rocm):
        raise UsageError(f"{rocm!r} is not a version of ROCm", where="--rocm", next="write for example 7.2.4")
    for device in devices:
        if not re.fullmatch(r"[0-9]+|GPU-[0-9a-fA-F]+", device):
            raise UsageError(
                f"{device!r} is not a GPU's index or UUID", where="--device", next="write an index such as 0, or GPU-… of rocminfo"
            )
    target = target_of(gpu)
    table = _table()
    place = {"rocm": f"rocm-{rocm}" if rocm else "rocm", "gfx": target.gfx, "device": ",".join(devices)}
    fits = tuple(
        s.model_copy(update={"value": s.value.format(**place)})
        for s in table.set
        if workload in s.when
        and _holds(s, rocm)
        and (devices or "{device}" not in s.value)
        and (not s.gfx or any(fnmatch.fnmatchcase(target.gfx, p) for p in s.gfx))
    )
    warnings = (*_no_binaries(target, rocm), *(w for w in all_warnings(rocm) if w.name in variables))
    return Environment(gpu, target.gfx, next(w for w in WORKLOADS if w == workload), fits, warnings)


def _holds(row: Setting | VariableWarning, rocm: str) -> bool:
    return not rocm or numbers(_release(rocm)) >= numbers(row.since)


def _release(rocm: str) -> str:
    """`6.4.4` of `6.4.4-129`."""
    return rocm.partition("-")[0]


def _no_binaries(target: GpuTarget, rocm: str) -> tuple[VariableWarning, ...]:
    """A warning for a target that this ROCm of the compatibility table has no binaries for, or none of them; and for a ROCm
    that the table does not know."""
    table, source = compatibility.table(), "recipes/compatibility.yaml, gfx"
    targets = table.targets(_release(rocm))
    fails = "the first kernel launch fails, or crashes the process"
    if not any(target.gfx in row.targets for row in table.gfx):
        why = f"no ROCm that we know of ships code objects for it: {fails}"
    elif targets and target.gfx not in targets:
        why = f"ROCm {rocm} ships no code objects for it that we know of: {fails}. It has {', '.join(targets)}"
    elif rocm and not targets:
        why = f"whether ROCm {rocm} has code objects for {target.gfx} is not known: the table has no such ROCm"
        return (VariableWarning(name=f"ROCm {rocm}", why=why, source=source),)
    else:
        return ()
    return (VariableWarning(name=target.gfx, why=why, source=source),)


def all_warnings(rocm: str = "") -> tuple[VariableWarning, ...]:
    """Every variable there is a warning of, with that ROCm or at all."""
    return tuple(w for w in _table().beware if _holds(w, rocm))


def spell(environment: Environment, form: str) -> str:
    """The settings as lines of a shell, a dotenv file or a Dockerfile, each with its reason above it."""
    if form not in FORMS:
        raise UsageError(
            f"no form {form!r}",
            where="--format",
            next=f"{'`--json` prints JSON; ' * (form == 'json')}{one_of(form, tuple(FORMS))}",
        )
    lines = [f"# {environment.workload} on {' '.join(environment.gpu.split())} ({environment.gfx})"]
    for setting in environment.settings:
        lines += [f"# {setting.why} [{setting.source}]", *_lines(setting, form)]
    return "\n".join(lines) + "\n"


def _lines(setting: Setting, form: str) -> list[str]:
    """A setting in that form. A folder is made as well, where the form can; in a shell it lies in the user's own cache."""
    name, value = setting.name, setting.value
    if form == "shell" and setting.folder:
        own = value.replace("/var/cache/", "$HOME/.cache/")
        return [f'export {name}="{own}"; mkdir -p "${name}"']
    if form == "shell":
        return [f"export {name}={shlex.quote(value)}"]
    if form == "dotenv":
        return [*([f"# make it first: mkdir -p {shell_word(value)}"] if setting.folder else []), f"{name}={value}"]
    return [f"ENV {name}={value}", *([f"RUN mkdir -p {shell_word(value)}"] if setting.folder else [])]
