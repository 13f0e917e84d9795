"""One short module per kind of component: from what the recipe says to steps. Pure.

A step module has one function, `steps(name, component, context) -> tuple[Step, ...]`; the last step bears the
component's name and makes its output.
"""
