"""The store: outputs of steps by key, verified on use, safe against kill, full disks and two builders at once.

    records/ab/KEY.json   what made an output and which tree it is; written last
    trees/ab/DIGEST/      the outputs, read-only; DIGEST is the sha256 of the manifest
    manifests/ab/DIGEST   every path of a tree with its sha256, size and mode
    locks/                one lock file a key, held by a live process
    tmp/RUN/              staging; reaped at the next start when RUN is dead
    quarantine/           what did not verify
    failed/RECIPE.STEP/   the tree of the last failure of a step
    runs/RUN/             events and logs
    ccache/DOMAIN/        a compiler cache: of one recipe on one base with one lock
    id                    names the store among those that share a Docker engine

A tree and its manifest are staged in tmp/ and flushed, then renamed, then their folders are flushed; the record comes
last, likewise. So a record never names a tree that is not whole, wherever the process dies.
"""
