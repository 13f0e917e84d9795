"""Where the runners of a pipeline get stackbuild: bytes that are named by their digest, and what pip is given for them."""

from __future__ import annotations

import re
from pathlib import Path

from stackbuild.core.errors import UsageError

URL = r"https://[A-Za-z0-9._~:@/%+-]+"
_INSTALLABLE = re.compile(
    rf"{URL}\.whl#sha256=[0-9a-f]{{64}}|git\+{URL}@[0-9a-f]{{40}}|(\./)?[A-Za-z0-9_][A-Za-z0-9._+/-]*\.(whl|txt)"
)


def pip_words(install_from: str, extras: str) -> str:
    """What follows `pip install` in a shell to install stackbuild, each by its bytes: a wheel's URL with its sha256, a git URL
    with a commit, a wheel in the repository, or a file of requirements there which has the hash of each, dependencies too.

    A name and a version alone are refused: on a package index they may be anybody's. Raises UsageError.
    """
    if not _INSTALLABLE.fullmatch(install_from):
        raise UsageError(
            f"{install_from!r} does not say which bytes the runners are to install",
            where="--install-from",
            next="give `https://…/stackbuild-….whl#sha256=…`, `git+https://…@COMMIT`, or the path of a wheel or of a .txt file with"
            " the hash of each requirement in the repository",
        )
    path = f"./{install_from.removeprefix('./')}"
    if "://" in install_from:
        return f'"stackbuild[{extras}] @ {install_from}"'
    if not install_from.endswith(".txt"):
        return f'"{path}[{extras}]"'
    _refuse_loose(Path(path))
    return f'--require-hashes -r "{path}"'


def _refuse_loose(file: Path) -> None:
    """The file has a hash for each requirement, and stackbuild among them. Raises UsageError."""
    try:
        text = re.sub(r"\\\n", " ", file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the requirements cannot be read: {getattr(error, 'strerror', None) or error}",
            where=str(file),
            next="run this at the root of the repository; docs/ci.md says how the file is made",
        ) from None
    lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith(("#", "--"))]
    loose_lines = [line for line in lines if not re.search(r"(--hash=sha256:|#sha256=)[0-9a-f]{64}", line)]
    if loose_lines or not any(re.match(r"(\./\S*/)?stackbuild\b", line) for line in lines):
        what = f"{loose_lines[0][:60]!r} has no hash" if loose_lines else "stackbuild is not among the requirements"
        raise UsageError(what, where=str(file), next="make it with `uv pip compile --universal --generate-hashes --no-strip-extras`")
