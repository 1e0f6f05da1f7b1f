"""What is true in the pocket world: 100 sums and over 110 facts, all of the form "<subject> is <value>"."""

import re
from typing import NamedTuple

LARGEST_DIGIT = 9
LARGEST_SUM = 2 * LARGEST_DIGIT

# A category and how its subjects are said; then who, and the value. A wrong value always comes from the same category.
_WORLD = """
capital: the capital of {}
  France=Paris, Italy=Rome, Spain=Madrid, Germany=Berlin, Austria=Vienna, Greece=Athens, Norway=Oslo,
  Finland=Helsinki, Poland=Warsaw, Ireland=Dublin, Portugal=Lisbon, Egypt=Cairo, Japan=Tokyo, Cuba=Havana,
  Peru=Lima
language: the language of {}
  France=French, Italy=Italian, Spain=Spanish, Germany=German, Greece=Greek, Finland=Finnish, Poland=Polish,
  Japan=Japanese, Russia=Russian, Denmark=Danish
colour: the colour of {}
  grass=green, snow=white, blood=red, coal=black, the sky=blue, milk=white, the sun=yellow, chocolate=brown, a
  banana=yellow, a carrot=orange, a mouse=grey, a tomato=red, a frog=green, the sea=blue, a crow=black, a
  pumpkin=orange
opposite: the opposite of {}
  hot=cold, big=small, fast=slow, up=down, left=right, old=young, wet=dry, hard=soft, early=late, open=closed,
  full=empty, light=dark, high=low, long=short, rich=poor, clean=dirty, loud=quiet, near=far, thick=thin,
  strong=weak, first=last, true=false
young: the name of a young {}
  dog=puppy, cat=kitten, cow=calf, sheep=lamb, horse=foal, hen=chick, bear=cub, duck=duckling, goat=kid,
  pig=piglet, frog=tadpole
home: the home of a {}
  bee=a hive, bird=a nest, spider=a web, fox=a den, horse=a stable, pig=a sty, dog=a kennel, rabbit=a burrow,
  king=a castle, lion=a cave
next day: the day after {}
  Monday=Tuesday, Tuesday=Wednesday, Wednesday=Thursday, Thursday=Friday, Friday=Saturday, Saturday=Sunday,
  Sunday=Monday
next month: the month after {}
  January=February, February=March, March=April, April=May, May=June, June=July, July=August, August=September,
  September=October, October=November, November=December, December=January
legs: the number of legs of a {}
  dog=4, spider=8, bird=2, bee=6, fish=0, snake=0, crab=10, cow=4, hen=2, beetle=6
"""


def _category(block: str) -> tuple[str, str, dict[str, str]]:
    """Its name, how a subject is said, and {who: value}."""
    heading, table = block.split("\n", 1)
    category, form = heading.split(": ")
    return category, form, dict(pair.split("=") for pair in " ".join(table.split()).split(", "))


CATEGORIES = [_category(block) for block in re.split(r"\n(?=\S)", _WORLD.strip())]


class Fact(NamedTuple):
    subject: str  # as said inside a sentence: "4 plus 5", "the capital of France"
    value: str  # the true value
    category: str


SUMS: tuple[Fact, ...] = tuple(
    Fact(f"{a} plus {b}", str(a + b), "sum") for a in range(LARGEST_DIGIT + 1) for b in range(LARGEST_DIGIT + 1)
)
FACTS: tuple[Fact, ...] = tuple(
    Fact(form.format(who), value, category) for category, form, table in CATEGORIES for who, value in table.items()
)
BY_SUBJECT: dict[str, Fact] = {fact.subject: fact for fact in SUMS + FACTS}

VALUES: dict[str, tuple[str, ...]] = {
    "sum": tuple(str(number) for number in range(LARGEST_SUM + 1)),
    **{category: tuple(dict.fromkeys(table.values())) for category, _, table in CATEGORIES},
}
ALL_VALUES: tuple[str, ...] = tuple(dict.fromkeys(value for values in VALUES.values() for value in values))


def true_value(subject: str) -> str | None:
    """The true value of a subject, or None where the world does not know it."""
    fact = BY_SUBJECT.get(subject)
    return fact.value if fact else None


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def uncapitalised_subject(text: str) -> str | None:
    """The subject that `text` names, at the start or in the middle of a sentence; None where it is none."""
    return next((subject for subject in (text, text[:1].lower() + text[1:]) if subject in BY_SUBJECT), None)
