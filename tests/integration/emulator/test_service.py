"""The emulator's service and a stranger that hands over a connection."""

from __future__ import annotations

import os
import socket
import struct
import time
from pathlib import Path

import pytest

from stackbuild.emulator.service import EmulatorService
from stackbuild.tables.gpu_limits import limits_of


@pytest.mark.timeout(100)
def test_a_socket_with_unsent_data_is_not_waited_for(tmp_path: Path) -> None:
    """SO_LINGER makes the last close of a socket wait for its data, as long as whoever set it likes."""
    service = EmulatorService(limits_of("gfx1100"), tmp_path)
    began = time.monotonic()
    with service.running() as descriptor, socket.socket(fileno=os.dup(descriptor)) as channel:
        with socket.create_server(("127.0.0.1", 0)) as server:
            ours = socket.create_connection(server.getsockname())
            theirs, _ = server.accept()
        ours.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                ours.send(b"x" * 65536)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
        socket.send_fds(channel, [b"device"], [ours.fileno(), theirs.fileno()])
        for each in (ours, theirs):
            os.close(each.detach())
    assert time.monotonic() - began < 20
