"""Code-object bundles, plain and compressed, and the sections and files that hold several of them.

Layout from LLVM's ClangOffloadBundler: `__CLANG_OFFLOAD_BUNDLE__`, u64 count, and for each entry u64 offset (from the
bundle's start), u64 size, u64 length of its ID, the ID. Bundles of one section start on 4 KiB boundaries with zeros between.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator
from dataclasses import replace

from stackbuild.inspection.facts import Bundle, CodeObject
from stackbuild.inspection.limits import BUNDLE_ENTRIES, BUNDLES, ENTRY_ID, PIECE, Cost
from stackbuild.inspection.readers import ccob
from stackbuild.inspection.readers.budget import BudgetError, ReadBudget
from stackbuild.inspection.readers.byte_parser import BackwardReadError, Feed, LimitError, MalformedError, Pull
from stackbuild.inspection.readers.codeobject import code_object

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
ALIGN = 4096
_FIRST = 4096
#: Bytes that a bundle takes as a fact beyond its entries.
_BUNDLE = 512
BundleRow = tuple[int, int, str]


def is_start(head: bytes) -> bool:
    """Whether a bundle of either kind starts with these bytes (24 at least)."""
    return head.startswith((MAGIC, ccob.MAGIC))


def may_start(head: bytes) -> bool:
    """The same for bytes that may be cut short: whether nothing speaks against it yet."""
    if len(head) >= len(MAGIC):
        return is_start(head)
    return bool(head) and (MAGIC.startswith(head) or ccob.MAGIC.startswith(head[:4]))


def bundle(at: int, room: int, budget: ReadBudget) -> Pull[Bundle]:
    """Read the bundle at offset `at`, which has `room` bytes at most. Raises MalformedError."""
    head = yield at, min(room, ccob.LONGEST)
    if head.startswith(MAGIC):
        return (yield from plain(at, room, budget))
    if head.startswith(ccob.MAGIC):
        return (yield from compressed_bundle(at, room, head, budget))
    raise MalformedError(f"no code-object bundle at offset {at}")


def plain(at: int, room: int, budget: ReadBudget) -> Pull[Bundle]:
    """Read a plain bundle: its table, then each code object's header and metadata."""
    table, end = yield from directory(at, room, budget)
    objects: list[CodeObject] = []
    problems: list[str] = []
    shared_count = 0
    for offset, size, name in sorted(row for row in table if row[1]):
        if offset + size > room:
            raise MalformedError(f"entry {name} ends at {offset + size} of a bundle with {room} bytes")
        if offset < end:
            shared_count += 1
            problems += (
                [f"entry {name} shares its bytes with another or the table; it is not read"]
                if shared_count == 1
                else []
            )
            continue
        end = offset + size
        if not name.startswith("host-") and not is_portable(name):
            try:
                objects.append((yield from code_object(at + offset, size, target_of(name), budget)))
            except BudgetError:
                raise
            except MalformedError as format_error:
                budget.text(len(str(format_error)))
                problems.append(str(format_error))
    if shared_count > 1:
        problems.append(f"{shared_count} entries share bytes with others")
    entries = tuple(name for _, _, name in table)
    vacant = tuple(name for _, length, name in table if not length and not name.startswith("host-"))
    return Bundle(at, end, end, "none", 0, None, entries, tuple(objects), tuple(problems), vacant)


def directory(at: int, room: int, budget: ReadBudget) -> Generator[tuple[int, int], bytes, tuple[list[BundleRow], int]]:
    """The entries of a bundle (offset, size, ID), and where its table of them ends."""
    head = yield at, min(room, _FIRST)
    if len(head) < 32 or head[:24] != MAGIC:
        raise MalformedError("bundle ends inside its header")
    (count,) = struct.unpack_from("<Q", head, 24)
    if count > BUNDLE_ENTRIES:
        raise LimitError(f"bundle claims {count} entries; at most {BUNDLE_ENTRIES} are read")
    longest = 32 + count * (24 + ENTRY_ID)
    if count * 256 > _FIRST:  # a table that may not fit the first page
        head = yield at, min(room, longest)
    rows: list[BundleRow] = []
    budget.text(_BUNDLE)
    where = 32
    for _ in range(count):
        if where + 24 > len(head):
            raise MalformedError("bundle ends inside its table of entries")
        offset, size, length = struct.unpack_from("<QQQ", head, where)
        if length > ENTRY_ID or where + 24 + length > len(head):
            raise MalformedError(f"bundle entry claims an ID of {length} bytes")
        budget.text(length)
        rows.append((offset, size, head[where + 24 : where + 24 + length].decode("ascii", "replace")))
        where += 24 + length
    return rows, where


def is_portable(entry: str) -> bool:
    """Whether an entry holds SPIR-V, which the runtime compiles for the GPU that it finds."""
    return "-spirv64-amd-amdhsa-" in entry


def target_of(entry: str) -> str:
    """The target ID of an entry ID `kind-arch-vendor-os-env[-target]`: five parts precede it, one may be empty."""
    parts = entry.split("-", 5)
    return parts[5].lstrip("-") if len(parts) == 6 else ""


def compressed_bundle(at: int, room: int, head: bytes, budget: ReadBudget) -> Pull[Bundle]:
    """Read a compressed bundle as it inflates, bounded by its header's total (version 1: by the end of its stream)."""
    header = ccob.header(head)
    total = header.total if header.total is not None else room
    if total > room:
        raise MalformedError(f"compressed bundle claims {total} bytes, {room} are left")
    ccob.check_size(header, total - header.header)
    budget.spend(Cost.INFLATION, header.inflated_size)
    inflater = ccob.Inflater(header)
    feed = Feed(plain(0, header.inflated_size, budget))
    out, where = 0, header.header
    while where < total and not inflater.ended:
        piece = yield at + where, min(PIECE, total - where)
        if not piece:
            break
        where += len(piece)
        for chunk in inflater.push(piece):
            _pass_on(feed, out, chunk)
            out += len(chunk)
    agrees = inflater.finish()
    feed.finish(out)
    size = total if header.total is not None else where - inflater.spare
    return replace(feed.result, offset=at, size=size, inflated=header.inflated_size, compression=header.method,
                   format=header.version, hash_ok=agrees)  # fmt: skip


def _pass_on(feed: Feed[Bundle], at: int, chunk: bytes) -> None:
    try:
        if not feed.is_complete:
            feed.push(at, chunk)
    except BackwardReadError:
        raise MalformedError("the entries of a compressed bundle overlap") from None


BundleWalk = tuple[list[Bundle], list[MalformedError]]


def bundles(at: int, size: int, budget: ReadBudget, bundle_at: Callable[[int], Bundle | None]) -> Pull[BundleWalk]:
    """All bundles between `at` and `at + size`, and what stopped the walk, if anything did.

    Each bundle ends where it says; the next starts at the next 4 KiB boundary that is not zero (or at once: a linker may
    pack them closer). `foreseen(offset)` gives a bundle that was already read while streaming.
    """
    members: list[Bundle] = []
    end = at + size
    while at < end:
        member = bundle_at(at)
        if member is None and not is_start((yield at, min(end - at, len(MAGIC)))):
            step = yield from _padding(at, end)
            if step is None:
                return members, [
                    MalformedError(f"{end - at} bytes at offset {at} are neither a code-object bundle nor padding")
                ]
            at = step
            continue
        if len(members) >= BUNDLES:
            return members, [LimitError(f"more than {BUNDLES} bundles; the rest is not read")]
        try:
            if member is None or member.size > end - at:
                member = yield from bundle(at, end - at, budget)
        except MalformedError as format_error:
            return members, [_stop_error(at, format_error)]
        members.append(member)
        at += max(member.size, 1)
    return members, []


def _stop_error(at: int, format_error: MalformedError) -> MalformedError:
    if isinstance(format_error, BudgetError):
        return format_error
    return type(format_error)(f"bundle at offset {at}: {format_error}; the rest of the section is not read")


def _padding(at: int, end: int) -> Generator[tuple[int, int], bytes, int | None]:
    """The end of the zeros at `at`, looked for up to the next boundary; None where there are none."""
    chunk = yield at, min(end, (at // ALIGN + 1) * ALIGN) - at
    zeros = len(chunk) - len(chunk.lstrip(b"\0"))
    return at + zeros if zeros else None
