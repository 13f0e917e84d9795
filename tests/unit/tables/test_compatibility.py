"""The compatibility table."""

from stackbuild.tables.compatibility import table


def test_a_target_of_a_later_rocm_is_none_of_an_earlier_one() -> None:
    assert "gfx1201" not in table().targets("6.3") and "gfx1201" in table().targets("6.4")
