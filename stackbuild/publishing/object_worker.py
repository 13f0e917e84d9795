"""The objects of a store, asked by a process of their own: a server can end that process and not this one.

What a hostile server's answer does to the HTTP client (a length of a terabyte, an error message without end) is bounded
by the child's memory limit. A Ctrl-C is seen at once, because this process only waits for the child.

A message of either side is a line of JSON and so many `bytes` after it. Each request has a `number`, and answers come in
any order. The child ends with its standard input, so it does not stay behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import resource
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from stackbuild.core.cancel import POLL_SECONDS, check_signals
from stackbuild.core.errors import UsageError
from stackbuild.publishing.objects import (
    ObjectFault,
    ObjectStore,
    ObstoreObjects,
    StoredObject,
    connect,
)

MEMORY = 1536 << 20
"""Bytes of the child's own memory: four times what a catalog may have, and 16 files that are on their way."""
THREADS = 16
MOST_LINE = 1 << 16


@dataclass(frozen=True)
class WorkerMessage:
    """What goes over a pipe: a JSON object and bytes."""

    head: dict[str, Any]
    data: bytes = b""

    def write(self, pipe: IO[bytes]) -> None:
        """Raises OSError, also where the other side has gone."""
        pipe.write(json.dumps({**self.head, "bytes": len(self.data)}).encode() + b"\n")
        pipe.write(self.data)
        pipe.flush()

    @classmethod
    def read(cls, pipe: IO[bytes]) -> WorkerMessage | None:
        """The next one; None where the other side has gone, also within a message."""
        line = pipe.readline(MOST_LINE)
        if not line.endswith(b"\n"):
            return None
        head = json.loads(line)
        data = pipe.read(head["bytes"])
        return cls(head, data) if len(data) == head["bytes"] else None


@dataclass
class _WorkerProcess:
    """A child, and the requests that it has not answered yet."""

    process: subprocess.Popen[bytes]
    waiting: dict[int, queue.SimpleQueue[WorkerMessage | None]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    has_ended: bool = False

    def listen(self) -> None:
        """Hand each answer to who waits for it, until the child ends."""
        assert self.process.stdout is not None
        with contextlib.suppress(ValueError, OSError):  # of a child that was killed within a message
            while message := WorkerMessage.read(self.process.stdout):
                with self.lock:
                    answers = self.waiting.pop(message.head["number"], None)
                if answers is not None:
                    answers.put(message)
        with self.lock:
            self.has_ended = True
            for answers in self.waiting.values():
                answers.put(None)
            self.waiting.clear()

    def send(self, number: int, message: WorkerMessage) -> queue.SimpleQueue[WorkerMessage | None]:
        """Where the answer will be put, None in its place where the child ends before."""
        assert self.process.stdin is not None
        answers: queue.SimpleQueue[WorkerMessage | None] = queue.SimpleQueue()
        with self.lock:
            if self.has_ended:
                answers.put(None)
                return answers
            self.waiting[number] = answers
        with contextlib.suppress(OSError, ValueError):  # the listener hears of its end
            message.write(self.process.stdin)
        return answers

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class WorkerObjects:
    """An `ObjectStore` whose requests a child makes. Safe for threads. A child that ended is followed by another."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._worker: _WorkerProcess | None = None
        self._number = 0
        self._lock = threading.Lock()

    def get(self, key: str, most: int) -> StoredObject | None:
        answer = self._ask({"do": "get", "key": key, "most": most})
        return StoredObject(answer.data, answer.head["etag"]) if answer.head["is_there"] else None

    def create(self, key: str, data: bytes) -> bool:
        return bool(self._ask({"do": "create", "key": key}, data).head["is_done"])

    def replace(self, key: str, data: bytes, etag: str) -> bool:
        return bool(self._ask({"do": "replace", "key": key, "etag": etag}, data).head["is_done"])

    def put_file(self, key: str, path: Path) -> None:
        self._ask({"do": "put_file", "key": key, "path": str(path.absolute())})

    def delete(self, key: str) -> None:
        self._ask({"do": "delete", "key": key})

    def close(self) -> None:
        """End the child, and what it does."""
        with self._lock:
            if self._worker is not None:
                self._worker.kill()
                self._worker = None

    def _ask(self, head: dict[str, Any], data: bytes = b"") -> WorkerMessage:
        with self._lock:
            self._number += 1
            number = self._number
            worker = self._running()
            answers = worker.send(number, WorkerMessage({**head, "number": number}, data))
        answer = self._answer_from(answers)
        if answer is None:
            status = worker.process.wait()
            why = f"signal {-status}" if status < 0 else f"exit code {status}"
            raise ObjectFault(
                f"what the store answered ended the program that reads it ({why}), as an answer of too many bytes does"
            )
        if "fault" in answer.head:
            raise ObjectFault(answer.head["fault"])
        return answer

    def _answer_from(self, answers: queue.SimpleQueue[WorkerMessage | None]) -> WorkerMessage | None:
        """The answer, None where the child has ended. Whatever else ends the wait ends the child: nobody waits for it."""
        try:
            while True:
                check_signals()
                with contextlib.suppress(queue.Empty):
                    return answers.get(timeout=POLL_SECONDS)
        except BaseException:
            self.close()
            raise

    def _running(self) -> _WorkerProcess:
        if self._worker is None or self._worker.has_ended:
            words = [sys.executable, "-m", "stackbuild.publishing.object_worker", self._url]
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # a Ctrl-C is this process's to handle
            )
            self._worker = _WorkerProcess(process)
            threading.Thread(target=self._worker.listen, name="object store", daemon=True).start()
        return self._worker


def _answer(store: ObjectStore, message: WorkerMessage) -> WorkerMessage:
    """The answer to a request, also where the store fails."""
    head, data = message.head, b""
    key, answer = head["key"], {"number": head["number"]}
    try:
        match head["do"]:
            case "get":
                stored_object = store.get(key, head["most"])
                data = stored_object.data if stored_object else b""
                answer |= {"is_there": stored_object is not None, "etag": stored_object.etag if stored_object else ""}
            case "create":
                answer["is_done"] = store.create(key, message.data)
            case "replace":
                answer["is_done"] = store.replace(key, message.data, head["etag"])
            case "put_file":
                store.put_file(key, Path(head["path"]))
            case "delete":
                store.delete(key)
    except ObjectFault as fault:
        return WorkerMessage({**answer, "fault": str(fault)})
    except BaseException as error:  # a panic of the library, MemoryError: the other side must not wait for ever
        return WorkerMessage({**answer, "fault": f"{type(error).__name__}: {error}"[:300]})
    return WorkerMessage(answer, data)


def main(url: str) -> None:
    """The child: answer requests until standard input ends."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out, lock = sys.stdout.buffer, threading.Lock()

    def work(message: WorkerMessage) -> None:
        answer = _answer(store, message)
        with lock:
            answer.write(out)

    try:
        store = ObstoreObjects(connect(url))
    except UsageError:
        os._exit(2)  # whoever started this has connected, too
    pool = ThreadPoolExecutor(THREADS)
    with contextlib.suppress(OSError, ValueError):
        while message := WorkerMessage.read(sys.stdin.buffer):
            pool.submit(work, message)
    os._exit(0)  # requests that wait for a server have nobody left to answer


if __name__ == "__main__":
    main(sys.argv[1])
