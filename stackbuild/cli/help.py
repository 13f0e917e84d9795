"""`help`: what the topic that an error names means, and how to fix it."""

from __future__ import annotations

from typing import Annotated

from stackbuild.cli.app import app, argument
from stackbuild.cli.completion import topics


@app.command("help")
def help_(
    topic: Annotated[
        str,
        argument(
            metavar="TOPIC", help="A topic that an error names, a rule's id, or a command.", autocompletion=topics
        ),
    ],
) -> None:
    """Explain the topic that an error names, or a rule.

    The topics are the sections of docs/troubleshooting.md. `stackbuild help COMMAND` prints the help of a command. A rule is
    found by its id, or by the id without its first two words: SB-STACK-NO-ROCM or NO-ROCM.

    Example: stackbuild help wrong-recipe
    """
    from stackbuild.checks.catalogue import rules_by_id, rules_called
    from stackbuild.cli import TOPICS
    from stackbuild.core.errors import UsageError
    from stackbuild.tables.near_words import nearest, rules_meant
    from stackbuild.tables.topics import topics
    from stackbuild.views.console import print_markdown
    from stackbuild.views.rules import draw_rules

    pages = topics()
    if topic.lower() in pages:
        print_markdown(pages[topic.lower()])
    elif rules := rules_called(topic):
        draw_rules(rules)
    else:
        if topic[:3].upper() == "SB-":
            step = rules_meant(topic, [*rules_by_id()])
        else:
            name = nearest(topic, [*pages, *TOPICS])
            step = f"did you mean `{name}`?" if name[:1] == topic[:1].lower() else ""
        raise UsageError(f"no topic, rule or command {topic!r}", next=step or f"topics are: {', '.join(pages)}")
