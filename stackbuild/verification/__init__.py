"""Verifies that wheels do what they claim: static rules first, then the wheel is installed, loaded and run.

verification = verify((Path("dist/x.whl"),), expectations, VerifyOptions(wheelhouse=Path("wheelhouse")))
print(verification.claim)
"""

from __future__ import annotations

from stackbuild.verification.ladder import VerifyOptions, verify

__all__ = ["VerifyOptions", "verify"]
