"""The verb `ci render`: a pipeline for a CI provider, from the recipes' own matrix through `templates/ci/`."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.core.templates import render
from stackbuild.model.gates import needs_baseline
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.recipe import Recipe
from stackbuild.pipeline.index_roots import IndexRoot, index_roots, root_of
from stackbuild.pipeline.stackbuild_source import NOT_PINNED, URL, read_source
from stackbuild.publishing.ssh_keys import KEY_TYPE, load_trusted_keys
from stackbuild.recipe.load import bundled_recipes
from stackbuild.recipe.wheels import CPU, PackedWheel, providers_of, wheels_of
from stackbuild.tables.near_words import one_of

TEMPLATES = {"github": "ci/github.yml.j2", "gitlab": "ci/gitlab.yml.j2", "jenkins": "ci/jenkins.groovy.j2"}
BUILD_ON = {"github": "ubuntu-24.04", "gitlab": "rocm-build", "jenkins": "rocm-build"}
"""The label of the machine that builds, where none is said."""
PUBLISH_ON = {"github": "ubuntu-24.04", "gitlab": "rocm-publish", "jenkins": "rocm-publish"}
"""That of the machine that publishes and sees the key: code that nobody has merged never runs on it."""
PULL_REQUESTS_ON = {"github": "", "gitlab": "rocm-pull-request", "jenkins": "rocm-pull-request"}
"""That of the machine that builds pull requests. On GitHub "" is the one of other builds where it is new each time, else none."""
MAIN_OR_TAG = "!env.CHANGE_ID && (env.TAG_NAME || env.BRANCH_IS_PRIMARY == 'true')"
"""Jenkins: whether a build is one of a tag or of the primary branch."""
RETENTION_DAYS = 90
"""How long a provider keeps a release's artifacts where nothing is said: GitHub's own default and, for public repositories, its most."""
_GITHUB_LABEL = re.compile(r"(ubuntu|windows|macos)-(latest|[0-9.]+)(-[a-z0-9]+)?")
"""The labels of GitHub's own runners, each of them a new machine; any other label is taken for a machine of one's own."""
ACTIONS = {
    "checkout": "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2",
    "cache_restore": "actions/cache/restore@5a3ec84eff668545956fd18022155c47e93e2684 # v4.2.3",
    "cache_save": "actions/cache/save@5a3ec84eff668545956fd18022155c47e93e2684 # v4.2.3",
    "setup_python": "actions/setup-python@a26af69be951a213d495a4c3e4e4022e16d87065 # v5.6.0",
    "attest": "actions/attest-build-provenance@e8998f949152b193b063cb0ec769d69d929409be # v2.4.0",
    "upload": "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02 # v4.6.2",
    "download": "actions/download-artifact@d3f86a106a0bac45b974a628896c90dbdf5c8093 # v4.3.0",
}
_PLAIN = re.compile(r"[A-Za-z0-9._+][A-Za-z0-9._+/-]*")
"""What stands in YAML, Groovy and a shell alike for itself, and is not an option."""

ON_GPU = {
    "kernels": "import,load,operators,numerics,gpu",
    "runtime": "import,load,operators,numerics,gpu",
    "plugin": "import,load,operators,numerics,gpu",
    "": "import",
}
"""The rungs that a wheel of each kind must pass on a machine with a GPU."""
WITHOUT_GPU = {"kernels": "import,load,operators,numerics", "runtime": "import,load", "plugin": "import", "": "import"}
"""Those that it can pass on any machine: a plugin's one library and every session of a provider wait for ROCm and a GPU."""
RELEASES = {
    "gitlab": 'index=public\nif [ -n "${STACKBUILD_RELEASES:-}" ]; then index=$STACKBUILD_RELEASES/$CI_PROJECT_PATH; fi',
    "jenkins": 'index="${STACKBUILD_RELEASES:-$HOME/.local/share/stackbuild/releases}/${JOB_NAME%/*}"',
}
"""The folder of the index. On Jenkins a tag is a job of its own, with a workspace of its own; the folder is that of all tags."""
BUILD_OUTPUT = {"github": "dist/wheels-{id}/", "gitlab": "wheels/{id}/", "jenkins": "wheels/{id}/dist/"}
"""The folder of a build job's `dist/` where the wheels of all are published."""
PROOF = {"github": "proof/proof-{id}", "gitlab": "proof/{id}", "jenkins": "proof/{id}"}
"""The folder of what a machine with a GPU proved, there."""
LAST = {"github": "baseline/last", "gitlab": "public", "jenkins": "last"}
"""The folder with the indexes of the last release, on a machine with a GPU."""
TAG = {
    "github": 'case "$GITHUB_REF" in refs/tags/*) tag=${GITHUB_REF#refs/tags/} ;; *) tag= ;; esac',
    "gitlab": "tag=${CI_COMMIT_TAG:-}",
    "jenkins": "tag=${TAG_NAME:-}",
}
"""The name of the tag that is built, "" for a branch."""

NOT_SIGNED = {
    "github": "Whoever serves this index can change it unseen. Put an OpenSSH ed25519 key into the secret STACKBUILD_RELEASE_KEY of the environment release",
    "gitlab": "Whoever serves this index can change it unseen. Put an OpenSSH ed25519 key into the protected variable RELEASE_KEY, of the type File",
    "jenkins": "Whoever serves this index can change it unseen. Render the pipeline with --release-key ID, a credential with an OpenSSH ed25519 key",
}
"""What an unsigned release says, and what to do."""

SPLITS = ("python", "gfx")
"""The axes of the build matrix of a pipeline."""


@dataclass(frozen=True)
class PipelineRequest:
    """What a pipeline is to have.

    `install_from` is where runners get stackbuild: see `read_source`. `gfx` names the GPUs that there are runners for,
    `build_on`, `pull_requests_on` and `publish_on` the labels of the machines for that. `split` are axes of `SPLITS`: a build
    job for each value. `attest` adds the provider's own attestation, `index_url` an upload by trusted publishing. Artifacts of
    a release are kept for `retention_days`; `release_assets` keeps them with GitHub's releases, too. `release_key` is the
    Jenkins credential that signs. `url` is where the indexes of the releases are served, with `{root}` for each one's folder.
    Of several indexes the wheels of `upload_root` are uploaded. `public_key` is a file with the key that each release must be
    signed by; without one a release may be unsigned.
    """

    install_from: str
    gfx: tuple[str, ...] = ()
    build_on: str = ""
    split: tuple[str, ...] = ()
    attest: bool = False
    index_url: str = ""
    publish_on: str = ""
    pull_requests_on: str = ""
    retention_days: int = RETENTION_DAYS
    release_assets: bool = False
    release_key: str = ""
    url: str = ""
    upload_root: str = ""
    public_key: Path | None = None

    def label(self, option: str, labels: Mapping[str, str], provider: str) -> str:
        """The label of that option, as it was given or as `labels` has it for the provider."""
        return str(getattr(self, option)) or labels[provider]


@dataclass(frozen=True)
class BuildJob:
    """A recipe to build, whole or for one Python or GPU target; "" for all.

    `recipe` is what `--recipe` is given: a name or a path below the repository's root. `root` is its index below `dist/`.
    `require` are the options that name the rungs which its wheels can pass without a GPU.
    """

    id: str
    recipe: str
    image: bool
    root: str
    python: str = ""
    gfx: str = ""
    require: str = ""

    @property
    def options(self) -> str:
        """The options of `build` that choose this part."""
        words = [f"--python {self.python}" if self.python else "", f"--gfx {self.gfx}" if self.gfx else ""]
        return " ".join(filter(None, words))

    @property
    def interpreter(self) -> str:
        """The command of the Python that builds and proves it."""
        return f"python{self.python or 3}"


@dataclass(frozen=True)
class GpuJob:
    """One proof on one kind of GPU, and the shell script that gates its wheels.

    `machine` is how its statements name the GPU, `require` the options with the rungs that must have passed there.
    """

    id: str
    build: BuildJob
    gfx: str
    gate: str
    machine: str
    require: str


@dataclass(frozen=True)
class GatedWheel:
    """A wheel that `stackbuild gate` can measure: the file name's first part, and the options it is gated with."""

    stem: str
    options: str


def pipeline(provider: str, recipes: tuple[LoadedRecipe, ...], request: PipelineRequest) -> str:
    """The pipeline's text. A recipe or GPU that is named twice is taken once. Raises UsageError."""
    if provider not in TEMPLATES:
        raise UsageError(f"no provider {provider!r}", where="--provider", next=one_of(provider, tuple(TEMPLATES)))
    _check(provider, request)
    source = read_source(request.install_from)
    builds = [
        (loaded_recipe, part)
        for loaded_recipe, build in _builds(recipes)
        for part in _parts(loaded_recipe.recipe, build, request.split)
    ]
    offered_targets = {target for loaded_recipe, _ in builds for target in loaded_recipe.recipe.gfx}
    for target in request.gfx:
        if target not in offered_targets:
            raise UsageError(
                f"no recipe builds for {target}",
                where="--gpu",
                next=f"they build for {', '.join(sorted(offered_targets))}",
            )
    jobs = tuple(
        GpuJob(
            _job_id(build, target),
            build,
            target.partition(":")[0],
            _gate(loaded_recipe.recipe, build, target, provider),
            _id(target),
            _required_rungs(loaded_recipe.recipe, ON_GPU),
        )
        for loaded_recipe, build in builds
        if any(wheels_of(loaded_recipe.recipe))
        for target in dict.fromkeys(request.gfx)
        if target in ((build.gfx,) if build.gfx else loaded_recipe.recipe.gfx)
    )
    roots = _roots(builds, jobs, provider, request.url)
    public_keys = _public_keys(request.public_key) if request.public_key else ()
    return render(
        TEMPLATES[provider],
        builds=tuple(build for _, build in builds),
        gpu_jobs=jobs,
        actions=ACTIONS,
        install=source.pip_words("bench,emulator"),
        publish_install=source.pip_words("publish"),
        upload_install=source.pip_words("publish,sigstore"),
        source_check=source.check,
        unpinned="" if source.is_pinned else NOT_PINNED,
        unproved=unproved_recipes(recipes, request),
        ungated=ungated_recipes(recipes, request),
        roots=roots,
        gated=any(job.gate for job in jobs),
        last_index=_last_index(request, "public", roots),
        last_baseline=_last_index(request, "baseline/last"),
        release_folder=RELEASES.get(provider, ""),
        releases=_releases(provider, roots),
        keep=render("ci/keep.sh.j2"),
        collect=render("ci/collect.sh.j2", roots=roots),
        build_on=request.label("build_on", BUILD_ON, provider),
        publish_on=request.label("publish_on", PUBLISH_ON, provider),
        pull_requests_on=request.label("pull_requests_on", PULL_REQUESTS_ON, provider),
        own_runner=not _GITHUB_LABEL.fullmatch(request.label("build_on", BUILD_ON, provider)),
        main_or_tag=MAIN_OR_TAG,
        attest=request.attest,
        index_url=request.index_url,
        upload_root=_upload_root(request, roots),
        public_keys=public_keys,
        public_key_file=_public_key_file(provider, public_keys),
        not_signed=NOT_SIGNED[provider],
        retention_days=request.retention_days,
        release_assets=request.release_assets,
        release_key=request.release_key,
    )


def _roots(
    builds: Sequence[tuple[LoadedRecipe, BuildJob]], jobs: Sequence[GpuJob], provider: str, url: str
) -> tuple[IndexRoot, ...]:
    """The indexes of a release: that of each recipe which has wheels."""
    recipes: dict[str, list[Recipe]] = {}
    folders: dict[str, list[str]] = {}
    proofs: dict[str, list[str]] = {}
    for loaded_recipe, build in builds:
        if any(wheels_of(loaded_recipe.recipe)):
            recipes.setdefault(build.root, []).append(loaded_recipe.recipe)
            folders.setdefault(build.root, []).append(BUILD_OUTPUT[provider].format(id=build.id) + build.root)
    for job in jobs:
        proofs.setdefault(job.build.root, []).append(PROOF[provider].format(id=job.id))
    return index_roots(recipes, folders, proofs, url)


def _last_index(request: PipelineRequest, folder: str, roots: Sequence[IndexRoot] = ()) -> str:
    """GitHub: the script that puts the indexes of the last release into a folder; it fails where one of `roots` is missing."""
    return render("ci/last_index.sh.j2", folder=folder, roots=roots, release_assets=request.release_assets)


def _releases(provider: str, roots: Sequence[IndexRoot]) -> str:
    """GitLab, Jenkins: the script that names the folder of the indexes, and fails where one is missing."""
    if provider not in RELEASES:
        return ""
    tag = {"gitlab": "CI_COMMIT_TAG", "jenkins": "TAG_NAME"}[provider]
    return render("ci/releases.sh.j2", folder=RELEASES[provider], tag=tag, roots=roots)


def _upload_root(request: PipelineRequest, roots: Sequence[IndexRoot]) -> str:
    """The index whose wheels are uploaded, where there are several. Raises UsageError where that is left open."""
    paths = [root.path for root in roots]
    if not request.index_url:
        if request.upload_root:
            raise UsageError(
                "nothing is uploaded", where="--upload-root", next="add `--trusted-publishing URL`, or leave it out"
            )
        return ""
    if len(paths) > 1 and not request.upload_root:
        raise UsageError(
            f"wheels of {len(paths)} indexes ({', '.join(paths)}) would be mixed at {request.index_url}, and an installer would"
            " take that of another ROCm for its higher version",
            where="--trusted-publishing",
            next=f"choose one of them: `--upload-root {paths[0]}`",
        )
    if request.upload_root and request.upload_root not in paths:
        raise UsageError(
            f"no recipe publishes onto {request.upload_root}", where="--upload-root", next=f"one of: {', '.join(paths)}"
        )
    return request.upload_root if len(paths) > 1 else ""


def _public_keys(file: Path) -> tuple[str, ...]:
    """The public keys in a file as lines that need no quoting. Raises UsageError."""
    keys = load_trusted_keys([file])
    if any(key.valid_after or key.valid_before for key in keys):
        raise UsageError(
            "a key in it counts for a time only", where=str(file), next="give the .pub file of the release key"
        )
    return tuple(f"{KEY_TYPE} {base64.b64encode(key.blob).decode()}" for key in keys)


def _public_key_file(provider: str, public_keys: Sequence[str]) -> str:
    """The shell script that writes the keys which a release is verified by: those that were given, or the release key's own half."""
    file = '"$RUNNER_TEMP/release.pub"' if provider == "github" else "release.pub"
    if public_keys:
        return f"printf '%s\\n' {' '.join(f'{chr(34)}{key}{chr(34)}' for key in public_keys)} > {file}"
    private = '"$key"' if provider == "github" else '"$RELEASE_KEY"'
    return f"ssh-keygen -y -P '' -f {private} > {file}"


def unsigned_releases(provider: str, request: PipelineRequest) -> str:
    """Why the releases of the pipeline are not signed, "" where that is open until a key is there."""
    return NOT_SIGNED[provider] if provider == "jenkins" and not request.release_key else ""


def ungated_recipes(recipes: Sequence[LoadedRecipe], request: PipelineRequest) -> tuple[str, ...]:
    """What the pipeline compares with no earlier release, a line for each recipe."""
    lines = []
    for loaded_recipe in recipes:
        recipe = loaded_recipe.recipe
        if not any(map(_kind, wheels_of(recipe))):
            lines.append(f"{recipe.name}: no wheel of it can be measured")
        elif not set(request.gfx) & set(recipe.gfx):
            lines.append(f"{recipe.name}, beside an earlier release: no runner with a GPU was named by --gpu")
    return tuple(dict.fromkeys(lines))


def unproved_recipes(recipes: Sequence[LoadedRecipe], request: PipelineRequest) -> tuple[str, ...]:
    """What the pipeline proves of no machine, a line for each wheel: rungs that need a GPU which no runner has."""
    lines = []
    for loaded_recipe in recipes:
        if set(request.gfx) & set(loaded_recipe.recipe.gfx):
            continue
        for packed_wheel in wheels_of(loaded_recipe.recipe):
            with_gpu, without = (kinds[_kind(packed_wheel)] for kinds in (ON_GPU, WITHOUT_GPU))
            if gpu_only_kinds := [word for word in with_gpu.split(",") if word not in without.split(",")]:
                name = packed_wheel.wheel.distribution
                lines.append(
                    f"{', '.join(gpu_only_kinds)} of {name} ({loaded_recipe.recipe.name}): no runner with a GPU was named by --gpu"
                )
    return tuple(dict.fromkeys(lines))


def _required_rungs(recipe: Recipe, kinds: Mapping[str, str]) -> str:
    """The options that require rungs of each wheel of the recipe, by its kind."""
    wheels = list(wheels_of(recipe))
    words = {packed_wheel.wheel.distribution: kinds[_kind(packed_wheel)] for packed_wheel in wheels}
    if kinds is ON_GPU and wheels and not any(map(_kind, wheels)):
        return f"--require {ON_GPU['kernels']}"  # nothing is known of what they bring: a skipped rung shows it
    emulated_kind = ",emulated" if kinds is WITHOUT_GPU and recipe.targets_to_emulate else ""
    more = {packed_wheel.wheel.distribution: emulated_kind for packed_wheel in wheels if _kind(packed_wheel)}
    return " ".join(f"--require {name}:{rungs}{more.get(name, '')}" for name, rungs in words.items())


def _check(provider: str, request: PipelineRequest) -> None:
    for option in ("build_on", "publish_on", "pull_requests_on"):
        label = getattr(request, option)
        if label and not _PLAIN.fullmatch(label):
            raise UsageError(
                f"{label!r} is not a label of a runner",
                where=f"--{option.replace('_', '-')}",
                next="letters, digits, . _ + / -",
            )
    _refuse_shared_machine(provider, request)
    if not 1 <= request.retention_days <= 400:
        raise UsageError(
            f"no provider keeps artifacts for {request.retention_days} days",
            where="--retention-days",
            next="1 to 400; GitHub keeps those of a public repository for 90 at most",
        )
    if request.release_assets and provider != "github":
        raise UsageError(
            f"{provider} has no releases with assets that this pipeline reads",
            where="--release-assets",
            next="leave it out, and set STACKBUILD_RELEASES to a folder of the runner that publishes",
        )
    if request.release_key and provider != "jenkins":
        raise UsageError(
            f"{provider} has the key as a secret of its own",
            where="--release-key",
            next="leave it out; docs/ci.md says which secret or variable it is",
        )
    if request.release_key and not re.fullmatch(r"[A-Za-z0-9_.-]+", request.release_key):
        raise UsageError(
            f"{request.release_key!r} is not the id of a credential",
            where="--release-key",
            next="letters, digits, . _ -",
        )
    if request.public_key and provider == "jenkins" and not request.release_key:
        raise UsageError(
            "each release is to be signed, and no credential is named that signs",
            where="--public-key",
            next="add `--release-key ID`",
        )
    for axis in request.split:
        if axis not in SPLITS:
            raise UsageError(f"no axis {axis!r}", where="--split", next=one_of(axis, tuple(SPLITS)))
    if request.index_url and not re.fullmatch(URL, request.index_url):
        raise UsageError(
            f"{request.index_url!r} is not an upload URL", where="--trusted-publishing", next="give the https:// URL"
        )
    if provider == "jenkins" and (request.attest or request.index_url):
        raise UsageError(
            "Jenkins gives a job no identity that an index or Sigstore knows",
            where="--attest" if request.attest else "--trusted-publishing",
            next="leave it out, and sign with a key: see docs/publishing.md",
        )


def _refuse_shared_machine(provider: str, request: PipelineRequest) -> None:
    """Raise UsageError where pull requests run on a machine that builds or publishes releases and is not new each time."""
    theirs = request.label("pull_requests_on", PULL_REQUESTS_ON, provider)
    for option, labels in (("build_on", BUILD_ON), ("publish_on", PUBLISH_ON)):
        ours = request.label(option, labels, provider)
        if theirs == ours and not (provider == "github" and _GITHUB_LABEL.fullmatch(ours)):
            raise UsageError(
                f"pull requests would run on {ours}, as the user that a release is built or signed by",
                where="--pull-requests-on",
                next="name another runner: one on the same machine will do, as another user",
            )


def _parts(recipe: Recipe, build: BuildJob, split: Sequence[str]) -> tuple[BuildJob, ...]:
    """A recipe's build job, one for each value of the axes. Raises UsageError where no wheel is made for one GPU target."""
    pythons = recipe.python if "python" in split else ("",)
    targets = recipe.gfx if "gfx" in split else ("",)
    if "gfx" in split and not recipe.matrix.per_gfx:
        raise UsageError(
            f"a wheel of {recipe.name} is for all its GPU targets: built for one alone it is not published",
            where="--split gfx",
            next="leave it out, or set `matrix.per_gfx` in the recipe: a wheel for each target",
        )
    return tuple(
        replace(
            build,
            id="-".join(filter(None, (build.id, python and f"cp{python.replace('.', '')}", _id(target)))),
            python=python,
            gfx=target,
        )
        for python in pythons
        for target in targets
    )


def _builds(recipes: tuple[LoadedRecipe, ...]) -> tuple[tuple[LoadedRecipe, BuildJob], ...]:
    """A job for each recipe, with an id that no other has: two files may hold recipes of one name."""
    recipes_by_argument = {_recipe_argument(loaded_recipe): loaded_recipe for loaded_recipe in recipes}
    jobs: dict[str, tuple[LoadedRecipe, BuildJob]] = {}
    for argument, loaded_recipe in recipes_by_argument.items():
        plain = base = _id(loaded_recipe.recipe.name)
        count = 1
        while plain in jobs:
            count += 1
            plain = f"{base}-{count}"
        require = _required_rungs(loaded_recipe.recipe, WITHOUT_GPU)
        jobs[plain] = (
            loaded_recipe,
            BuildJob(
                plain,
                argument,
                loaded_recipe.recipe.base.image is not None,
                root_of(loaded_recipe.recipe),
                require=require,
            ),
        )
    return tuple(jobs.values())


def _recipe_argument(loaded_recipe: LoadedRecipe) -> str:
    """What the runner is to call the recipe. Raises UsageError for a file that its checkout would not have."""
    if loaded_recipe.given_name in bundled_recipes():
        return loaded_recipe.given_name
    path = Path(loaded_recipe.given_name)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    if path.is_absolute() or ".." in path.parts or not _PLAIN.fullmatch(path.as_posix()):
        raise UsageError(
            f"a runner cannot get the recipe {loaded_recipe.given_name!r}",
            where="--recipe",
            next="run this at the root of the repository, and give a path below it of letters, digits, . _ + -",
        )
    return path.as_posix()


def _id(text: str) -> str:
    """A text as part of a job's name: `gfx942:xnack+` is `gfx942-xnack-on`, `gfx942:xnack-` is `gfx942-xnack-off`."""
    plain = re.sub(r"(xnack|sramecc)([+-])", lambda m: f"{m[1]}-{'on' if m[2] == '+' else 'off'}", text)
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


def _gate(recipe: Recipe, build: BuildJob, target: str, provider: str) -> str:
    """The script that gates each wheel for that GPU that can be measured; empty where none can."""
    wheels = [w for w in wheels_of(recipe) if target in w.gfx and _kind(w)]
    gated_wheels = dict.fromkeys(GatedWheel(_stem(w), _options(w, recipe, build)) for w in wheels)
    runtime = next((_stem(w) for w in wheels if "onnxruntime" in w.wheel.packages), "")
    if not gated_wheels:
        if recipe.gates:
            raise UsageError(
                f"the recipe {recipe.name} has gates, and `stackbuild gate` can measure no wheel of it for {target}",
                where=recipe.name,
                next="take `gates:` out, or pack onnxruntime, a plugin EP or stackbuild_kernels for that target",
            )
        return ""
    folder = f"wheels/{build.id}" if provider == "gitlab" else "dist"
    statements = f"proof/{_job_id(build, target)}" if provider == "gitlab" else "statements"
    return render(
        "ci/gate.sh.j2",
        wheels=tuple(gated_wheels),
        runtime=runtime,
        gates=bool(recipe.gates),
        alone=bool(recipe.gates) and not any(map(needs_baseline, recipe.gates)),
        tag=TAG[provider],
        folder=folder,
        last=f"{LAST[provider]}/{build.root}",
        proof=f"--statements {statements} --machine {_id(target)}",
    )


def _job_id(build: BuildJob, target: str) -> str:
    return build.id if build.gfx else f"{build.id}-{_id(target)}"


def _stem(packed_wheel: PackedWheel) -> str:
    return re.sub(r"[-_.]+", "_", packed_wheel.wheel.distribution)


def _kind(packed_wheel: PackedWheel) -> str:
    """How a wheel enters ONNX Runtime: `kernels`, `runtime` or `plugin`; "" for one that `gate` cannot measure."""
    packages = packed_wheel.wheel.packages
    if "stackbuild_kernels" in packages:
        return "kernels"
    if "onnxruntime" in packages:
        return "runtime"
    return "plugin" if any(name.startswith("onnxruntime_ep_") for name in packages) else ""


def _options(packed_wheel: PackedWheel, recipe: Recipe, build: BuildJob) -> str:
    """The gates are the recipe's where it has any, the provider is what the wheel brings, else the recipe's first."""
    providers = recipe.verify.providers if recipe.verify else ()
    provider = next(iter((*providers_of(packed_wheel, recipe), *providers)), CPU)
    gates = f"--recipe {build.recipe} " if recipe.gates else ""
    return f"{gates}--provider {provider}"
