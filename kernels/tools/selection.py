"""The operators' names, and parts of their cases. Needs nothing but Python, for the script that only starts the others."""

from __future__ import annotations

import math

MODULES = {"Attention": "attention.cases", "BatchNormalization": "batch_norm.cases", "Conv": "conv.cases",
           "GroupNormalization": "group_norm.cases", "LeakyRelu": "leaky_relu.cases",
           "MultiHeadAttention": "attention.multi_head_cases"}
EVERY = (0, 1)
SAMPLE = 7  # one case in so many stands for all; an odd number, as every second case is channels last


def sample(seed: int) -> tuple[int, int]:
    """A part of the cases, another one with another seed: those whose number leaves the first when divided by the second."""
    return seed % SAMPLE, SAMPLE


def part(text: str) -> tuple[int, int]:
    """"2/6" as (2, 6). Raises ValueError, as argparse expects it."""
    index, _, count = text.partition("/")
    if not 0 <= int(index) < int(count):
        raise ValueError(text)
    return int(index), int(count)


def seed(text: str) -> int:
    """A number that NumPy's generators take. Raises ValueError, as argparse expects it."""
    if int(text) < 0:
        raise ValueError(text)
    return int(text)


def seconds(text: str) -> float:
    """A time that ends. Raises ValueError, as argparse expects it."""
    if not (math.isfinite(float(text)) and float(text) > 0):
        raise ValueError(text)
    return float(text)


def text(part: tuple[int, int]) -> str:
    return f"{part[0]}/{part[1]}"
