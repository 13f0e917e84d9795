"""Runners of CI providers that are none: the jobs of a rendered pipeline in a folder, with stand-ins for its commands.

The shell scripts run as they stand. `stackbuild publish`, `index` and `verify-release` are the real ones; what builds,
proves and measures only leaves the files that it would. Actions are played: artifacts and caches are folders.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STUB = '''#!{python} -I
"""A stackbuild that leaves what a build or a proof would, and writes down how it was called."""
import json, os, shutil, subprocess, sys
from pathlib import Path
words, seen = sys.argv[1:], Path(os.environ["CI_CALLS"])
with seen.open("a") as file:
    file.write(" ".join(words) + "\\n")
def state(wheels, kind):
    """The statement that the command would write of each wheel."""
    sys.path.insert(0, os.environ["CI_ROOT"])
    from hashlib import sha256
    from stackbuild.model.results import VERDICT_SCHEMA
    from stackbuild.publishing.statements import NAMES, ResourceDescriptor, statement
    machine, folder = (words[words.index(option) + 1] for option in ("--machine", "--statements"))
    os.makedirs(folder, exist_ok=True)
    for wheel in map(Path, wheels):
        about = ResourceDescriptor(wheel.name, sha256(wheel.read_bytes()).hexdigest())
        predicate = {{"claim": "verified (GPU at work)", "rungs": [{{"name": "GPU at work", "how": "ran", "result": "passed", "reason": ""}}]}} if kind == "verification" else {{"verdict": {{"schema": VERDICT_SCHEMA, "digest": "0" * 64, "gates": []}}, "results": {{"sha256": "0" * 64}}}}
        (Path(folder) / (wheel.name + "." + kind + ".json")).write_bytes(statement([about], NAMES[kind], dict(predicate, machine=machine)))
if words[0] in os.environ.get("CI_FAILS", "").split():
    sys.exit(5)
if words[0] in ("publish", "index", "verify-release"):
    os.environ["PYTHONPATH"] = os.environ["CI_ROOT"]
    sys.exit(subprocess.run([{python!r}, "-m", "stackbuild", *words]).returncode)
if words[0] == "build":
    runs = Path(os.environ.get("STACKBUILD_STORE") or Path.home() / ".cache/stackbuild/store") / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    (runs / "log").touch()
    index, wheels = json.loads(os.environ["CI_BUILDS"]).get(words[words.index("--recipe") + 1], ("dist/simple", os.environ["CI_WHEELS"]))
    shutil.copytree(wheels, Path(index) / "stackbuild-kernels", dirs_exist_ok=True)
if words[:2] == ["store", "copy"]:
    Path(words[-1]).mkdir(parents=True)
    (Path(words[-1]) / "numpy-1.0-py3-none-any.whl").touch()
if words[0] == "verify":
    wheels = [word for word in words if word.endswith(".whl")]
    house = Path(words[words.index("--wheelhouse") + 1])
    if not wheels or not all(map(os.path.isfile, wheels)) or not any(house.iterdir()):
        sys.exit("nothing to verify, or no wheelhouse")
    state(wheels, "verification")
    for option in ("--junit", "--sarif", "--markdown"):
        if option in words:
            Path(words[words.index(option) + 1]).write_text("{{}}")
if words[0] == "gate":
    state([words[words.index("--candidate") + 1]], "benchmarks")
    for option in ("--verdict", "--out"):
        Path(words[words.index(option) + 1]).write_text("{{}}")
if words[0] == "report" and "--out" in words:
    Path(words[words.index("--out") + 1]).write_text("report of " + words[1])
'''
PYTHON = """#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
  for last; do :; done
  mkdir -p "$last/bin"
  cp "$CI_BIN/stackbuild" "$last/bin/"
  printf '#!/bin/sh\\necho "pip $*" >> "$CI_CALLS"\\n' > "$last/bin/pip"
  echo "PATH=\\"$PWD/$last/bin:\\$PATH\\"" > "$last/bin/activate"
  chmod +x "$last/bin/pip"
  exit
fi
exec {python} "$@"
"""
GH = '''#!{python} -I
# GitHub's API, as far as the templates ask it, out of list.json: artifacts, runs, jobs, tags and releases.
import json, os, subprocess, sys
from pathlib import Path
from urllib.parse import unquote
words, answers = sys.argv[1:], Path(os.environ["CI_ARTIFACTS"])
with open(os.environ["CI_CALLS"], "a") as file:
    file.write("gh " + " ".join(words) + "\\n")
if words[:2] == ["run", "download"]:
    Path("index.tar").write_bytes((answers / ("run-" + words[2]) / "index.tar").read_bytes())
elif words[:2] == ["release", "view"]:
    sys.exit(words[2] not in [one["tag_name"] for one in json.loads((answers / "list.json").read_text()).get("releases", ())])
elif words[0] == "api" and "code-scanning" not in " ".join(words):
    known = json.loads((answers / "list.json").read_text())
    path = next(word for word in words[1:] if word.startswith("repos/")).partition("?")[0].removeprefix("repos/acme/wheels/")
    failing = known.get("fails", "")
    if failing and failing in path:
        sys.exit("gh: HTTP 502")
    parts = path.split("/")
    tag = unquote(path.partition("tags/")[2])
    if path == "actions/artifacts":
        value = {{"artifacts": known["artifacts"]}}
    elif path == "releases":
        value = known.get("releases", [])
    elif parts[:2] == ["releases", "assets"]:
        sys.stdout.buffer.write((answers / ("asset-" + parts[2]) / "index.tar").read_bytes())
        sys.exit()
    elif parts[:2] == ["actions", "runs"] and parts[3:] == ["jobs"]:
        value = {{"jobs": known["runs"][parts[2]]["jobs"]}}
    elif parts[:2] == ["actions", "runs"]:
        value = {{"event": known["runs"][parts[2]]["event"]}}
    elif path.startswith("commits/tags/") and tag in known["tags"]:
        value = {{"sha": known["tags"][tag]}}
    else:
        sys.exit("gh: HTTP 404")
    query = words[words.index("--jq") + 1]
    sys.exit(subprocess.run(["jq", "-r", query], input=json.dumps(value), text=True).returncode)
'''
NO_ARTIFACTS: dict[str, Any] = {"artifacts": [], "runs": {}, "tags": {}, "releases": []}


@dataclass
class PipelineTrigger:
    """What a pipeline is started by. `ref` is as GitHub has it, `refs/tags/v1` or `refs/heads/main`.

    `secret` is the release key, `at_least` the variable STACKBUILD_INDEX_AT_LEAST, `first` STACKBUILD_FIRST_RELEASE,
    `releases` STACKBUILD_RELEASES, each "" where nobody set it. `variables` are more of them.
    """

    ref: str
    name: str = "push"
    fails: str = ""
    secret: str = ""
    at_least: str = ""
    first: str = ""
    releases: str = ""
    variables: dict[str, str] = field(default_factory=dict)


@dataclass
class JobMachine:
    """The folder of all jobs. `wheels` is what a build leaves. `calls` are the commands that ran, by job.

    `checkout` is a folder of the repository that each job has.
    `builds` has recipes that publish elsewhere than to `dist/simple`: the index that each names, and the folder of its wheels.
    """

    folder: Path
    wheels: Path
    root: Path
    builds: dict[str, tuple[str, Path]] = field(default_factory=dict)
    calls: dict[str, list[str]] = field(default_factory=dict)
    checkout: Path | None = None

    def __post_init__(self) -> None:
        commands = {
            "stackbuild": STUB.format(python=sys.executable),
            "python3": PYTHON.format(python=sys.executable),
            "gh": GH.format(python=sys.executable),
            "sudo": '#!/bin/sh\nexec "$@"\n',
            "apt-get": "#!/bin/sh\n",
            "sysctl": "#!/bin/sh\n",
        }
        self.bin.mkdir(parents=True)
        for name, text in commands.items():
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)
        self.artifacts.mkdir()
        (self.artifacts / "list.json").write_text(json.dumps(NO_ARTIFACTS))

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def artifacts(self) -> Path:
        """The provider's own: `list.json` is what GitHub's API says of those named `index`."""
        return self.folder / "artifacts"

    def environment(self, job: str, event: PipelineTrigger) -> dict[str, str]:
        home = self.folder / "home" / job
        home.mkdir(parents=True, exist_ok=True)
        return {
            "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "CI_BIN": str(self.bin),
            "CI_CALLS": str(home / "calls"),
            "CI_WHEELS": str(self.wheels),
            "CI_BUILDS": json.dumps({name: (index, str(wheels)) for name, (index, wheels) in self.builds.items()}),
            "CI_ARTIFACTS": str(self.artifacts),
            "CI_FAILS": event.fails,
            "CI_ROOT": str(self.root),
        }

    def shell(self, script: str, work: Path, environment: dict[str, str]) -> int:
        """The exit status of a script, run as the providers run it."""
        done = subprocess.run(["bash", "-e", "-c", script], cwd=work, env=environment, capture_output=True, text=True)
        with (self.folder / "log").open("a") as log:
            log.write(f"$ {script}\n{done.stdout}{done.stderr}→ {done.returncode}\n")
        return done.returncode

    def check_out(self, work: Path) -> None:
        """What a job finds of the repository."""
        if self.checkout:
            shutil.copytree(self.checkout, work / self.checkout.name, dirs_exist_ok=True)

    def note_calls(self, job: str, environment: dict[str, str]) -> None:
        file = Path(environment["CI_CALLS"])
        self.calls[job] = file.read_text().splitlines() if file.exists() else []


# --- GitHub


def value_of(expression: str, names: dict[str, Any]) -> Any:
    """A GitHub expression of the kind that the templates have: ==, !=, &&, ||, !, always(), startsWith() and fields."""
    text = re.sub(r"(?<![=!])!(?!=)", " not ", expression.replace("&&", " and ").replace("||", " or "))
    text = re.sub(r"'[^']*'|[a-z_]+(\.[A-Za-z0-9_-]+)+", lambda m: m[0] if m[0][0] == "'" else f"at({m[0]!r})", text)

    def at(path: str) -> Any:
        value: Any = names
        for part in path.split("."):
            value = value[part]
        return value

    functions = {"at": at, "always": lambda: True, "startsWith": lambda text, start: text.startswith(start)}
    return eval(text.strip(), {"__builtins__": {}}, functions)


def filled(text: object, names: dict[str, Any]) -> str:
    return re.sub(r"\$\{\{(.*?)\}\}", lambda m: str(value_of(m[1], names)), str(text))


def run_github(machine: JobMachine, workflow: dict[str, Any], event: PipelineTrigger) -> dict[str, str]:
    """Run a workflow; each job's outcome: success, failure or skipped."""
    outcomes: dict[str, str] = {}
    github = {"ref": event.ref, "event_name": event.name, "token": "token", "run_id": "1", "workflow": "w"}
    github["ref_type"] = "tag" if event.ref.startswith("refs/tags/") else "branch"
    for name, job in workflow["jobs"].items():
        names: dict[str, Any] = {"github": github, "secrets": {"STACKBUILD_RELEASE_KEY": event.secret}}
        known = {"STACKBUILD_INDEX_AT_LEAST": event.at_least, "STACKBUILD_FIRST_RELEASE": event.first}
        names["vars"] = defaultdict(str, known | event.variables)  # a variable that nobody set is empty
        needs = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
        if any(outcomes[one] != "success" for one in needs) or not value_of(job.get("if", "always()"), names):
            outcomes[name] = "skipped"
            continue
        rows = job.get("strategy", {}).get("matrix", {}).get("include", [{}])
        good = [_job(machine, f"{name}-{number}", job, {**names, "matrix": row}, event) for number, row in enumerate(rows)]
        outcomes[name] = "success" if all(good) else "failure"
    return outcomes


def _job(machine: JobMachine, name: str, job: dict[str, Any], names: dict[str, Any], event: PipelineTrigger) -> bool:
    work = machine.folder / "work" / name
    work.mkdir(parents=True)
    environment = machine.environment(name, event)
    files = {key: machine.folder / f"{name}-{key}" for key in ("GITHUB_PATH", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.touch()
    environment |= {key: str(file) for key, file in files.items()}
    environment |= {"RUNNER_TEMP": str(machine.folder / "home" / name / "temp"), "GITHUB_REPOSITORY": "acme/wheels"}
    environment |= {"GITHUB_SHA": "0" * 40, "GITHUB_REF": event.ref}
    environment |= {"GITHUB_REF_NAME": event.ref.removeprefix("refs/tags/").removeprefix("refs/heads/")}
    Path(environment["RUNNER_TEMP"]).mkdir()
    environment |= {key: filled(value, names) for key, value in job.get("env", {}).items()}
    good = True
    for step in job["steps"]:
        condition = str(step.get("if", ""))
        if not good and "always()" not in condition:
            continue
        if condition and not value_of(condition.removeprefix("${{").removesuffix("}}"), names):
            continue
        own = environment | {key: filled(value, names) for key, value in step.get("env", {}).items()}
        added = files["GITHUB_PATH"].read_text().split()
        own["PATH"] = ":".join([*reversed(added), own["PATH"]])
        if "run" in step:
            good &= machine.shell(filled(step["run"], names), work, own) == 0
        else:
            good &= _action(machine, step, work, names, Path(own["HOME"]))
    machine.note_calls(name, environment)
    return good


def _action(machine: JobMachine, step: dict[str, Any], work: Path, names: dict[str, Any], home: Path) -> bool:
    name = step["uses"].partition("@")[0]
    inputs = {key: filled(value, names) for key, value in step.get("with", {}).items()}
    if name == "actions/upload-artifact":
        paths = [path for line in inputs["path"].splitlines() for path in _matches(line, work, home)]
        target = machine.artifacts / inputs["name"]
        for path in paths:
            for file in [path] if path.is_file() else path.rglob("*"):
                inside = file.relative_to(path if path.is_dir() else work)
                if file.is_file() and not any(part.startswith(".") for part in inside.parts):  # as its default is
                    (target / inside).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, target / inside)
        return target.exists() or inputs.get("if-no-files-found") != "error"
    if name == "actions/download-artifact":
        wanted = [inputs["name"]] if "name" in inputs else [p.name for p in machine.artifacts.glob(inputs["pattern"])]
        for one in wanted:
            shutil.copytree(machine.artifacts / one, work / inputs.get("path", ".") / ("" if "name" in inputs else one), dirs_exist_ok=True)
        return bool(wanted)
    if name == "actions/checkout":
        machine.check_out(work)
    with (home / "calls").open("a") as calls:
        calls.write(f"{name} {json.dumps(inputs, sort_keys=True)}\n")
    return True


def _matches(line: str, work: Path, home: Path) -> list[Path]:
    """The files and folders that a line of an action's `path` names."""
    if line.startswith("~"):
        return [path] if (path := home / line.removeprefix("~/")).exists() else []
    return sorted(work.glob(line.rstrip("/")))


# --- GitLab


def run_gitlab(machine: JobMachine, pipeline: dict[str, Any], event: PipelineTrigger) -> dict[str, str]:
    """The jobs of a tag's pipeline one after the other in one folder of artifacts; each one's outcome."""
    outcomes: dict[str, str] = {}
    for name, job in pipeline.items():
        if name.startswith(".") or not isinstance(job, dict) or "script" not in job:
            continue
        if "failure" in outcomes.values():
            outcomes[name] = "skipped"
            continue
        base = pipeline.get(job.get("extends", ""), {})
        rows = job.get("parallel", {}).get("matrix", [{}])
        good = [_gitlab_job(machine, f"{name}-{number}", base | job, row, event) for number, row in enumerate(rows)]
        outcomes[name] = "success" if all(good) else "failure"
    return outcomes


def _gitlab_job(machine: JobMachine, name: str, job: dict[str, Any], row: dict[str, str], event: PipelineTrigger) -> bool:
    work = machine.folder / "work" / name
    work.mkdir(parents=True)
    machine.check_out(work)
    shared = machine.artifacts / "gitlab"
    if shared.exists():
        shutil.copytree(shared, work, dirs_exist_ok=True, symlinks=True)
    environment = machine.environment(name, event) | {"CI_PROJECT_DIR": str(work), **row}
    tagged = next((rule for rule in job["rules"] if "CI_COMMIT_TAG" in rule.get("if", "")), {})
    variables = {**job.get("variables", {}), **tagged.get("variables", {})}
    environment |= {key: value.replace("$CI_PROJECT_DIR", str(work)) for key, value in variables.items()}
    environment |= {"CI_COMMIT_TAG": event.ref.removeprefix("refs/tags/"), "CI_PROJECT_PATH": "acme/wheels"}
    environment |= {"STACKBUILD_FIRST_RELEASE": event.first, "STACKBUILD_RELEASES": event.releases, **event.variables}
    if event.secret:
        key = machine.folder / "home" / name / "release.key"
        key.write_text(event.secret)
        environment["RELEASE_KEY"] = str(key)
    good = machine.shell("\n".join([*job.get("before_script", []), *job["script"]]), work, environment) == 0
    if "after_script" in job:
        machine.shell("\n".join(job["after_script"]), work, environment)
    for pattern in job.get("artifacts", {}).get("paths", []):
        for path in work.glob(pattern):
            copy = shutil.copytree if path.is_dir() else shutil.copyfile
            shared.mkdir(exist_ok=True)
            copy(path, shared / path.name, **({"dirs_exist_ok": True, "symlinks": True} if path.is_dir() else {}))
    machine.note_calls(name, environment)
    return good
