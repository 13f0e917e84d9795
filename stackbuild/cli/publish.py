"""`publish`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import JsonOption, app, argument, option
from stackbuild.cli.index_options import (
    REGISTRY_SCHEMES,
    UPLOAD_SCHEMES,
    Days,
    LowestNumber,
    RootOption,
    SignIndexOption,
    SigningOptions,
    UnsignedOption,
    open_index,
    refuse_scheme,
)
from stackbuild.cli.shared_options import sharing

if TYPE_CHECKING:
    from stackbuild.publishing.publication import Publication


@dataclass(frozen=True)
class PublishArguments:
    """How wheels are published: what the destination of each kind takes is checked before anything is read."""

    replace: Annotated[
        bool,
        option(
            "--replace",
            help="Allow other bytes under a published name: only for an index of your own. The earlier bytes stay, and no page"
            " names them.",
        ),
    ] = False
    older: Annotated[
        bool,
        option(
            "--older",
            envvar="STACKBUILD_OLDER",
            show_envvar=False,
            help="Allow a version below the highest one that is published; $STACKBUILD_OLDER=1.",
        ),
    ] = False
    proof: Annotated[
        list[Path] | None,
        option(
            "--proof",
            metavar="DIR",
            help="Folder of statements that other machines made of these wheels; may be repeated.",
        ),
    ] = None
    variants: Annotated[
        bool,
        option(
            "--variants", help="Experimental: take wheel variants, too (PEP 825, a draft), each beside its plain wheel."
        ),
    ] = False
    url: Annotated[str, option("--url", metavar="URL", help="Where the index is served: for the install lines.")] = ""
    sign: SignIndexOption = None
    unsigned: UnsignedOption = False
    days: Days = 90.0
    at_least: LowestNumber = 0
    root: RootOption = ""
    attest: Annotated[
        bool,
        option("--attest", help="Sign an upload's wheels by Sigstore, as this job's identity (PEP 740)."),
    ] = False
    check_install: Annotated[
        str,
        option(
            "--check-install",
            metavar="PYTHONS",
            help="Publish only if each of these Pythons gets a file, and say which: 3.11 or 3.10..3.14.",
        ),
    ] = ""
    json: JsonOption = False

    def refuse_for_upload(self) -> None:
        """Raises UsageError for an option that an upload cannot follow."""
        from stackbuild.core.errors import UsageError

        if self.sign or self.check_install or self.url or self.proof:
            raise UsageError(
                "an upload takes neither --sign nor --check-install nor --url nor --proof",
                next="publish to a folder with them, and upload its wheels afterwards",
            )
        others = {"--replace": self.replace, "--variants": self.variants, "--unsigned": self.unsigned}
        others |= {"--days": self.days != 90.0, "--older": self.older, "--at-least": self.at_least > 0}
        others |= {"--root": bool(self.root)}
        _refuse_options("an upload", others, "the index that it goes to decides that")

    def refuse_for_index(self, place: str) -> None:
        """Raises UsageError for an option that neither a folder nor a registry can follow."""
        from stackbuild.core.errors import UsageError

        if self.attest:
            raise UsageError(
                "--attest is for an upload: no installer looks for attestations on another index",
                where=place,
                next="leave it out, and add `--sign KEY`",
            )

    def refuse_for_registry(self) -> None:
        """Raises UsageError for an option that a registry cannot follow."""
        from stackbuild.core.errors import UsageError

        if self.check_install or self.url:
            raise UsageError(
                "a registry takes neither --check-install nor --url: no installer reads wheels from one",
                next="publish to a folder with them",
            )
        others = {"--older": self.older, "--at-least": self.at_least > 0, "--days": self.days != 90.0}
        others |= {"--root": bool(self.root)}
        _refuse_options("a registry", others, "it has no highest version, no number that rises and no expiry")

    def signing(self, is_registry: bool) -> SigningOptions:
        return SigningOptions(self.sign, self.unsigned, self.days, 0 if is_registry else self.at_least, self.root)


@app.command()
@sharing(PublishArguments)
def publish(
    wheels: Annotated[list[Path], argument(help="Wheels to publish.")],
    to: Annotated[
        str,
        option(
            "--to",
            metavar="INDEX",
            help="Folder of the static index, made where it is not there; s3://BUCKET/PREFIX; oci://HOST/REPOSITORY; or an"
            " upload URL.",
        ),
    ],
    arguments: PublishArguments = PublishArguments(),
) -> None:
    """Put wheels on a static index that pip and uv install from.

    All appear at once. A published file name never changes its content. What lies beside a wheel as WHEEL.lock.yaml,
    WHEEL.provenance.json, WHEEL.verification.json or WHEEL.benchmarks.json goes with it; `--proof` joins it with those of other machines.

    Exit 5 where a Python of `--check-install` would get no file: then nothing is published.

    Example: stackbuild publish wheels/*.whl --to dist/simple --sign release.key
    """
    from stackbuild.publishing.install_check import python_versions

    _refuse_missing(wheels, arguments.proof or ())
    pythons = python_versions(arguments.check_install)
    if to.startswith(UPLOAD_SCHEMES):
        arguments.refuse_for_upload()
        _upload(tuple(wheels), to, arguments.attest, arguments.json)
        return
    arguments.refuse_for_index(to)
    is_registry = to.startswith(REGISTRY_SCHEMES)
    arguments.refuse_for_registry() if is_registry else refuse_scheme(to, (*UPLOAD_SCHEMES, *REGISTRY_SCHEMES))
    with _attachments(wheels, arguments.proof or ()) as attachments:
        settings = dataclasses.replace(
            arguments.signing(is_registry).publication(),
            attachments=attachments,
            replace=arguments.replace,
            older=arguments.older,
        )
        if is_registry:
            _publish_artifacts(tuple(wheels), to, settings, arguments.json)
            return
        settings = dataclasses.replace(settings, url=arguments.url, variants=arguments.variants, pythons=pythons)
        _publish_to_index(tuple(wheels), to, settings, bool(arguments.sign), arguments.json)


def _refuse_missing(wheels: Sequence[Path], proofs: Sequence[Path]) -> None:
    """Raises UsageError for a folder of statements or a wheel that is not there."""
    from stackbuild.core.errors import UsageError

    for folder in proofs:
        if not folder.is_dir():
            raise UsageError("no such folder", where=str(folder), next="give what `verify --statements` wrote")
    for wheel in wheels:
        if not wheel.is_file():
            raise UsageError("no such wheel", where=str(wheel), next="give the path of a .whl file")


@contextmanager
def _attachments(wheels: Sequence[Path], proofs: Sequence[Path]) -> Iterator[dict[Path, tuple[Path, ...]]]:
    """What travels with each wheel: the files beside it, joined with the statements of other machines."""
    with TemporaryDirectory(prefix="stackbuild-statements-") as place:
        attachments = _files_beside(wheels)
        if proofs:
            from stackbuild.publishing.proofs import with_proofs

            attachments = with_proofs(wheels, attachments, proofs, Path(place))
        yield attachments


_VARIABLES = {"--older": "STACKBUILD_OLDER", "--at-least": "STACKBUILD_INDEX_AT_LEAST"}


def _refuse_options(kind: str, options: Mapping[str, bool], reason: str) -> None:
    """Options that a destination of that kind cannot follow. Raises UsageError for one that was given.

    A variable that a pipeline sets for all of its commands is named as one that does nothing here.
    """
    from stackbuild.core.errors import UsageError
    from stackbuild.views.console import err

    for name in (name for name, is_given in options.items() if is_given):
        variable = _VARIABLES.get(name, "")
        if not os.environ.get(variable):
            raise UsageError(f"{kind} takes no {name}: {reason}", next=f"leave {name} out, or publish to a folder")
        err().print(f"${variable} does nothing here: {kind} takes no {name}; {reason}", markup=False)


def _files_beside(wheels: Sequence[Path]) -> dict[Path, tuple[Path, ...]]:
    """The statements and the lock that lie beside each wheel, and what else lies there by such a name: it is refused later."""
    from stackbuild.publishing.statements import NAMES, lock_name, statement_name

    return {
        wheel: tuple(
            beside
            for name in (lock_name(wheel.name), *(statement_name(wheel.name, kind) for kind in NAMES))
            if os.path.lexists(beside := wheel.with_name(name))
        )
        for wheel in wheels
    }


def _upload(wheels: tuple[Path, ...], url: str, attest: bool, json: bool) -> None:
    from stackbuild.publishing.attestations import ambient_signer, put_attestations
    from stackbuild.publishing.upload import upload
    from stackbuild.views.console import print_json
    from stackbuild.views.publishing import draw_uploaded

    with ambient_signer() if attest else nullcontext() as signer:
        attestations = put_attestations(wheels, signer) if signer else ()
    uploads = upload(wheels, url, attestations)
    print_json(uploads, "stackbuild.upload/1") if json else draw_uploaded(uploads)


def _publish_to_index(wheels: tuple[Path, ...], place: str, settings: Publication, signed: bool, json: bool) -> None:
    from stackbuild.core.errors import UsageError
    from stackbuild.publishing import index
    from stackbuild.publishing.object_store import is_object_url
    from stackbuild.views.console import print_json
    from stackbuild.views.publishing import draw_published

    if is_object_url(place) and settings.pythons:
        raise UsageError("--check-install takes a folder", where=place, next="publish to a folder with it first")
    with open_index(place, signed) as folder:
        receipt = index.publish(wheels, folder, settings)
    if is_object_url(place):
        receipt = dataclasses.replace(receipt, index=place)
    print_json(receipt, "stackbuild.receipt/3") if json else draw_published(receipt)


def _publish_artifacts(wheels: tuple[Path, ...], url: str, settings: Publication, json: bool) -> None:
    from stackbuild.core.errors import MachineLacks, UsageError
    from stackbuild.publishing.publication import NOT_SIGNED
    from stackbuild.remote.connection import open_writer
    from stackbuild.remote.faults import RemoteFault
    from stackbuild.remote.release import push_release
    from stackbuild.runners.engine import registry_login
    from stackbuild.views.console import err, print_json
    from stackbuild.views.publishing import draw_artifacts, draw_not_signed

    if ":" in url.partition("://")[2].partition("/")[2] or "@" in url:
        raise UsageError(
            "a tag or a login stands in the URL",
            where=url,
            next="give oci://HOST/REPOSITORY; each release gets the tag PROJECT-VERSION",
        )
    try:
        with err().status("connecting …") as status:
            artifacts = push_release(wheels, open_writer(url, registry_login), settings, status.update)
    except RemoteFault as fault:
        raise MachineLacks(
            f"the registry did not take the release: {fault}",
            where=url,
            next="check the URL and `docker login HOST`; what was sent stays there, and the same command ends it",
        ) from None
    if json:
        print_json(artifacts, "stackbuild.release-artifacts/1")
        return
    draw_not_signed("" if settings.keys else NOT_SIGNED)
    draw_artifacts(artifacts)
