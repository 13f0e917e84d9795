"""CUDA in build files is a note where the build for HIP does not read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.hipify.tree.build_files import build_findings


def severities(folder: Path, files: dict[str, str]) -> dict[str, list[str]]:
    """The severities of each file's findings in order."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    by_file: dict[str, list[str]] = {}
    for finding in build_findings((folder,), folder / "out"):
        by_file.setdefault(finding.subject, []).append(finding.severity.value)
    return by_file


CUDA_BRANCH = "if(USE_CUDA)\n  enable_language(CUDA)\nendif()\n"
HIP_BRANCH = "if(USE_HIP)\n  enable_language(HIP)\nendif()\n"


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (CUDA_BRANCH, "warning"),
        (CUDA_BRANCH + HIP_BRANCH, "note"),
        ("enable_language(CUDA)\n" + HIP_BRANCH, "warning"),
        ("if(USE_CUDA)\nelse()\n  enable_language(CUDA)\nendif()\n" + HIP_BRANCH, "warning"),
        ("if(NOT CUDA_FOUND)\n  enable_language(CUDA)\nendif()\n" + HIP_BRANCH, "warning"),
        ('if(GPU STREQUAL "cuda")\n  if(X)\n    enable_language(CUDA)\n  endif()\nendif()\n' + HIP_BRANCH, "note"),
        ("if(CMAKE_CUDA_COMPILER)\n  enable_language(CUDA)\nelseif(has_hipcc)\nendif()\nfind_package(HIP)\n", "note"),
        ("if(USE_CUDA OR USE_HIP)\n  enable_language(CUDA)\nendif()\n" + HIP_BRANCH, "warning"),
        ("if(CUDA_A)\nendif()\nenable_language(CUDA)\n" + HIP_BRANCH, "warning"),
        ("if(USE_GPU AND USE_HIP)\n  enable_language(HIP)\nelse()\n  enable_language(CUDA)\nendif()\n", "note"),
        ('if(HIP_PLATFORM STREQUAL "nvcc")\n  enable_language(CUDA)\nendif()\n' + HIP_BRANCH, "note"),
        ('if(HIP_PLATFORM STREQUAL "amd")\n  enable_language(CUDA)\nendif()\n' + HIP_BRANCH, "warning"),
        ("if(NOT USE_HIP)\nelse()\n  enable_language(CUDA)\nendif()\n" + HIP_BRANCH, "warning"),
        ("if(USE_HIP)\nelseif(OTHER)\n  enable_language(CUDA)\nendif()\n", "note"),
    ],
)
def test_a_branch_for_cuda_is_a_note_beside_a_build_for_hip(tmp_path: Path, text: str, severity: str) -> None:
    found = [
        finding.severity.value for finding in build_findings_of(tmp_path, text) if "enable_language" in finding.found
    ]
    assert found == [severity]


def build_findings_of(folder: Path, text: str) -> list:  # type: ignore[type-arg]
    (folder / "CMakeLists.txt").write_text(text)
    return list(build_findings((folder,), folder / "out"))


def test_a_build_for_hip_counts_below_its_folder_alone(tmp_path: Path) -> None:
    files = {
        "CMakeLists.txt": CUDA_BRANCH,
        "a/cmake/gpu.cmake": HIP_BRANCH,
        "a/src/CMakeLists.txt": CUDA_BRANCH,
        "b/CMakeLists.txt": CUDA_BRANCH,
    }
    assert severities(tmp_path, files) == {
        "CMakeLists.txt": ["warning"],
        "a/src/CMakeLists.txt": ["note"],
        "b/CMakeLists.txt": ["warning"],
    }


def test_a_makefile_with_hipcc_and_a_folder_with_a_twin_are_notes(tmp_path: Path) -> None:
    files = {
        "Makefile": "CC = nvcc\nHIPCC = hipcc\n",
        "other/Makefile": "CC = nvcc\n",
        "x/cuda/CMakeLists.txt": "enable_language(CUDA)\n",
        "x/hip/CMakeLists.txt": "enable_language(HIP)\n",
        "y/cuda/CMakeLists.txt": "enable_language(CUDA)\n",
        "x/my-cuda/CMakeLists.txt": "enable_language(CUDA)\n",
        "x/my-hip/CMakeLists.txt": "",
    }
    assert severities(tmp_path, files) == {
        "Makefile": ["note"],
        "other/Makefile": ["warning"],
        "x/cuda/CMakeLists.txt": ["note"],
        "x/my-cuda/CMakeLists.txt": ["note"],
        "y/cuda/CMakeLists.txt": ["warning"],
    }


def test_what_repeats_a_condition_is_a_question(tmp_path: Path) -> None:
    text = "if(A)\nelse(CMAKE_CUDA_COMPILER)\nendif(CMAKE_CUDA_COMPILER)\n"
    assert severities(tmp_path, {"CMakeLists.txt": text}) == {"CMakeLists.txt": ["note"]}


def test_a_comment_in_brackets_says_nothing(tmp_path: Path) -> None:
    text = "#[=[\nTargets: ``CUDA::cudart``\n]] not its end\n]=]\nenable_language(CUDA) #[[ CUDA::x ]]\n"
    (tmp_path / "CMakeLists.txt").write_text(text)
    places = [(f.place.line, f.found) for f in build_findings((tmp_path,), tmp_path / "out") if f.place]
    assert places == [(5, "enable_language(CUDA …) is CUDA's")]


def test_gzip_has_an_option_of_nvcc_s(tmp_path: Path) -> None:
    files = {"Makefile": "a:\n\tGZIP=x gzip -dc a.tar.gz\nb:\n\tnvcc -dc b.cu\n"}
    (tmp_path / "Makefile").write_text(files["Makefile"])
    places = [(f.place.line, f.found) for f in build_findings((tmp_path,), tmp_path / "out") if f.place]
    assert places == [(4, "nvcc is CUDA's"), (4, "-dc is CUDA's")]


def test_a_question_of_several_lines_and_what_stands_beside_its_form_for_hip_are_notes(tmp_path: Path) -> None:
    text = "if(A AND\n   CMAKE_CUDA_COMPILER MATCHES x)\nset(CMAKE_CUDA_STANDARD 14)\nset(CMAKE_HIP_STANDARD 14)\nendif()\n"
    assert severities(tmp_path, {"CMakeLists.txt": text}) == {"CMakeLists.txt": ["note", "note"]}
    text = "if(A AND B)\nset(CMAKE_CUDA_STANDARD 14)\nendif()\n"
    assert severities(tmp_path, {"CMakeLists.txt": text}) == {"CMakeLists.txt": ["warning"]}
