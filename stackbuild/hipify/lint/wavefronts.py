"""Whether a text shows that a warp's size of 32 matters in it: it asks something of a whole wavefront.

A ladder of 32 lanes, or a constant of 32, does the same in a wavefront of 64 as long as the rest counts by 32 too. So
neither is a warning by itself.
"""

from __future__ import annotations

import re
from functools import lru_cache

from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.cpp import functions
from stackbuild.hipify.lint.ladders.shuffles import shuffles

_HARDWARE = ("warpSize", "__lane_id", "coalesced_threads", "coalesced_group")
"""What is of the wavefront that the GPU has."""
_OWN = re.compile(r"\b(?:int|unsigned|size_t|auto|dim3|u?int32_t|define)[ \t]+\Z")
_VOTES = ("__ballot", "__activemask", "__any", "__all", "__match_", "__reduce_")
"""What asks all lanes of a wavefront at once."""
_SHFL = ("shfl", "SHFL")


def matters(view: View, at: int, rule: str, name: str) -> bool:
    """Whether what a ladder of 32 lanes, or the constant `name`, says is another thing in a wavefront of 64.

    Of a ladder that is so where the file asks for the GPU's own wavefront, or where its function, or one that calls it,
    asks lanes by their number. Of a constant it is so where it is used, and its function or file does one of these or
    asks all lanes at once.
    """
    function = functions.around(view, at)
    if rule == "LINT-LADDER-32":
        around = [functions.around(view, use) for use in view.places(function.name)] if function else []
        asks = [functions.around(view, place) for place in _asks(view)]
        return bool(_of_wavefront(view)) or any(asker is None or asker in (function, *around) for asker in asks)
    start, end = (function.start, function.end) if function else (0, len(view.code))
    if sum(start <= place < end for place in view.places(name)) < 2:
        return False
    places = (*_of_wavefront(view), *_asks(view), *_votes(view))
    return any(start <= place < end for place in places)


@lru_cache(maxsize=1)
def _of_wavefront(view: View) -> tuple[int, ...]:
    """Where a text asks for the GPU's own wavefront."""
    places = [at for name in _HARDWARE if name in view.words for at in view.places(name)]
    if any(_OWN.search(view.code, max(0, at - 40), at) for at in places):
        places = []  # a variable of that name
    if (at := view.text.find("laneid")) >= 0:
        places.append(at)
    return tuple(places)


@lru_cache(maxsize=1)
def _asks(view: View) -> tuple[int, ...]:
    """Where a text asks for a lane by its number without a width."""
    return tuple(
        call.at
        for call in shuffles(view)
        if call.mode == "index"
        and not (call.place and len(call.arguments) > call.place + 1)
        and any(part in call.name for part in _SHFL)
    )


@lru_cache(maxsize=1)
def _votes(view: View) -> tuple[int, ...]:
    """Where a text asks all lanes of a wavefront at once."""
    names = [word for word in view.words_with(*_VOTES) if word.startswith(_VOTES)]
    return tuple(at for name in names for at in view.places(name))
