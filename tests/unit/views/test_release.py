"""The last lines of a build that found nothing to do."""

import pytest

from stackbuild.pipeline.release import ReleaseReport
from stackbuild.views.release import draw_release


@pytest.mark.parametrize(
    ("until", "line"),
    [
        ("", "nothing to do: demo is built"),
        ("kernels", "nothing to do: kernels of demo is built"),
        ("configure", "nothing to do: what of demo can be configured now, is configured"),
    ],
)
def test_says_what_is_built_and_no_more(until: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    draw_release(ReleaseReport("demo", "run", False, (), "", None, 1.0), until)
    assert line in capsys.readouterr().err
