from __future__ import annotations

from stackbuild.hipify.compilation.include_folders import HeaderIndex


def index(*installed: str, **texts: str) -> HeaderIndex:
    return HeaderIndex({name.replace("__", "/").replace("_h", ".h").replace("_cu", ".cu"): text for name, text in texts.items()}, installed.__contains__)


def test_the_folders_are_those_that_includes_are_found_in() -> None:
    headers = index(
        a__src__k_cu='#include "near.h"\n#include <lib/far.h>\n',
        a__src__near_h="#pragma once\n",
        a__include__lib__far_h='  #  include "more.h"\n',
        b__include__lib__far_h="",
        a__include__more_h="",
    )
    assert headers.folders("a/src/k.cu") == ("a/include",)
    assert headers.folders("b/include/lib/far.h") == ()


def test_an_installed_header_is_not_looked_for_but_in_quotes_it_is() -> None:
    headers = index("string.h", k_cu='#include <string.h>\n', q_cu='#include "string.h"\n', own__string_h="")
    assert headers.folders("k.cu") == ()
    assert headers.folders("q.cu") == ("own",)


def test_the_tree_itself_is_a_folder() -> None:
    headers = index(src__k_cu='#include "lib/a.h"\n', lib__a_h="")
    assert headers.folders("src/k.cu") == ("",)


def test_a_file_that_another_includes_is_a_part_of_it() -> None:
    headers = index(main_cu='#include "part.cu"\n', part_cu='#include "part.cu"\n', alone_cu='#include "alone.cu"\n')
    assert headers.parts() == {"part.cu"}


def test_two_files_that_include_each_other_end() -> None:
    headers = index(x__a_h='#include "y/b.h"\n', x__y__b_h='#include <x/a.h>\n')
    assert headers.folders("x/a.h") == ("",)
