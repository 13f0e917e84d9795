"""The interface that commands run through, and its implementations: sandbox, docker, fake."""
