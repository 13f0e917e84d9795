"""A release of stackbuild itself: see ci/release."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from stackbuild.actions.sbom import FILE_NAME, sbom
from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.core.packaging import Requirement
from stackbuild.model.materials import Material
from stackbuild.publishing.index import publish
from stackbuild.publishing.publication import Publication, Receipt
from stackbuild.publishing.ssh_keys import TrustedKey, load_signing_key
from stackbuild.publishing.statements import ResourceDescriptor, StepOrigin, provenance, statement_name
from stackbuild.publishing.verify_release import Trust, verify_release
from stackbuild.runners import bwrap
from stackbuild.version import __version__

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "dist" / "release"
REQUIREMENTS = "stackbuild.txt"
EXTRAS = "bench,emulator,publish,sigstore"
"""What the runners of `ci render` use: ci/requirements.txt has the packages of these extras."""
SUITE, PYTHON = "trixie", "3.13"
CHECKS = (("--version",), ("recipe", "list"), ("plan", "--recipe", "debian-13"), ("rules",))
"""What the installed command must do in the empty root file system."""
SBOM_SETTINGS = (
    ("[tool.hatch.build.targets.wheel]\n", f'[tool.hatch.build.targets.wheel]\nsbom-files = ["{FILE_NAME}"]\n'),
    ("\ninclude = [", f'\ninclude = ["{FILE_NAME}", '),
)
"""What the release's pyproject.toml says beyond that of the repository, where the SBOM is not a file."""


def run(words: list[str], **settings: object) -> str:
    process = subprocess.run(words, check=False, capture_output=True, text=True, **settings)  # type: ignore[call-overload]
    if process.returncode != 0:
        sys.exit(f"{' '.join(words[:4])} …: exit {process.returncode}\n{process.stdout[-2000:]}\n{process.stderr[-4000:]}")
    return str(process.stdout)


def materials(commit: str) -> tuple[Material, ...]:
    """The commit, and each requirement of the wheel: what it needs beside itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    rows = [
        Material("source", "stackbuild", __version__, f"git+file:stackbuild@{commit}", "", (("gitCommit", commit),))
    ]
    for text in project["dependencies"]:
        requirement = Requirement(text)
        rows.append(
            Material(
                "external-library", requirement.name, str(requirement.specifier), f"pkg:pypi/{requirement.name.lower()}"
            )
        )
    return tuple(sorted(rows))


def settings_with_sbom(text: str) -> str:
    """The text of pyproject.toml that packs the SBOM into the wheel and into the sdist."""
    for old, new in SBOM_SETTINGS:
        if text.count(old) != 1:
            sys.exit(f"pyproject.toml has {old!r} {text.count(old)} times: the SBOM cannot be packed")
        text = text.replace(old, new)
    return text


def export(folder: Path, commit: str, time: int) -> Path:
    """The commit's files, and the SBOM where pyproject.toml names it."""
    source = folder / "stackbuild"
    source.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(source)], input=archive, check=True)
    project = source / "pyproject.toml"
    project.write_text(settings_with_sbom(project.read_text("utf-8")), "utf-8")
    (source / FILE_NAME).write_bytes(sbom("stackbuild", __version__, "MIT", materials(commit), time))
    return source


def build(folder: Path, commit: str, time: int, umask: int, **environment: str) -> dict[str, Path]:
    """sdist and wheel of the commit, by file name."""
    source = export(folder, commit, time)
    out = folder / "out"
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(time), **environment}
    run([sys.executable, "-m", "build", "--outdir", str(out), str(source)], env=env, umask=umask)
    return {path.name: path for path in sorted(out.iterdir())}


def assert_equal(one: dict[str, Path], other: dict[str, Path]) -> None:
    first, second = ({name: digest.of_file(path) for name, path in files.items()} for files in (one, other))
    if first != second:
        sys.exit(f"two builds of one commit differ: {first} and {second}")
    for name, sha256 in first.items():
        print(f"reproduced: {name} sha256 {sha256}")


def requirements(wheel: Path) -> str:
    """A file for `ci render --install-from tools/stackbuild.txt`: the wheel and every other package, each by its hash."""
    others = (ROOT / "ci" / "requirements.txt").read_text("utf-8")
    head = f"# Put this file and {wheel.name} into the folder tools/ of your repository: see docs/ci.md of stackbuild.\n"
    return f"{head}{others}./tools/{wheel.name}[{EXTRAS}] --hash=sha256:{digest.of_file(wheel)}\n"


def check_in_empty_root(wheel: Path, work: Path) -> None:
    """Install the wheel without network in a Debian root file system with nothing but Python, and use it."""
    root, house = work / "root", work / "house"
    run(
        [
            "mmdebstrap",
            "--variant=minbase",
            "--quiet",
            '--aptopt=Acquire::Check-Valid-Until "false"',
            "--include=python3-venv,ca-certificates",
            SUITE,
            str(root),
        ]
    )
    words = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--python-version",
        PYTHON,
        "--only-binary=:all:",
        "--dest",
        str(house),
        str(wheel),
    ]
    run(words)
    sandbox = bwrap.Bwrap(
        bwrap.bwrap_path(),
        root=("--bind", str(root), "/"),
        mounts=("--ro-bind", str(house), "/house"),
        env=(("PATH", "/usr/bin:/bin"), ("HOME", "/root")),
    )
    run_in(sandbox, "python3", "-m", "venv", "/venv")
    pip = ("/venv/bin/pip", "install", "--quiet", "--no-index", "--find-links", "/house")
    run_in(sandbox, *pip, f"stackbuild=={__version__}")
    for words in CHECKS:
        lines = run_in(sandbox, "/venv/bin/stackbuild", *words).splitlines()
        print(f"in an empty {SUITE}: stackbuild {' '.join(words)}: {len(lines)} lines, {lines[0][:80]!r}")


def run_in(sandbox: bwrap.Bwrap, *words: str) -> str:
    """What a command prints in a sandbox; the script ends where it fails."""
    code, output = sandbox.run(*words)
    if code != 0:
        sys.exit(f"{' '.join(words[:4])} …: exit {code}\n{output[-4000:]}")
    return output


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sign", type=Path, metavar="KEY", help="OpenSSH ed25519 private key")
    options = parser.parse_args()
    try:
        keys = (load_signing_key(options.sign),) if options.sign else ()
    except UsageError as error:
        sys.exit(str(error))
    if run(["git", "status", "--porcelain", "--untracked-files=no"], cwd=ROOT):
        sys.exit("there are changes that are not committed: a release is made of a commit")
    commit = run(["git", "rev-parse", "HEAD"], cwd=ROOT).strip()
    time = int(run(["git", "log", "-1", "--format=%ct"], cwd=ROOT))
    with tempfile.TemporaryDirectory(prefix="stackbuild-release-", dir="/var/tmp") as folder:
        work = Path(folder)
        one = build(work / "one", commit, time, 0o022, TZ="UTC", LC_ALL="C.UTF-8")
        other = build(work / "another place", commit, time, 0o077, TZ="Pacific/Kiritimati", LC_ALL="POSIX")
        assert_equal(one, other)
        (wheel,) = (path for name, path in one.items() if name.endswith(".whl"))
        check_in_empty_root(wheel, work)
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir(parents=True)
        for path in one.values():
            shutil.copy(path, OUT)
        (OUT / REQUIREMENTS).write_text(requirements(wheel), "utf-8")
        statement_file = work / statement_name(wheel.name, "provenance")
        subject = ResourceDescriptor(wheel.name, digest.of_file(wheel))
        origin = StepOrigin("ci/release", commit, subject.sha256, "ran")
        statement_file.write_bytes(provenance(subject, {"commit": commit}, materials(commit), [origin], __version__))
        receipt: Receipt = publish((wheel,), OUT / "simple", Publication(attachments={wheel: (statement_file,)}, keys=keys))
        if keys:
            trust = Trust(tuple(TrustedKey(key.blob) for key in keys), require=("provenance", "sbom"))
            problems = verify_release(OUT / "simple", trust).problems
            if problems:
                sys.exit("\n".join(problems))
    print(f"signed by {', '.join(receipt.signed_by) or 'nobody: give --sign KEY'}")
    print(receipt.install_line)


if __name__ == "__main__":
    main()
