"""The root that the files of an image are taken from."""

from __future__ import annotations

from stackbuild.model.plan import Step
from stackbuild.pipeline.image_root import runtime_step


def test_a_root_for_the_image_has_the_base_s_suite_and_versions() -> None:
    params = (("extract", '["libmigraphx-c3"]'), ("package libc6", "2.43"), ("packages", '["cmake"]'), ("suite", "sid"))
    step = runtime_step(Step("base", "debian", params=params), ["libmigraphx-c3"])
    assert dict(step.params) == {
        "extract": "[]",
        "package libc6": "2.43",
        "packages": '["libmigraphx-c3","python3"]',
        "suite": "sid",
    }
    assert step.key != Step("base", "debian", params=params).key
