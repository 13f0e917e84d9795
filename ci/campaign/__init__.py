"""The campaign: rigs that attack stackbuild, each in a folder of its own, and count what survives.

`.venv/bin/python ci/campaign list` names the rigs; `run` tries them and exits 1 on a single loss. A rig is a module in
`rigs/` with a value `RIG`; see `frame.Rig`.
"""
