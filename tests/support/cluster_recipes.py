"""A recipe whose three steps run in real sandboxes, on a base that is small, since every worker takes it from the remote."""

from __future__ import annotations

from support.build_bench import BASE

STEPS = """\
  one: {kind: script, run: [[sh, -c, 'echo log of one; echo one > /out/a']]}
  two: {kind: script, run: [[sh, -c, 'echo log of two; echo two > /out/a']]}
  three: {kind: script, needs: [one, two], run: [[sh, -c, 'cat /deps/one/a /deps/two/a > /out/c; echo joined']]}
"""
SMALL_BASE = BASE.replace("packages: [ccache, gcc, libc6-dev, make]", "packages: [make]")
