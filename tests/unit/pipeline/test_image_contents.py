"""Which wheels an image is made of."""

from __future__ import annotations

from pathlib import Path

from stackbuild.pipeline.image_contents import fits_python, without_replaced


def test_one_onnxruntime_is_enough() -> None:
    runtime = (Path("onnxruntime-1.32.0-cp314-x.whl"), Path("numpy-2-cp314-x.whl"))
    own = (Path("onnxruntime_migraphx-1.22.1+rocm.6.4-cp314-cp314-linux_x86_64.whl"),)
    assert without_replaced(runtime, own) == runtime[1:]
    assert without_replaced(runtime, (Path("onnxruntime_ep_migraphx-1-py3-none-x.whl"),)) == runtime


def test_a_wheel_of_another_python_is_left_out() -> None:
    assert fits_python(Path("a-1-cp314-cp314-linux_x86_64.whl"), "3.14")
    assert fits_python(Path("a-1-py3-none-linux_x86_64.whl"), "3.13")
    assert not fits_python(Path("a-1-cp314-cp314-linux_x86_64.whl"), "3.13")
