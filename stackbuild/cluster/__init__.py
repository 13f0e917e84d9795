"""Steps on other machines, placed by Dask distributed: a scheduler, workers, and the client of `build --on`.

    client      build --on ADDRESS: the schedule of a build; one task a step, whose key is the step's
    scheduler   stackbuild scheduler ADDRESS: gives each task to a worker that offers what the step needs
    worker      stackbuild worker ADDRESS: does a step in a store of its own, with inputs from the remote store

No output goes through Dask. A worker pulls what a step needs from the remote store, and pushes the output with its own
signature. A task returns the digest of the output's tree; the client believes the signed record alone. A step that runs
twice, or on a worker that dies, therefore costs time and changes nothing.

`engine.py` is the one module that imports Dask.
"""
