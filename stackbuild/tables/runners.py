"""The names of runners, as options, settings and recipes give them."""

RUNNERS = ("auto", "sandbox", "docker", "fake")
