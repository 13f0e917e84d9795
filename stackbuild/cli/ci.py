"""`ci render`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import group, option
from stackbuild.cli.completion import recipes, targets, words
from stackbuild.cli.shared_options import sharing

if TYPE_CHECKING:
    from stackbuild.pipeline.ci_render import PipelineRequest

ci = group("ci", "Pipelines for CI providers. Example: stackbuild ci render --provider github --recipe debian-13")

Recipes = Annotated[
    list[str], option("--recipe", "-r", metavar="R", help="A recipe to build; may be repeated.", autocompletion=recipes)
]
Gpus = Annotated[
    list[str] | None,
    option("--gpu", help="A gfx target you have a runner for; may be repeated.", autocompletion=targets),
]


@dataclass(frozen=True)
class PipelineArguments:
    """The machines that a pipeline runs on, what it does at a tag, and where it is written."""

    gpu: Gpus = None
    build_on: Annotated[
        str,
        option("--build-on", metavar="LABEL", help="The runner that builds: a label; default: the provider's usual."),
    ] = ""
    publish_on: Annotated[
        str,
        option(
            "--publish-on", metavar="LABEL", help="The runner that publishes and sees the key; default: one for that."
        ),
    ] = ""
    pull_requests_on: Annotated[
        str,
        option(
            "--pull-requests-on", metavar="LABEL", help="The runner that builds pull requests; default: one for that."
        ),
    ] = ""
    retention_days: Annotated[
        int, option("--retention-days", metavar="N", help="How long the provider keeps the artifacts of a release.")
    ] = 90
    release_assets: Annotated[
        bool, option("--release-assets", help="GitHub: keep index and wheels for good, as assets of the tag's release.")
    ] = False
    release_key: Annotated[
        str,
        option("--release-key", metavar="ID", help="Jenkins: the credential, a secret file, that signs the index."),
    ] = ""
    split: Annotated[
        list[str] | None,
        option(
            "--split",
            metavar="AXIS",
            help="A build job for each `python`, or for each `gfx` target, of a recipe; may be repeated.",
            autocompletion=words("python", "gfx"),
        ),
    ] = None
    attest: Annotated[bool, option("--attest", help="Attest the wheels of a tag by the provider's own identity.")] = (
        False
    )
    index_url: Annotated[
        str,
        option(
            "--trusted-publishing",
            metavar="URL",
            help="Upload the wheels of a tag to this index by trusted publishing: the job has no secret.",
        ),
    ] = ""
    upload_root: Annotated[
        str,
        option(
            "--upload-root",
            metavar="ROOT",
            help="The index whose wheels --trusted-publishing uploads, where there are several, as `rocm-7.2/simple`.",
        ),
    ] = ""
    public_key: Annotated[
        Path | None,
        option(
            "--public-key",
            metavar="FILE",
            help="Public key (.pub) that each release must be signed by: one without a signature fails, and each is verified by it.",
        ),
    ] = None
    url: Annotated[
        str,
        option(
            "--url",
            metavar="URL",
            help="Where the index of the releases is served: for the install lines. `{root}` in it stands for the folder of"
            " each index, as `rocm-7.2/simple`.",
        ),
    ] = ""
    out: Annotated[Path | None, option("--out", "-o", help="The file to write; stdout where left out.")] = None

    def request(self, install_from: str) -> PipelineRequest:
        from stackbuild.pipeline.ci_render import PipelineRequest

        return PipelineRequest(
            install_from,
            tuple(self.gpu or ()),
            self.build_on,
            tuple(self.split or ()),
            self.attest,
            self.index_url,
            self.publish_on,
            self.pull_requests_on,
            self.retention_days,
            self.release_assets,
            self.release_key,
            self.url,
            self.upload_root,
            self.public_key,
        )


@ci.command()
@sharing(PipelineArguments)
def render(
    provider: Annotated[
        str,
        option("--provider", help="github, gitlab or jenkins.", autocompletion=words("github", "gitlab", "jenkins")),
    ],
    recipe: Recipes,
    install_from: Annotated[
        str,
        option(
            "--install-from",
            metavar="SPEC",
            help="Where runners get stackbuild: https://….whl#sha256=…, git+https://…@COMMIT, a wheel in the repository, or a .txt there"
            " with the hash of each requirement.",
        ),
    ],
    arguments: PipelineArguments = PipelineArguments(),
) -> None:
    """Write a pipeline: build, prove on your GPUs, publish tags.

    Actions are pinned, privileges least. Runners install stackbuild by its bytes.

    Example: stackbuild ci render --provider github --recipe debian-13 --gpu gfx1100 --install-from tools/stackbuild.txt
    """
    from stackbuild.pipeline.ci_render import pipeline, ungated_recipes, unproved_recipes, unsigned_releases
    from stackbuild.pipeline.stackbuild_source import NOT_PINNED
    from stackbuild.recipe.load import load
    from stackbuild.views.console import err

    request = arguments.request(install_from)
    recipes = tuple(load(name) for name in recipe)
    text = pipeline(provider, recipes, request)
    for line in unproved_recipes(recipes, request):
        err().print(f"not proved by this pipeline: {line}", markup=False)
    for line in ungated_recipes(recipes, request):
        err().print(f"not gated by this pipeline: {line}", markup=False)
    if not install_from.endswith(".txt"):
        err().print(f"not pinned: {NOT_PINNED}", markup=False)
    if line := unsigned_releases(provider, request):
        err().print(f"not signed by this pipeline: {line}", markup=False)
    _write(text, arguments.out)


def _write(text: str, out: Path | None) -> None:
    """Into a file, or to stdout. Raises UsageError for a file that cannot be written."""
    from stackbuild.core.errors import UsageError
    from stackbuild.views.recipe import draw_text

    if out is None:
        draw_text(text)
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write it: {error.strerror}", where=str(out), next="name another file") from None
