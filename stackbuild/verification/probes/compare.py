"""The measures of one run's outputs against another's, from the files both kept."""

from __future__ import annotations

import dataclasses

import error_metrics
import numpy as np
from probe import JobDict, main


def do(job: JobDict) -> JobDict:
    ours, theirs = np.load(job["ours"]), np.load(job["theirs"])
    if ours.files != theirs.files:
        return {"error": f"{len(ours.files)} outputs, the reference has {len(theirs.files)}"}
    return {"outputs": [dataclasses.asdict(error_metrics.errors(ours[n], theirs[n])) for n in ours.files]}


main(do)
