"""Checks and measurements of the plugin execution provider."""
