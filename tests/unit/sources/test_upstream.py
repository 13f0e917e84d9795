"""The lists that upstream projects keep of what their builds download."""

import pytest

from stackbuild.core.errors import StepFailed
from stackbuild.sources.upstream import abseil_of_protobuf, deps_txt, fetchcontent, requirements_txt, version_in
from support.upstream_lists import DEPS_TXT


def test_deps_txt_rows_keep_name_url_and_sha1_and_comments_go() -> None:
    text = "#Name;Url;SHA1\n# note\nabseil_cpp;https://github.com/a/b.zip;36EE53eb1466fb6e593fc5c286680de31f8a494a\n\n"
    (row,) = deps_txt(text)
    assert (row.name, row.url, row.digest) == (
        "abseil_cpp",
        "https://github.com/a/b.zip",
        "sha1:36ee53eb1466fb6e593fc5c286680de31f8a494a",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a;https://x/y.zip\n", "line 1 is not name;url;sha1"),
        ("# c\na;https://x/y.zip;123\n", "line 2 is not name;url;sha1"),
        (f"a;http://x/y.zip;{'0' * 40}\n", "is not an https address"),
        (f"a;file:///etc/passwd;{'0' * 40}\n", "is not an https address"),
    ],
)
def test_a_row_that_is_none_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(StepFailed, match=said):
        deps_txt(text)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("../../abc", "https://x/y.zip"),
        ("a", "https:///x"),
        ("a", "https://[::1/y.zip"),
        ("a", "https://x:port/y.zip"),
        ("a", "https://x/y\x1b[2J.zip"),
        ("a", "https://x/../../etc/passwd"),
        ("a", "https://x/a/./y.zip"),
        ("a", "https://x"),
        ("", "https://x/y.zip"),
    ],
)
def test_hostile_names_and_addresses_are_refused_with_their_line(name: str, url: str) -> None:
    with pytest.raises(StepFailed, match="is refused") as stopped:
        deps_txt(f"# first\n{name};{url};{'0' * 40}\n")
    assert "\x1b" not in str(stopped.value)
    assert stopped.value.where == "cmake/deps.txt:2"


def test_one_address_with_two_contents_is_refused() -> None:
    row = "{};https://x/y.zip;{}\n"
    with pytest.raises(StepFailed, match="two digests"):
        deps_txt(row.format("a", "0" * 40) + row.format("b", "1" * 40))
    assert len(deps_txt(row.format("a", "0" * 40) + row.format("b", "0" * 40))) == 2


def test_requirements_of_every_form_in_migraphx() -> None:
    text = """
    # comment
    google/protobuf@v3.19.0 -DCMAKE_POSITION_INDEPENDENT_CODE=On -X subdir -Dprotobuf_BUILD_TESTS=Off
    pybind/pybind11@3e9dfa2866941655c56877882565e7577de6fc7b --build
    sqlite3@3.43.2 -DCMAKE_POSITION_INDEPENDENT_CODE=On
    org/project@1.0 -H sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa --cmake subdir
    """
    protobuf, pybind, sqlite, project = requirements_txt(text)
    assert protobuf.url == "https://github.com/google/protobuf/archive/v3.19.0.tar.gz"
    assert protobuf.options == ("-DCMAKE_POSITION_INDEPENDENT_CODE=On", "-Dprotobuf_BUILD_TESTS=Off")
    assert protobuf.subfolder == "cmake"
    assert pybind.url.endswith("/archive/3e9dfa2866941655c56877882565e7577de6fc7b.tar.gz")
    assert sqlite.url.startswith("https://cget.invalid/")
    assert project.digest == "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("protobuf", "names no version"),
        ("a/b@v1 --run-this", "is not understood"),
        ("a/b@v1;rm", "is not a tag or commit"),
        ("a/b@v1 -H md5:00", "is not a sha256"),
        ("a/b@$(id)", "is not a tag or commit"),
        ('google/protobuf@v3.19.0 -DX="abc', "cannot be read: No closing quotation"),
        ("..,https://x/y.zip", "is refused"),
        ("x,https://[::1", "is refused"),
    ],
)
def test_a_requirement_that_is_none_is_refused(line: str, said: str) -> None:
    with pytest.raises(StepFailed, match=said):
        requirements_txt(line)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("https://gitlab.com/libeigen/eigen/-/archive/5.0.1/eigen-5.0.1.tar.gz -DBUILD_TESTING=Off", "eigen"),
        ("https://github.com/org/tool/archive/refs/tags/v1.2.zip", "tool"),
        ("https://example.org/releases/zlib-1.3.1.tar.xz", "zlib"),
        ("https://example.org/releases/plain.tgz", "plain.tgz"),
    ],
)
def test_an_address_is_called_what_its_project_is(line: str, name: str) -> None:
    assert [row.name for row in requirements_txt(line)] == [name]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.22.1\n", "1.22.1"),
        ("project(m)\n  rocm_setup_version( VERSION 2.16.0 )\n", "2.16.0"),
        ("# rocm_setup_version(VERSION 9.9.9)\nproject(m VERSION 1.0)\n", ""),
        ("", ""),
    ],
)
def test_a_source_says_which_version_it_is(text: str, version: str) -> None:
    assert version_in(text) == version


def test_an_alias_names_an_address_and_another_way_to_build_is_kept() -> None:
    (half,) = requirements_txt(
        f"half,https://github.com/pfultz2/half/archive/1.12.0.tar.gz -X header -H sha256:{'c' * 64}"
    )
    assert (half.name, half.url) == ("half", "https://github.com/pfultz2/half/archive/1.12.0.tar.gz")
    assert half.options == ("-X header",)


def test_fetchcontent_reads_declarations_and_not_comments() -> None:
    text = """
    FetchContent_Declare(
            fmt
            URL https://github.com/fmtlib/fmt/releases/download/12.1.0/fmt-12.1.0.zip
            DOWNLOAD_NO_PROGRESS TRUE)
    # FetchContent_Declare(gone URL https://x/gone.zip)
    FetchContent_Declare(json URL https://x/json.tar.xz URL_HASH SHA256=%s)
    """ % ("b" * 64)
    fmt, json = fetchcontent(text)
    assert (fmt.name, fmt.digest) == ("fmt", "")
    assert json.digest == "sha256:" + "b" * 64


def test_a_declaration_with_a_patch_is_refused_because_a_folder_is_not_patched() -> None:
    text = "FetchContent_Declare(onnx URL https://x/onnx.zip PATCH_COMMAND patch -p1 < onnx.patch)"
    with pytest.raises(StepFailed, match="onnx is patched"):
        fetchcontent(text)


@pytest.mark.parametrize(
    "words", ['URL "https://x/a.zip"', "SYSTEM URL https://x/a.zip", "EXCLUDE_FROM_ALL\n URL\n  https://x/a.zip"]
)
def test_a_declaration_is_read_however_it_is_written(words: str) -> None:
    (dep,) = fetchcontent(f"FetchContent_Declare(a {words} URL_HASH SHA1={'c' * 40})")
    assert (dep.name, dep.url, dep.digest) == ("a", "https://x/a.zip", f"sha1:{'c' * 40}")


@pytest.mark.parametrize("words", ["GIT_REPOSITORY https://x/a GIT_TAG v1", "URL ${A_URL}", "URL http://x/a.zip", ""])
def test_a_declaration_that_cannot_be_fetched_beforehand_is_named(words: str) -> None:
    with pytest.raises(StepFailed, match="'a' is declared without a plain https URL"):
        fetchcontent(f"FetchContent_Declare(a {words})")


@pytest.mark.parametrize("url", ["https://[::1", "https://x/a/../b.zip", "https://x/\x1b.zip"])
def test_a_hostile_declaration_is_refused(url: str) -> None:
    with pytest.raises(StepFailed, match="is refused"):
        fetchcontent(f"FetchContent_Declare(json URL {url})")


def test_the_abseil_that_protobuf_would_clone_is_known() -> None:
    text = '# deps\nset(re2-version "2023")\nset(abseil-cpp-version "20250512.1")\n'
    dep = abseil_of_protobuf(text)
    assert dep is not None
    assert (dep.name, dep.url) == ("absl", "https://github.com/abseil/abseil-cpp/archive/refs/tags/20250512.1.tar.gz")
    assert abseil_of_protobuf("set(re2-version 1)") is None


def test_every_form_of_a_row_in_the_real_lists_is_read() -> None:
    rows = {d.name: d for d in deps_txt(DEPS_TXT)}
    assert sorted(rows) == ["eigen", "google_nsync", "lib-b-arm", "lib_a", "lib_c", "protoc_linux_x64"]
    assert rows["lib_a"].digest == "sha1:36ee53eb1466fb6e593fc5c286680de31f8a494a"
    assert rows["lib-b-arm"].url.endswith("/-/archive/v0.2.0/lib-b-v0.2.0.tar.gz")


def test_an_archive_that_its_host_made_anew_has_the_digest_of_today() -> None:
    """GitLab's archives of Eigen; ONNX Runtime to 1.22.0 names the digest of the old ones (onnxruntime#25098)."""
    (eigen,) = (d for d in deps_txt(DEPS_TXT) if d.name == "eigen")
    assert eigen.digest == "sha1:51982be81bbe52572b54180454df11a3ece9a934"


def test_the_lines_of_every_migraphx_are_read() -> None:
    text = """
    google/protobuf@v3.19.0 -DCMAKE_POSITION_INDEPENDENT_CODE=On -X subdir -Dprotobuf_BUILD_TESTS=Off
    abseil/abseil-cpp@20250512.0 -DABSL_ENABLE_INSTALL=ON -DCMAKE_POSITION_INDEPENDENT_CODE=On
    ROCm/rocm-cmake@3f43e2d493f24abbab4dc189a9ab12cc3ad33baf --build
    ROCm/composable_kernel@b7775add2d28251674d81e220cd4a857b90b997a -DCK_BUILD_JIT_LIB=On
    ROCm/rocMLIR@6671a1ee31d44e1f2f7743a26a71ffc4ce9169bf -DBUILD_FAT_LIBROCKCOMPILER=On -DLLVM_INCLUDE_TESTS=Off
    """
    rows = {d.name: d for d in requirements_txt(text)}
    assert rows["rocMLIR"].options == ("-DBUILD_FAT_LIBROCKCOMPILER=On", "-DLLVM_INCLUDE_TESTS=Off")
    assert rows["rocm-cmake"].options == ()
    assert rows["protobuf"].subfolder == "cmake" and rows["abseil-cpp"].subfolder == ""
