"""What theories speak of, as English words that stand for a meaning; each language has its own word for every one."""

from __future__ import annotations

SOMEONE = "someone"
"""The variable of rules about persons."""
SOMETHING = "something"
"""The variable of rules about animals."""
VARIABLES = (SOMEONE, SOMETHING)

WOMEN = ("Anna", "Maria", "Sophia", "Elena")
MEN = ("David", "Martin", "Thomas", "Daniel")
PERSONS = WOMEN + MEN
ANIMALS = ("dog", "cat", "mouse", "bear", "lion", "rabbit", "cow", "horse", "fox", "duck", "goat", "squirrel")

ATTRIBUTES = (
    "big", "small", "strong", "weak", "smart", "kind", "quiet", "happy", "sad", "tired",
    "hungry", "brave", "lazy", "fast", "clean", "dirty", "careful", "red", "green", "white",
)  # fmt: skip
RELATIONS = ("chase", "like", "visit", "help", "fear", "know", "protect", "feed", "trust", "avoid")
