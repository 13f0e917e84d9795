"""The emulator's side of the channel: whatever a stranger's code sends, it goes on, ends, and keeps what matters."""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stackbuild.core.errors import MachineLacks
from stackbuild.emulator import service as service_module
from stackbuild.emulator.body import kernel_body
from stackbuild.emulator.control_flow import KernelCode
from stackbuild.emulator.encodings import target_tables
from stackbuild.emulator.function_table import FunctionTable
from stackbuild.emulator.operands import UnknownInstruction
from stackbuild.emulator.service import EmulatorService
from stackbuild.emulator.translate import TranslationError
from stackbuild.tables.gpu_limits import limits_of
from support.call_object import call_object

DEFECT = "report finding\x1fkind\x1frace\x1fkernel\x1fk{number}\x1ftext\x1fboth write"


@pytest.fixture
def service(tmp_path: Path) -> EmulatorService:
    return EmulatorService(limits_of("gfx1100"), tmp_path)


@contextmanager
def stranger(service: EmulatorService) -> Iterator[socket.socket]:
    """The other end of the channel. Its end is waited for: a test that hangs here is the defect."""
    with service.running() as descriptor, socket.socket(fileno=os.dup(descriptor)) as channel:
        yield channel


def ask(channel: socket.socket, text: str, *payload: int) -> str:
    """A request as native/hip/channel.c makes it; "" where nobody answers."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            socket.send_fds(channel, [text.encode()], [theirs.fileno(), *payload])
        ours.settimeout(10)
        return ours.recv(1 << 16).decode()


def memory_file(data: bytes, size: int = 0) -> int:
    file = os.memfd_create("payload")
    os.write(file, data)
    os.truncate(file, size or len(data))
    return file


def test_it_answers(service: EmulatorService) -> None:
    with stranger(service) as channel:
        assert ask(channel, "device").startswith("ok\n")
        assert ask(channel, "nonsense") == "error the request 'nonsense' is not known"


@pytest.mark.parametrize("how", [socket.SHUT_RDWR, socket.SHUT_WR])
def test_a_channel_that_is_shut_down_ends_it(service: EmulatorService, how: int) -> None:
    with stranger(service) as channel:
        channel.shutdown(how)
        began = time.process_time()
        time.sleep(0.3)
        assert time.process_time() - began < 0.2, "it reads the closed channel again and again"


def test_a_message_of_nothing_ends_it(service: EmulatorService) -> None:
    with stranger(service) as channel:
        channel.send(b"")
        time.sleep(0.1)
        with pytest.raises(BrokenPipeError):
            channel.send(b"device")


def test_an_answer_that_nobody_takes_is_not_waited_for(service: EmulatorService) -> None:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    with ours, theirs, stranger(service) as channel:
        with pytest.raises(BlockingIOError):
            while True:
                theirs.send(b"x" * 4096)
        theirs.setblocking(True)
        socket.send_fds(channel, [b"device"], [theirs.fileno()])
        assert ask(channel, "device").startswith("ok\n")


def test_what_is_no_socket_is_closed(service: EmulatorService) -> None:
    with stranger(service) as channel, Path(os.devnull).open() as device:
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(50):
            socket.send_fds(channel, [b"device"], [device.fileno(), device.fileno()])
        assert ask(channel, "device").startswith("ok\n")
        assert len(list(Path("/proc/self/fd").iterdir())) <= before + 3  # those of the last answer


@pytest.mark.parametrize(("count", "overlap", "answer"), [(200, 1 << 20, "bytes together"), (1 << 17, 1, "at most 65536")])
def test_names_of_symbols_have_a_bound_together(service: EmulatorService, count: int, overlap: int, answer: str) -> None:
    """Names in a table may overlap: together they can be longer than the file by orders of magnitude."""
    with stranger(service) as channel:
        payload = memory_file(overlapping_symbols(count, overlap))
        assert answer in ask(channel, "load", payload)
        os.close(payload)


def overlapping_symbols(count: int, size: int) -> bytes:
    """A code object of gfx1100 without kernels: so many symbols, whose names begin one byte after another."""
    dynamic = 64 + 2 * 56
    hashes = dynamic + 16 * 5
    symbols = hashes + 16
    names = symbols + 24 * count
    end = names + size + 2
    image = bytearray(end)
    image[names + 1 : names + 1 + size] = b"a" * size
    tags = [(4, hashes), (6, symbols), (5, names), (10, size + 2), (0, 0)]
    image[dynamic:hashes] = b"".join(struct.pack("<QQ", *tag) for tag in tags)
    struct.pack_into("<II", image, hashes, 1, count)
    for i in range(count):
        struct.pack_into("<IBBHQQ", image, symbols + 24 * i, 1 + i % size, 1, 0, 1, 0, 64)
    head = struct.pack("<HHIQQQIHHHHHH", 3, 224, 1, 0, 64, 0, 0x41, 64, 56, 2, 64, 0, 0)
    image[:64] = b"\x7fELF\x02\x01\x01\x40\x03" + bytes(7) + head
    struct.pack_into("<IIQQQQQQ", image, 64, 1, 5, 0, 0, 0, end, end, 4096)
    struct.pack_into("<IIQQQQQQ", image, 120, 2, 4, dynamic, dynamic, dynamic, 80, 80, 8)
    return bytes(image)


def test_dispatches_leave_no_defect_out(service: EmulatorService) -> None:
    service._dispatch_room.count = 100
    with stranger(service) as channel:
        for _ in range(300):
            channel.send(b"report dispatch\x1fkernel\x1fk")
        channel.send(DEFECT.format(number=0).encode())
    assert len(service.of("dispatch")) == 100 and service.omitted_dispatches == 200
    assert [each["kernel"] for each in service.of("finding")] == ["k0"]


def test_reports_have_a_bound_of_their_bytes(service: EmulatorService) -> None:
    with stranger(service) as channel:
        for number in range(3000):
            channel.send((DEFECT.format(number=number) + "x" * 60_000).encode())
            channel.send(b"report nonsense\x1f" + b"x" * 10_000)
    kept = sum(len(value) for report in service.reports for value in report.fields.values())
    assert service.of("finding") and kept <= 16 << 20 and not service.of("nonsense")


@pytest.mark.parametrize("size", [0, service_module._PAYLOAD + 1, 1 << 45])
def test_a_code_object_has_a_size(service: EmulatorService, size: int) -> None:
    file = memory_file(b"", size)
    with stranger(service) as channel:
        assert ask(channel, "load", file) == "error a code object is a file of 1 to 1,073,741,824 bytes"
    os.close(file)


def test_a_code_object_is_a_file(service: EmulatorService) -> None:
    reading, writing = os.pipe()
    with stranger(service) as channel:
        assert "is a file of" in ask(channel, "load", reading)
        assert ask(channel, "load") == "error a code object was not handed over"
    os.close(reading)
    os.close(writing)


def test_a_code_object_that_is_cut_short_while_it_is_read(
    service: EmulatorService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a mapped file, that would be the end of stackbuild by SIGBUS."""
    file = memory_file(b"\x7fELF" + bytes(1 << 26))
    read = os.pread

    def cut(descriptor: int, size: int, at: int) -> bytes:
        os.truncate(file, 1 << 16)
        return read(descriptor, size, at)

    monkeypatch.setattr(os, "pread", cut)
    with stranger(service) as channel:
        assert ask(channel, "load", file).startswith("error ")
        assert ask(channel, "device").startswith("ok\n")
    os.close(file)


def test_code_objects_have_a_bound_together(service: EmulatorService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "_TOTAL", 100_000)
    answers = []
    with stranger(service) as channel:
        for number in range(40):
            file = memory_file(call_object("gfx1100") + bytes(number))
            answers.append(ask(channel, "load", file))
            os.close(file)
    assert answers[0].startswith("ok ") and answers[-1] == "error code objects of more than 100,000 bytes were loaded"


def test_a_request_after_the_end_translates_nothing(service: EmulatorService) -> None:
    with stranger(service):
        service._end.set()
        assert service._answer("device", None).startswith("ok")
        with pytest.raises(service_module.TranslationError):
            service._require_running()


@pytest.mark.parametrize(
    ("error", "lack"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the store takes no kernels: No space left on device"),
        (OSError(errno.EROFS, "Read-only file system"), "the store takes no kernels: Read-only file system"),
        (MachineLacks("no C compiler is here"), "no C compiler is here"),
        (OSError(errno.EIO, "Input/output error"), ""),
        (TranslationError("the compiler failed"), ""),
    ],
)
def test_a_disk_that_takes_no_more_is_what_the_machine_lacks(
    service: EmulatorService, monkeypatch: pytest.MonkeyPatch, error: Exception, lack: str
) -> None:
    def refused(*_: object, **__: object) -> Path:
        raise error

    monkeypatch.setattr(service_module, "translate", refused)
    with stranger(service) as channel:
        assert ask(channel, "load", memory_file(call_object("gfx1100"))).startswith("error ")
    assert service.lack == lack


def test_an_instruction_that_skips_others_stops_by_its_name() -> None:
    code = bytes.fromhex("000010bf000081bf")  # s_setvskip s0, s0; s_endpgm
    body = KernelCode(code, target_tables("gfx942"), 0, len(code))
    with pytest.raises(UnknownInstruction, match="s_setvskip is not known"):
        kernel_body(body, 64, FunctionTable(64, "t"), symbol="k", counters=False, sanitize=False)
