"""What the value of each option is, with an example: a wrong one is refused before the command does anything.

A command tests what only it can know, such as whether a step is in a recipe. `tests/unit/cli/test_option_forms.py` fails for
an option of a command that has no form here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from stackbuild.core.errors import UsageError
from stackbuild.core.shell_words import shell_word
from stackbuild.recipe.near_path import near_path
from stackbuild.tables.near_words import one_of


@dataclass(frozen=True)
class OptionForm:
    """What an option takes, in words behind "write", and a value that is right.

    What is tested: that it is one of `choices`, that it has the pattern, that the file or folder is there. A text
    without any of these is tested for being empty alone.
    """

    takes: str
    example: str
    is_of: Literal["text", "file", "folder"] = "text"
    pattern: str = ""
    choices: tuple[str, ...] = ()


_ADDRESS = OptionForm(
    "the scheduler's address", "tcp+tls://host.example.org:8786", pattern=r"(?:tcp(?:\+tls)?|tls)://.+:\d+"
)
_SHAPE = OptionForm(
    "an input's name and shape", "input=1x3x224x224", pattern=r"[^=]+=(?:\d+(?:[x,]\d+)*)?|\d+(?:[x,]\d+)*"
)
_SIGN_KEY = OptionForm("the path of an OpenSSH ed25519 private key", "release.key", "file")
_PUBLIC_KEY = OptionForm("the path of a public key or an allowed_signers file", "release.key.pub", "file")
_URL = OptionForm("an address", "https://wheels.example.org/simple", pattern=r"[a-z][a-z0-9+.-]*:.+|\{root\}.*|.*/.*")
_NEW_FILE = OptionForm("the path of the file to write", "report.html")

FORMS: dict[str, OptionForm] = {
    "--against": OptionForm("a provider", "cpu"),
    "--allow-path": OptionForm("a folder that is there", "../sources", "folder"),
    "--at-least": OptionForm("a whole number from 0", "1"),
    "--baseline": OptionForm("a wheel or a results file", "old.whl"),
    "--baseline-lock": OptionForm("the path of a lock", "old.whl.lock.yaml", "file"),
    "--batch": OptionForm("a whole number from 1", "8"),
    "--budgets": OptionForm("the path of a file of budgets", "kernels/budgets.toml", "file"),
    "--build-on": OptionForm("a runner's label", "ubuntu-24.04"),
    "--bundle": OptionForm("a new folder", "bundle"),
    "--cache": OptionForm("a folder", "cache"),
    "--candidate": OptionForm("a wheel or a results file", "new.whl"),
    "--candidate-lock": OptionForm("the path of a lock", "new.whl.lock.yaml", "file"),
    "--check-gpu": OptionForm("a gfx target", "gfx1100"),
    "--check-install": OptionForm("Pythons", "3.11..3.13"),
    "--check-root": OptionForm("a folder with a root file system", "/srv/root", "folder"),
    "--check-word": OptionForm("a word for hipcc", "--check-word=-DNDEBUG"),
    "--clock": OptionForm("wall or device", "wall", choices=("wall", "device")),
    "--compat": OptionForm("hipify", "hipify"),
    "--days": OptionForm("a number of days", "30"),
    "--device": OptionForm("a GPU's index or UUID", "0"),
    "--devices": OptionForm("indices of GPUs", "0,1", pattern=r"\d+(?:,\d+)*"),
    "--digest": OptionForm(
        "the 64 digits that `fetch --bundle` printed", "0123456789abcdef" * 4, pattern=r"(?:sha256:)?[0-9a-f]{64}"
    ),
    "--dtype": OptionForm("an element type", "float16"),
    "--emulate": OptionForm("gfx targets", "gfx1100"),
    "--emulated": OptionForm("a gfx target", "gfx1100"),
    "--engine": OptionForm("fast, perl or clang", "fast"),
    "--errors": OptionForm("the path of a compiler's output, or `-`", "build.log"),
    "--exclude": OptionForm("a glob of paths", "'tests/*'"),
    "--flavour": OptionForm("hip, roc or miopen", "hip"),
    "--format": OptionForm("a format", "json"),
    "--from": OptionForm("a remote's address", "oci://registry.example.org/stack"),
    "--gates": OptionForm("the path of a YAML file with `gates:`", "gates.yaml", "file"),
    "--gfx": OptionForm("a gfx target of the recipe", "gfx1100"),
    "--gpu": OptionForm("a product or a gfx target", "'RX 7900 XTX'"),
    "--hip-macro": OptionForm("a macro's name", "USE_HIP", pattern=r"[A-Za-z_]\w*"),
    "--hipify-clang": OptionForm("the path of hipify-clang", "/opt/rocm/bin/hipify-clang"),
    "--hipify-perl": OptionForm("the path of hipify-perl", "/opt/rocm/bin/hipify-perl"),
    "--history": OptionForm("the path of a history", "history.jsonl"),
    "--html": _NEW_FILE,
    "--include": OptionForm("a glob of paths", "'src/*.cu'"),
    "--install-from": OptionForm(
        "where runners get stackbuild", "git+https://example.org/stackbuild@0123456789abcdef0123456789abcdef01234567"
    ),
    "--jobs": OptionForm("a whole number", "8"),
    "--junit": OptionForm("the path of the file to write", "result.xml"),
    "--key": _PUBLIC_KEY,
    "--launch": OptionForm("keep or ggl", "keep"),
    "--library": OptionForm("the path of a library of custom operators", "libkernels.so", "file"),
    "--limit": OptionForm("a number of bytes from 1000", "1048576"),
    "--machine": OptionForm("this machine's name", "gfx1100"),
    "--markdown": OptionForm("the path of the file to write", "result.md"),
    "--max-size": OptionForm("a size", "8G"),
    "--memory": OptionForm("a size", "16G"),
    "--metric": OptionForm("a metric", "latency"),
    "--mirror": OptionForm("a folder that `stackbuild fetch --bundle` made", "bundle", "folder"),
    "--mix": OptionForm("batches and their weights, or a file of them", "1:70,8:30"),
    "--model": OptionForm("a model's name", "resnet50"),
    "--name": OptionForm("a name", "builder-1"),
    "--nodes": OptionForm("a share", "90%"),
    "--on": _ADDRESS,
    "--only": OptionForm("a step's name", "wheel"),
    "--option": OptionForm("a provider option as KEY=VALUE", "device_id=0"),
    "--out": OptionForm("the path to write to", "results.json"),
    "--plugin": OptionForm("the path of a plugin's library", "libonnxruntime_ep.so", "file"),
    "--proof": OptionForm("a folder of statements", "statements", "folder"),
    "--provider": OptionForm("a provider", "migraphx"),
    "--public-key": _PUBLIC_KEY,
    "--publish-on": OptionForm("a runner's label", "release"),
    "--pull-requests-on": OptionForm("a runner's label", "ubuntu-24.04"),
    "--python": OptionForm("the path of an interpreter", "python3.12"),
    "build --python": OptionForm("a Python of the recipe", "3.12"),
    "plan --python": OptionForm("a Python of the recipe", "3.12"),
    "--reason": OptionForm("a sentence", "'wrong results on gfx1100'"),
    "--recipe": OptionForm("a bundled recipe's name or a path", "debian-13"),
    "report --format": OptionForm("a format", "html", choices=("html", "markdown", "junit", "json")),
    "--release-key": OptionForm("the id of a credential", "release-key"),
    "--remote": OptionForm("a remote's address", "oci://registry.example.org/stack", pattern=r"[a-z][a-z0-9+.-]*:.+|.*/.*"),
    "--remove-when": OptionForm("when the patch can go", "'ONNX Runtime 1.24'"),
    "--require": OptionForm("rungs", "load,gpu"),
    "verify-release --require": OptionForm("kinds of statements", "provenance,sbom"),
    "--retention-days": OptionForm("a whole number of days", "30"),
    "--rocm": OptionForm("a version of ROCm", "7.2.4"),
    "--root": OptionForm("a name", "rocm-7.2/simple"),
    "verify --root": OptionForm("a folder with a root file system", "/srv/root", "folder"),
    "--rounds": OptionForm("a whole number from 1", "5"),
    "--rules": OptionForm("a rule set's name or a .yaml file", "generic"),
    "--run": OptionForm("a run's id", "last"),
    "--runner": OptionForm("a runner", "auto"),
    "--runtime": OptionForm("a requirement", "'onnxruntime>=1.22'"),
    "--sarif": OptionForm("the path of the file to write", "result.sarif"),
    "--seconds": OptionForm("a share", "50%"),
    "--seed": OptionForm("a whole number", "0"),
    "--seen": OptionForm("the path of a file", "seen.json"),
    "--series": OptionForm("a folder", "patches/onnxruntime/1.22.1"),
    "--shape": _SHAPE,
    "--side": OptionForm("a side", "candidate"),
    "--sign": _SIGN_KEY,
    "--signed-by": OptionForm(
        "a key's fingerprint, as `ssh-keygen -lf KEY.pub` prints it", "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
    ),
    "--size": OptionForm("a name and a whole number", "sequence=384", pattern=r"[^=]+=\d+"),
    "--sizes": OptionForm("batches", "1,2,4,8", pattern=r"\d+(?:,\d+)*"),
    "--split": OptionForm("python or gfx", "python"),
    "--statements": OptionForm("a folder", "statements"),
    "--steps": OptionForm("a whole number from 0 to 256", "2"),
    "--suite": OptionForm("a suite's name or a .yaml file", "models-quick"),
    "--tables": OptionForm("the path of HIPIFY's tables", "hipify/hipify-tables.tsv", "file"),
    "--target-include": OptionForm("an include folder that is there", "/opt/rocm/include", "folder"),
    "--target-rocm": OptionForm("a version of ROCm", "7.2", pattern=r"\d+\.\d+(?:\.\d+)?"),
    "--threads": OptionForm("a whole number from 0", "8"),
    "--threshold": OptionForm("a whole number", "2"),
    "--tls-ca": OptionForm("the path of a certificate in PEM form", "ca.pem", "file"),
    "--tls-cert": OptionForm("the path of a certificate in PEM form", "builder.pem", "file"),
    "--tls-key": OptionForm("the path of a key in PEM form", "builder.key", "file"),
    "--to": OptionForm("a folder or an index", "dist/simple"),
    "--trust": _PUBLIC_KEY,
    "--trusted-publishing": _URL,
    "--until": OptionForm("a step's name", "wheel"),
    "--upload-root": OptionForm("an index", "rocm-7.2/simple"),
    "--upstream": OptionForm("a link, or `none`", "https://github.com/microsoft/onnxruntime/pull/1"),
    "--url": _URL,
    "--venv": OptionForm("the folder of a virtual environment", ".venv", "folder"),
    "--verdict": OptionForm("the path of a verdict", "verdict.json"),
    "--verify-engine": OptionForm("perl", "perl"),
    "--wavefront": OptionForm("32 or 64", "32"),
    "--what": OptionForm("a few words", "'fix a race'"),
    "--wheel": OptionForm("the path of a wheel", "dist/demo-1.0-py3-none-any.whl", "file"),
    "--wheelhouse": OptionForm("a folder of wheels", "wheels", "folder"),
    "--why": OptionForm("a sentence", "'the build fails without it'"),
    "--within": OptionForm("a number from 0 to 99", "5"),
    "--workload": OptionForm("onnxruntime, migraphx, lc0 or pytorch", "onnxruntime"),
    "--write-budgets": OptionForm("the path of the file to write", "budgets.toml"),
}  # fmt: skip
"""Options that take a value, and their forms. `COMMAND --option` is for an option that means another thing there."""


def form_of(command: str, option: str) -> OptionForm | None:
    """The form of a command's option; `command` is without `stackbuild`. None for one that is not known."""
    return FORMS.get(f"{command} {option}") or FORMS.get(option)


def advice_on(command: str, option: str) -> str:
    """What to write for an option, with an example; "" for one that is not known."""
    form = form_of(command, option)
    return f"write {form.takes}, such as `{_with(option, form.example)}`" if form else ""


def refuse_wrong_values(command: str, words: Sequence[str], options: Sequence[Sequence[str]]) -> None:
    """Raises UsageError for the first value that its option cannot have.

    `options` are the spellings of each option of the command that takes a value, the long one first.
    """
    long_names = {name: names[0] for names in options for name in names}
    for option, value in _values(words, long_names):
        form = form_of(command, option)
        if form and (reason := _reason(value, form, [*long_names])):
            what, step = reason
            advice = advice_on(command, option)
            if step.endswith("?"):
                step = step.replace("`", f"`{option} ", 1)
            elif not step.startswith("write "):
                step += advice
            raise UsageError(what, where=f"{command} {option}", next=step)


def _values(words: Sequence[str], long_names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Each option that is given a value, by its long name. A value that is not there is the library's matter."""
    skip = False
    for word, following in zip_longest(words, words[1:]):
        name, sign, value = word.partition("=")
        if skip:
            skip = False
        elif word == "--":
            return
        elif name in long_names and sign and name.startswith("--"):
            yield long_names[name], value
        elif word in long_names and following is not None:
            yield long_names[word], following
            skip = True


def _reason(value: str, form: OptionForm, names: Sequence[str]) -> tuple[str, str] | None:
    """What is wrong with a value, and what stands before the advice; None for a value that the command may look at."""
    if not value.strip():
        return "its value is empty", ""
    if value.partition("=")[0] in names and form.example[:2] != "--":
        return f"it has no value: the option `{value}` follows it", ""
    if form.choices and value not in form.choices:
        return f"it cannot be {value!r}", step if (step := one_of(value, form.choices)).endswith("?") else f"{step}; "
    if form is _ADDRESS and (address := scheduler_meant(value)):
        return f"{value!r} has no scheme of a scheduler", f"write `--on {shell_word(address)}`"
    if form.pattern and not re.fullmatch(form.pattern, value):
        return f"it cannot be {value!r}", ""
    if form.is_of == "folder" and "://" in value and "fetch --bundle" in form.takes:
        return f"{value!r} is an address", ""
    if form.is_of == "text" or "://" in value:
        return None
    path = Path(value)
    try:
        is_there, is_folder = path.exists(), path.is_dir()
    except (OSError, ValueError):
        return f"{value[:60]!r} is not a path", ""
    if not is_there:
        near = near_path(value)
        return f"there is no {form.is_of} {value!r}", f"did you mean `{near}`? Else " if near else ""
    if form.is_of == "folder" and not is_folder:
        return f"{value!r} is a file", ""
    return (f"{value!r} is a folder", "") if form.is_of == "file" and is_folder else None


def scheduler_meant(value: str) -> str:
    """The scheduler's address that a host and a port without its scheme stand for; "" for what is not such."""
    host = re.fullmatch(r"(?:(?:https?|tls\+tcp|tcps|ssl|dask)://)?([A-Za-z0-9][\w.-]*:\d{1,5})/?", value)
    if host is None:
        return ""
    return f"{'tcp' if re.match(r'localhost:|127[.]', host[1]) else 'tcp+tls'}://{host[1]}"


def _with(option: str, example: str) -> str:
    return example if example.startswith(option) else f"{option} {example}"
