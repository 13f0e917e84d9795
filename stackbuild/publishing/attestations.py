"""Attestations of wheels for an index that takes them (PEP 740): who published these bytes, signed by Sigstore.

There is no key. The identity is that of the job that runs: GitHub, GitLab and others hand it out as a token of minutes.
Sigstore certifies it and writes the signature into its public log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stackbuild.core.errors import MachineLacks, UsageError

SIGSTORE_INSTALL = 'pip install "stackbuild[sigstore]"'
Attest = Callable[[Path], str]
"""A function that signs one wheel: its path → the attestation's JSON text."""


def attestation_of(wheel: Path) -> Path:
    """Where the attestation of a wheel lies: beside it, under the name that pypi-attestations gives it."""
    return wheel.with_name(f"{wheel.name}.publish.attestation")


def put_attestations(wheels: Sequence[Path], attest: Attest) -> tuple[Path, ...]:
    """Sign each wheel, and write its attestation beside it. All are signed before the first is written. Raises OSError."""
    texts = {attestation_of(wheel): attest(wheel) for wheel in wheels}
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    return tuple(texts)


@contextmanager
def ambient_signer() -> Iterator[Attest]:
    """A signer under the identity of the job that runs.

    Raises MachineLacks where sigstore is not installed or nobody gives this process an identity, UsageError where
    Sigstore does not sign.
    """
    try:
        from pypi_attestations import Attestation, AttestationError, Distribution
        from sigstore.errors import Error
        from sigstore.models import ClientTrustConfig
        from sigstore.oidc import IdentityError, IdentityToken, detect_credential
        from sigstore.sign import SigningContext
    except ImportError as error:
        raise MachineLacks(
            f"an attestation needs {error.name}, which is not installed", next=SIGSTORE_INSTALL
        ) from None
    try:
        token = detect_credential()
    except IdentityError as error:
        raise MachineLacks(f"this job's identity cannot be had: {error}", next=_NEXT) from None
    if token is None:
        raise MachineLacks("nobody gives this process an identity to sign with", next=_NEXT)
    try:
        trust = ClientTrustConfig.production()
        trust.force_tlog_version = 1  # pypi-attestations does so: an index does not read entries of Rekor 2
        with SigningContext.from_trust_config(trust).signer(IdentityToken(token)) as signer:
            yield lambda wheel: Attestation.sign(signer, Distribution.from_file(wheel)).model_dump_json()
    except (AttestationError, Error, IdentityError, OSError) as error:
        raise UsageError(
            f"Sigstore did not sign: {str(error).strip()[:300]}",
            where="--attest",
            next="run the job again; where Sigstore cannot be reached, publish without --attest",
        ) from None


_NEXT = (
    "run it in a job that has an identity (GitHub: `id-token: write`; GitLab: `id_tokens: SIGSTORE_ID_TOKEN`), or leave out"
    " --attest and sign an index with a key: see docs/publishing.md"
)
