"""Whether a text shows that a warp's size of 32 matters in it: it asks something of a whole wavefront.

A ladder of 32 lanes, or a constant of 32, does the same in a wavefront of 64 as long as the rest counts by 32 too. So
neither is a warning by itself.
"""

from __future__ import annotations

from functools import lru_cache

from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.cpp import functions
from stackbuild.hipify.lint.ladders.shuffles import shuffles

_HARDWARE = ("warpSize", "__lane_id", "coalesced_threads", "coalesced_group")
"""What is of the wavefront that the GPU has."""
_VOTES = ("__ballot", "__activemask", "__any", "__all", "__match_", "__reduce_")
"""What asks all lanes of a wavefront at once."""
_SHFL = ("shfl", "SHFL")


def matters(view: View, at: int, rule: str, name: str) -> bool:
    """Whether what a ladder of 32 lanes, or the constant `name`, says is another thing in a wavefront of 64.

    Of a ladder that is so where the file asks lanes by their number or for the GPU's own wavefront. Of a constant it is
    so where it is used, and its function or file also asks all lanes at once.
    """
    if rule == "LINT-LADDER-32":
        return bool(_of_wavefront(view))
    function = functions.around(view, at)
    start, end = (function.start, function.end) if function else (0, len(view.code))
    if sum(start <= place < end for place in view.places(name)) < 2:
        return False
    places = (*_of_wavefront(view), *_votes(view))
    return any(start <= place < end for place in places)


@lru_cache(maxsize=1)
def _of_wavefront(view: View) -> tuple[int, ...]:
    """Where a text asks for the GPU's own wavefront, or for a lane by its number without a width."""
    places = [at for name in _HARDWARE if name in view.words for at in view.places(name)]
    if (at := view.text.find("laneid")) >= 0:
        places.append(at)
    for call in shuffles(view):
        has_width = call.place and len(call.arguments) > call.place + 1
        if call.mode == "index" and not has_width and any(part in call.name for part in _SHFL):
            places.append(call.at)
    return tuple(places)


@lru_cache(maxsize=1)
def _votes(view: View) -> tuple[int, ...]:
    """Where a text asks all lanes of a wavefront at once."""
    names = [word for word in view.words_with(*_VOTES) if word.startswith(_VOTES)]
    return tuple(at for name in names for at in view.places(name))
