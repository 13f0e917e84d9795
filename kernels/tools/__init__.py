"""Checks, measurements and references of the bundled kernels. The folder `kernels/` is on `sys.path` where they run."""
