"""One module a rig, each with its `RIG`."""
