"""What a file is by its first bytes."""

from __future__ import annotations

import pytest

from stackbuild.core.file_kinds import kind_of


@pytest.mark.parametrize(
    ("head", "kind", "step"),
    [
        (b"<!DOCTYPE html><html>", "an HTML page", "download it again"),
        (b"\n <HTML lang=en>", "an HTML page", "download it again"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer", "git lfs pull"),
        (b'{"message": "Not Found"}', "a JSON text", "download it again"),
        (b"", "an empty file", "download it again"),
        (b"\x1f\x8b\x08\x00", "a gzip file", "pip wheel"),
        (b"\x80\x02}q\x00", "a pickle", "torch.onnx.export"),
        (b"\x40\0\0\0\0\0\0\0{\"weight\"", "a safetensors file", "ONNX"),
        (b"\x1c\0\0\0TFL3", "a TensorFlow Lite model", "tf2onnx"),
        (b"404: Not Found", "a text file", "download it again"),
    ],
)
def test_a_file_of_another_kind_is_recognised(head: bytes, kind: str, step: str) -> None:
    assert kind_of(head)[0].startswith(kind) and step in kind_of(head)[1]


@pytest.mark.parametrize("head", [b"\x08\x08\x12\x07pytorch", b"\x00\x01\x02"])
def test_a_model_and_unknown_bytes_are_not(head: bytes) -> None:
    """0x08 begins a serialised ModelProto: field 1, `ir_version`, as a varint."""
    assert kind_of(head) == ("", "")
