"""Runs the cases of a blind draw, and writes DIR/ID.txt for each: command, exit code, both outputs.

    blind_draw.py 16 DIR [--only ID …]

A draw has 100 mistakes that a person wrote from the documentation alone, and 20 valid uses. `place`, `cause` and `next`
were written before anything ran. Each case has a folder and a home of its own, and no STACKBUILD_* variable. stackbuild
is that of this checkout's `.venv`.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import yaml

CHECKOUT = Path(__file__).resolve().parents[3]
BLIND = Path(__file__).resolve().parent
SECONDS = 60.0


def write_wheel(path: Path) -> None:
    """A wheel with one empty package, the same bytes each time."""
    name, version, *_ = path.name.split("-")
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f'__version__ = "{version}"\n',
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
        "Summary: a demo\nLicense: MIT\nRequires-Python: >=3.9\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: draw\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {at: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()) for at, text in files.items()}
    rows = [f"{at},sha256={digests[at].rstrip(b'=').decode()},{len(text.encode())}\n" for at, text in files.items()]
    files[f"{info}/RECORD"] = "".join(rows) + f"{info}/RECORD,,\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for at, text in files.items():
            wheel.writestr(zipfile.ZipInfo(at, (2026, 1, 1, 0, 0, 0)), text)


def edited(text: str, edits: list[dict[str, str]]) -> str:
    """`text` after the edits. Raises ValueError where an edit's old text does not stand there once."""
    for edit in edits:
        if text.count(edit["old"]) != 1:
            raise ValueError(f"stands {text.count(edit['old'])} times: {edit['old']!r}")
        text = text.replace(edit["old"], edit["new"])
    return text


def lay_out(case: dict[str, Any], folder: Path) -> None:
    """The case's files. `base` is a bundled recipe as it was on the day of the draw."""
    files = dict(case.get("files", {}))
    for suffix, wanted, edits in (("", "base" in case, "edits"), (".lock", "lock" in case, "lock_edits")):
        if wanted:
            text = (BLIND / "bases" / f"{case['base']}{suffix}.yaml").read_text(encoding="utf-8")
            files[f"recipe{suffix}.yaml"] = edited(text, case.get(edits, []))
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        is_dos = case.get("crlf") and name == "recipe.yaml"
        path.write_bytes((text.replace("\n", "\r\n") if is_dos else text).encode())
    for name in case.get("wheels", []):
        write_wheel(folder / name)


def environment(case: dict[str, Any], folder: Path, home: Path) -> dict[str, str]:
    """The variables of the case's command."""
    dropped = ("STACKBUILD_", "XDG_", "PYTHON", "TWINE_", "VIRTUAL_ENV", "FORCE_COLOR", "DOCKER_HOST")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    own = {name: value.replace("{dir}", str(folder)) for name, value in case.get("env", {}).items()}
    programs = CHECKOUT / ".venv/bin"
    fixed = {"HOME": str(home), "COLUMNS": "120", "TERM": "dumb", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    return kept | fixed | {"PATH": f"{programs}:{os.environ['PATH']}", "SB_PYTHON": f"{programs}/python"} | own


def shell(line: str, folder: Path, variables: dict[str, str]) -> tuple[str, str, str]:
    """Exit code and both outputs of a line of the shell, which has a minute."""
    try:
        done = subprocess.run(["timeout", "-k", "5", str(SECONDS), "bash", "-c", line], cwd=folder, env=variables,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=SECONDS + 20, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return "timeout", "", ""
    return str(done.returncode), done.stdout, done.stderr


def run(case: dict[str, Any]) -> str:
    """What the case's command says."""
    with tempfile.TemporaryDirectory(prefix="draw-") as top:
        folder, home = Path(top, "case"), Path(top, "home")
        folder.mkdir()
        home.mkdir()
        lay_out(case, folder)
        variables = environment(case, folder, home)
        for line in case.get("setup", []):
            code, out, err = shell(line, folder, environment(case | {"env": {}}, folder, home))
            if code != "0":
                raise ValueError(f"setup ended with {code}: {line}\n{out}{err}")
        code, out, err = shell(case["command"], folder / case.get("cwd", "."), variables)
        text = f"{case['command']}\nexit: {code}\n--- stdout\n{out}\n--- stderr\n{err}"
        return text.replace(top, "TMP")


def cases(number: int) -> list[dict[str, Any]]:
    """The mistakes of a draw, then its valid uses."""
    files = (BLIND / f"{kind}-{number}.yaml" for kind in ("draw", "valid"))
    return [case for path in files for case in yaml.safe_load(path.read_text(encoding="utf-8"))]


def main() -> None:
    """Reads the command line, and runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", type=int, choices=(16, 17, 18))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=[], help="ids, such as 001 V03")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for case in cases(asked.number):
        if not asked.only or case["id"] in asked.only:
            (asked.folder / f"{case['id']}.txt").write_text(run(case), encoding="utf-8")
            print(case["id"], flush=True)


if __name__ == "__main__":
    main()
