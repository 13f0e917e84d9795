"""Draws what was published, uploaded and verified of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackbuild.core.errors import safe
from stackbuild.views.console import Text, err, out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stackbuild.publishing.publication import Receipt
    from stackbuild.publishing.upload import UploadedWheel
    from stackbuild.publishing.verify_release import ReleaseProof
    from stackbuild.remote.release import ReleaseArtifact


def draw_published(receipt: Receipt) -> None:
    """What is new on the index and what was there already, then how to install it."""
    for wheel in receipt.wheels:
        err().print(
            Text(f"{'published' if wheel.fresh else 'there already'}: {_line(wheel.file)}: {_line(wheel.claim)}")
        )
        if wheel.withdrawn:
            err().print(Text(f"not to be installed: {_line(wheel.file)}: {_line(wheel.withdrawn)}", "yellow"))
    for path in receipt.unpublished:
        err().print(Text(f"not published, though it lies in the folder: {_line(path)}", "yellow"))
    if receipt.signed_by:
        err().print(Text(f"signed by {', '.join(receipt.signed_by)}, index number {receipt.number}", "dim"))
    for check in receipt.installs:
        err().print(Text(_line(str(check))))
    draw_usages(receipt)
    draw_install_line(receipt)


def draw_install_line(receipt: Receipt) -> None:
    """The command that installs these bytes, on one line of stdout: it is there to be copied. That the index is not signed is
    printed before it, what pip cannot bring, and what it brings from elsewhere."""
    draw_not_signed(receipt.not_signed)
    for line in receipt.packages_needed:
        err().print(Text(f"needs of the machine: {line}", "dim"))
    if receipt.no_install:
        err().print(Text(f"no command installs these together: {_line(receipt.no_install)}", "yellow"))
    if receipt.from_default_index:
        names = _line(", ".join(receipt.from_default_index))
        err().print(
            Text(f"not of this index, pip takes from its default index what has these names: {names}", "yellow")
        )
    if receipt.install_line:
        out().print(Text(receipt.install_line), soft_wrap=True)


def draw_not_signed(why: str) -> None:
    """That nobody signed what was published, on stdout: a log of a pipeline may have nothing else."""
    if why:
        out().print(Text(f"not signed: {_line(why)}", "yellow"), soft_wrap=True)


def draw_usages(receipt: Receipt) -> None:
    """How the wheels are used: Python that makes a session, and what runs where."""
    for usage in receipt.usages:
        if usage.code:
            err().print("use:")
        for line in usage.code:
            err().print(Text(f"    {_line(line)}"), soft_wrap=True)
        for place in usage.places:
            err().print(Text(f"where it runs: {_line(place)}", "dim"))


def draw_uploaded(uploads: Sequence[UploadedWheel]) -> None:
    for one in uploads:
        out().print(Text(f"uploaded: {one.file} to {one.url}"))


def draw_artifacts(artifacts: Sequence[ReleaseArtifact]) -> None:
    """The releases on a registry; the reference of each on a line of stdout."""
    for one in artifacts:
        what = "published" if one.fresh else "there already"
        err().print(Text(f"{what}: {one.tag}: {len(one.files)} files"))
        out().print(Text(one.reference), soft_wrap=True)


def draw_problems(problems: Sequence[str], none: str) -> None:
    """Each problem on a line, or that there is none."""
    for problem in problems:
        out().print(Text(f"✗ {_line(problem)}", "red"))
    if not problems:
        out().print(Text(f"✓ {none}", "green"))


def draw_release_proof(proof: ReleaseProof) -> None:
    """What is signed of each wheel, then every problem or that there is none."""
    for wheel in proof.wheels:
        there = [*wheel.statements, *(["sbom"] if wheel.sbom else []), *(["lock"] if wheel.lock else [])]
        out().print(Text(f"{_line(wheel.file)}: {', '.join(there) or 'no statement came with it'}"))
        if wheel.claim:
            out().print(Text(f"  {_line(wheel.claim)}", "dim"))
    megabytes = proof.bytes / 1e6
    draw_problems(
        proof.problems,
        f"index number {proof.number}{f' of {_line(proof.root)}' if proof.root else ', signed without a name'},"
        f" {proof.files} files, {megabytes:.1f} MB, signed, holds until {proof.expires}",
    )


def _line(text: str) -> str:
    """What a statement or an index says, on one line: an escape sequence in it does nothing to the terminal."""
    return safe(text, keep="")
