"""The public names for type checkers: `__init__.py` imports them when they are first used, and nothing before."""

from stackbuild.build.order import Order
from stackbuild.core.errors import Stop
from stackbuild.inspection import inspect
from stackbuild.judgement import judge
from stackbuild.model.choice import Choice
from stackbuild.pipeline.release import release
from stackbuild.plan.resolve import resolve
from stackbuild.publishing.index import publish
from stackbuild.recipe.load import load
from stackbuild.verification import verify

__all__ = ["Choice", "Order", "Stop", "inspect", "judge", "load", "publish", "release", "resolve", "verify"]
