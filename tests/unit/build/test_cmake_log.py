"""What CMake's log says of the options it was given."""

from stackbuild.build.cmake_log import unused_entries


def test_an_unused_cache_entry_is_found_if_it_was_to_be_used() -> None:
    log = "-- done\nCMake Warning:\n  Manually-specified variables were not used by the project:\n\n    GGML_HIPBLAS\n    OK\n\n\n-- Build\n"
    assert unused_entries(log, ("GGML_HIPBLAS", "GGML_CUDA")) == ("GGML_HIPBLAS",)
    assert unused_entries("-- all used\n", ("GGML_HIPBLAS",)) == ()
