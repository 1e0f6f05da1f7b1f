"""The word lists of the pocket world: people, things, places, and how good or bad a word is. Data only."""

# Opinion words by grade, -2 (very bad) to +2 (very good). Each word has one grade, wherever it stands.
ADJECTIVES: dict[int, tuple[str, ...]] = {
    2: tuple(
        "wonderful brilliant superb excellent amazing perfect fantastic outstanding magnificent delightful stunning "
        "splendid marvellous beautiful incredible".split()
    ),
    1: tuple(
        "good nice pleasant fine enjoyable charming clever decent solid likeable neat lovely pretty smart fresh".split()
    ),
    0: tuple("average ordinary normal standard typical simple plain common familiar regular modest okay".split()),
    -1: tuple(
        "poor weak dull boring slow clumsy bland messy flat disappointing annoying unpleasant silly stale bad".split()
    ),
    -2: tuple(
        "terrible awful horrible dreadful hopeless worthless appalling ghastly pathetic miserable useless disgusting "
        "ugly rotten shocking".split()
    ),
}
VERBS: dict[int, tuple[str, ...]] = {
    2: ("loved", "adored"),
    1: ("liked", "enjoyed"),
    -1: ("disliked", "regretted"),
    -2: ("hated", "despised"),
}
VERDICT_NOUNS: dict[int, tuple[str, ...]] = {
    2: ("joy", "delight", "triumph"),
    1: ("treat", "pleasure", "success"),
    -1: ("mess", "bore", "letdown"),
    -2: ("disaster", "failure", "nightmare"),
}
MOODS: dict[int, tuple[str, ...]] = {
    1: ("happy", "glad", "cheerful", "proud", "thankful"),
    -1: ("sad", "upset", "lonely", "unhappy", "tearful"),
}

INTENSIFIERS = tuple(
    "very really truly rather quite so simply fairly clearly somehow surely always often mostly oddly still strangely "
    "just".split()
)
DOUBLED_INTENSIFIERS = ("very very", "really really", "so so")  # grammatical here; `quality` counts them as repeats

# Each topic has its own aspects, and its own verb ("I would watch it again", "I watched it with my sister").
ASPECTS: dict[str, tuple[str, ...]] = {
    "film": tuple("plot acting ending cast script soundtrack dialogue opening humour lighting trailer".split()),
    "book": tuple("story style cover hero villain language title setting narrator message prose".split()),
    "phone": tuple("screen battery camera speaker keyboard charger design signal microphone price case".split()),
    "cafe": tuple("coffee cake service soup tea bread menu garden breakfast waiter sandwich".split()),
    "game": tuple("gameplay artwork tutorial puzzle combat controller world pace quest boss music".split()),
}
TOPIC_VERBS = {"film": "watch", "book": "read", "phone": "buy", "cafe": "visit", "game": "play"}
TOPIC_PAST_VERBS = {"film": "watched", "book": "read", "phone": "bought", "cafe": "visited", "game": "played"}

PERSONS = tuple("sister brother friend mother father uncle aunt teacher neighbour cousin doctor".split())
TIMES = tuple(
    "last week, yesterday, in May, on Monday, on Friday, last year, in summer, in winter, today, last night".split(", ")
)

BOYS = ("Ben", "Tom", "Max", "Leo", "Sam", "Jack", "Finn", "Adam", "Paul", "Oscar")
GIRLS = ("Mia", "Anna", "Lily", "Emma", "Zoe", "Kate", "Nora", "Ruby", "Clara", "Ida")
NAMES = BOYS + GIRLS
COLOURS = ("red", "blue", "green", "yellow", "white", "black", "brown", "orange", "grey", "purple")
THINGS = tuple("ball kite hat doll boat drum bike scarf coat bag cup box flute robot balloon toy ring basket".split())
PLACES = tuple("park forest school kitchen street river market tower library village harbour station meadow".split())
ANIMALS = ("dog", "cat", "fox", "bird", "goat", "horse", "monkey", "rabbit")
DAYTIMES = ("morning", "afternoon", "evening", "day", "night", "week")

ITEMS = tuple(
    "salt pepper butter sugar honey water lamp pen chair umbrella key hammer blanket towel newspaper ladder radio "
    "mirror spoon plate bucket candle".split()
)
MANNERS = tuple(
    "slowly quickly quietly loudly bravely carefully silently proudly eagerly calmly softly suddenly secretly "
    "kindly".split()
)
MOVES = ("ran", "walked", "hurried", "rushed", "raced", "crept", "strolled", "skipped", "hopped", "marched")
ACTIONS = ("danced", "sang", "slept", "worked", "waited", "talked", "painted", "cooked", "swam", "dreamed")
KINDS = tuple("old dark busy empty little narrow sunny foggy cold secret wide crowded distant tiny".split())
TRAITS = tuple("kind tall funny shy strict noisy tired brave polite hungry curious gentle".split())
WHICH = ("new", "last", "other", "favourite", "second", "first", "spare", "precious", "special")
MOMENTS = ("now", "today", "tonight", "tomorrow", "later", "soon", "this week")
SURFACES = ("table", "shelf", "floor", "desk", "bench", "sofa")


def _graded(*tables: dict[int, tuple[str, ...]]) -> dict[str, int]:
    return {word: grade for table in tables for grade, words in table.items() for word in words}


LEXICON: dict[str, int] = _graded(ADJECTIVES, VERBS, VERDICT_NOUNS, MOODS)
"""Opinion word -> its grade. A plain sum of these is a sentiment score that knows nothing of "not" and "but"."""
