"""Results and verdicts as files: strict JSON with a schema, written whole, read with every mistake named.

JSON has no infinity: an exact output's SNR is written as the text "inf" and read back as a number.
"""

from __future__ import annotations

import errno
import json
import math
import os
from pathlib import Path
from typing import TypeVar

from stackbuild.core import digest
from stackbuild.core.digest import Json, plain
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.core.model import TypeAdapter, ValidationError
from stackbuild.core.model_mistakes import first_mistake
from stackbuild.core.plain_file import read_bounded
from stackbuild.model.results import SCHEMA, VERDICT_SCHEMA, Benchmarks, Verdict

Document = TypeVar("Document")

TIMES = (1e-12, 1e9)
"""The range of a measured time, in seconds: below any clock's resolution, and beyond any run."""


def document(value: Benchmarks | Verdict) -> dict[str, Json]:
    """The value as strict JSON with its schema, and the digest of all the rest.

    The digest shows changes by hand. Whoever means to deceive can compute it again: it is not a signature.
    """
    body = _encodable(_finite(plain(value)))
    assert isinstance(body, dict)
    schema = SCHEMA if isinstance(value, Benchmarks) else VERDICT_SCHEMA
    return {"schema": schema, "digest": _digest_of(schema, body), **body}


def _digest_of(schema: str, body: dict[str, Json]) -> str:
    return digest.of_value([schema, body])


def identity(benchmarks: Benchmarks) -> str:
    """The identity of a measurement: sha256 of its time, its machine and every sample."""
    samples = [
        [case.name, case.sha256, one.side, [float(second).hex() for second in one.seconds]]
        for case in benchmarks.cases
        for one in case.series
    ]
    return digest.of_value(_encodable(plain([benchmarks.suite, benchmarks.taken, benchmarks.machine.stable, samples])))


def read_verdict_on(benchmarks: Benchmarks, path: Path) -> Verdict:
    """The verdict in a file. Raises UsageError where it is not on this measurement."""
    verdict = read_verdict(path)
    if verdict.of != identity(benchmarks):
        raise UsageError(
            "the verdict is on another measurement" if verdict.of else "the verdict does not say what it is on",
            where=str(path), next="give the results that `stackbuild gate --out` wrote beside this verdict",
        )  # fmt: skip
    return verdict


def require_writable(*paths: Path | None) -> None:
    """Raise UsageError where one of these files cannot be written: before anything is measured, not after."""
    for path in (path for path in paths if path):
        try:
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "it is a folder")
            if _is_stream(path):
                if not os.access(path, os.W_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
                continue
            staging_file = _staging_path(_behind_links(path))
            staging_file.touch()
            staging_file.unlink()
        except OSError as error:
            raise UsageError(
                f"cannot be written: {error.strerror}", where=str(path), next="name another file for the results"
            ) from None


def write(value: Benchmarks | Verdict, path: Path) -> None:
    """Write the value, whole or not at all. A link is followed; a device or a pipe is written to as it is."""
    text = json.dumps(document(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        if _is_stream(path):
            path.write_text(text, "utf-8")
            return
        real = _behind_links(path)
        staging_file = _staging_path(real)
        staging_file.write_text(text, "utf-8")
        staging_file.replace(real)
    except OSError as error:
        raise MachineLacks(
            f"cannot be written: {error.strerror}", where=str(path), next="make room, or name another file"
        ) from error


def _is_stream(path: Path) -> bool:
    """Whether it is a device, a pipe or a socket: what must be written into, never replaced."""
    return str(path).startswith(("/dev/", "/proc/")) or (path.exists() and not path.is_file())


def _behind_links(path: Path) -> Path:
    """The file itself, with its folder made."""
    real = Path(os.path.realpath(path))
    real.parent.mkdir(parents=True, exist_ok=True)
    return real


def _staging_path(real: Path) -> Path:
    return real.with_name(f".{real.name[:200]}.{os.getpid()}")


def read_benchmarks(path: Path) -> Benchmarks:
    """The results in a file. Raises UsageError for anything that is not one of this schema."""
    return _require_possible(_as(Benchmarks, _read(path, SCHEMA), path), path)


def read_verdict(path: Path) -> Verdict:
    """The verdict in a file. Raises UsageError for anything that is not one of this schema."""
    return _as(Verdict, _read(path, VERDICT_SCHEMA), path)


def read_run_results(path: Path) -> tuple[Benchmarks, Verdict]:
    """What a build's run folder keeps of its measurement: results and verdict in one file, in this version's schema."""
    document = _json(path)
    if not isinstance(document, dict) or not {"benchmarks", "verdict"} <= document.keys():
        raise UsageError("it has no benchmarks and verdict in it", where=str(path), next="build again")
    benchmarks = _as(Benchmarks, _body(document["benchmarks"], SCHEMA, path), path)
    return _require_possible(benchmarks, path), _as(Verdict, _body(document["verdict"], VERDICT_SCHEMA, path), path)


def _require_possible(benchmarks: Benchmarks, path: Path) -> Benchmarks:
    """The results, if they can be ones: there is a side, times are positive, batches too. Raises UsageError."""
    seconds = [s for case in benchmarks.cases for one in case.series for s in (*one.seconds, *one.create, *one.first)]
    peaks = [
        p for case in benchmarks.cases for one in case.series for p in (one.host_bytes or 0, one.device_bytes or 0)
    ]
    impossible = any(peak < 0 for peak in peaks) or any(case.items < 1 for case in benchmarks.cases)
    if impossible or not benchmarks.sides or not all(TIMES[0] <= s <= TIMES[1] for s in seconds):
        raise UsageError(
            "no measurement gives such results: a time, a size or a batch is not possible, or there is no side",
            where=str(path), next="the file was changed by hand; measure again",
        )  # fmt: skip
    return benchmarks


def _read(path: Path, schema: str) -> dict[str, Json]:
    return _body(_json(path), schema, path)


def _body(document: Json, schema: str, path: Path) -> dict[str, Json]:
    """What a document holds beside its schema and digest. Raises UsageError where they are not its own."""
    has = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(document, dict) or has != schema:
        raise UsageError(_other(has, schema), where=str(path), next=_next(has, schema))
    body = {key: value for key, value in document.items() if key not in ("schema", "digest")}
    if document.get("digest") != _digest_of(schema, body):
        what = "it was changed after it was written" if document.get("digest") else "it has no digest of its content"
        raise UsageError(what, where=str(path), next="measure again; results are not edited by hand")
    return body


MOST = 64 << 20
"""Bytes of a results file that are read: many times those of a whole suite's."""


def _json(path: Path) -> Json:
    try:
        document: Json = json.loads(read_bounded(path, MOST).decode("utf-8"))
    except FileNotFoundError:
        raise UsageError(
            "there is no such file", where=str(path), next="stackbuild bench … --out FILE writes one"
        ) from None
    except IsADirectoryError:
        raise UsageError("it is a folder", where=str(path), next="give the results file") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"not JSON: {error}", where=str(path), next="give a file that stackbuild bench wrote"
        ) from None
    return _encodable(document)


def _other(has: object, schema: str) -> str:
    return f"its schema is {has}, this stackbuild reads {schema}" if has else f"it names no schema; {schema} is read"


def _next(has: object, schema: str) -> str:
    if isinstance(has, str) and has.partition("/")[0] == schema.partition("/")[0]:
        return "measure again with this version, or read it with the stackbuild that wrote it"
    return "give a file that stackbuild bench wrote"


def _as(shape: type[Document], data: Json, path: Path) -> Document:
    try:
        return TypeAdapter(shape).validate_python(data)
    except ValidationError as error:
        raise UsageError(
            f"{first_mistake(error)} ({error.error_count()} mistakes)", where=str(path),
            next="the file was changed by hand or cut short; measure again",
        ) from None  # fmt: skip


def _finite(value: Json) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list) else value


def _encodable(value: Json) -> Json:
    """The same with lone surrogates (of file names that are not UTF-8) as escapes: nothing else can write them."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key.encode("utf-8", "backslashreplace").decode(): _encodable(inner) for key, inner in value.items()}
    return [_encodable(inner) for inner in value] if isinstance(value, list) else value
