"""Proof that wheels do what they claim: static rules, then the wheel installed, loaded and run, rung by rung.

verification = verify((Path("dist/x.whl"),), expectations, VerifyOptions(wheelhouse=Path("wheelhouse")))
print(verification.claim)
"""

from __future__ import annotations

from stackbuild.verification.ladder import VerifyOptions, verify

__all__ = ["VerifyOptions", "verify"]
