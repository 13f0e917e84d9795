"""What a file is by its first bytes, in the words of a message: a download that failed, a pointer, another tool's format. Pure."""

from __future__ import annotations

import re

HEAD = 512
"""So many bytes tell."""
ZIP = b"PK"
"""How a zip archive begins, of which a wheel is one."""
AGAIN = "download it again, and look at what the address answers"
_STARTS: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs.github.com/", "a Git LFS pointer", "`git lfs pull` fetches the file that it stands for"),
    (b"%PDF", "a PDF document", AGAIN),
    (b"\x1f\x8b", "a gzip file", "a source archive: `pip wheel FILE` builds a wheel of it"),
    (b"\xfd7zXZ", "an xz file", "unpack it first"),
    (b"BZh", "a bzip2 file", "unpack it first"),
    (b"(\xb5/\xfd", "a zstd file", "unpack it first"),
    (b"7z\xbc\xaf", "a 7-Zip archive", "unpack it first"),
    (b"!<arch>\ndebian-binary", "a Debian package", "unpack it with `dpkg-deb -x FILE FOLDER`, and name what it has"),
    (b"!<arch>", "a static library", "name the shared library or the wheel that it was linked into"),
    (b"\xed\xab\xee\xdb", "an RPM package", "unpack it with `rpm2cpio`, and name what it has"),
    (b"\x7fELF", "a program or shared library", "name it by its own suffix, `.so`"),
    (b"MZ", "a Windows program or library", "recipes and wheels of stackbuild are for Linux"),
    (b"\xcf\xfa\xed\xfe", "a macOS program or library", "recipes and wheels of stackbuild are for Linux"),
    (b"GGUF", "a GGUF model", "export the model to ONNX"),
    (b"\x89HDF", "an HDF5 file, such as a Keras model", "export it: `tf2onnx` writes ONNX"),
    (b"\x80\x02", "a pickle, such as a PyTorch checkpoint", "export it: `torch.onnx.export` writes ONNX"),
    (b"\x80\x04", "a pickle, such as a PyTorch checkpoint", "export it: `torch.onnx.export` writes ONNX"),
    (ZIP, "a zip archive, such as a PyTorch checkpoint", "export it: `torch.onnx.export` writes ONNX"),
)


def kind_of(head: bytes) -> tuple[str, str]:
    """What the first bytes of a file are of, and what to do; ("", "") where nothing is recognised."""
    for start, kind, step in _STARTS:
        if head.startswith(start):
            return kind, step
    if not head:
        return "an empty file", AGAIN
    if b"TFL3" in head[4:8]:
        return "a TensorFlow Lite model", "export it: `tf2onnx` writes ONNX"
    if re.match(rb".{8}\{\"", head, re.DOTALL) and head[5:8] == b"\0\0\0":
        return "a safetensors file: weights without a graph", "export the model to ONNX"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "an HTML page, such as a server's error", AGAIN
    if text.startswith(b"<?xml"):
        return "an XML document, such as a server's error", AGAIN
    if text.startswith((b"{", b"[")) and not re.search(rb"[^\x09\x0a\x0d\x20-\x7e\x80-\xff]", text):
        return "a JSON text, such as a server's error", AGAIN
    return ("a text file", AGAIN) if not re.search(rb"[^\x09\x0a\x0d\x20-\x7e]", head) else ("", "")
