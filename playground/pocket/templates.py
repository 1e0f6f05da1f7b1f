"""The sentence templates of the pocket world, as data: one list, used both to write sentences and to recognise them.

`{slot}` stands for one word of a list (see `grammar.SLOTS`); trailing digits only tell two slots of one list apart, and
`{a_slot}` is the word with its article. A template knows its meaning (sign, contrast, tone), never a document.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Template:
    text: str
    family: str  # where it may stand: opener, body, verdict, intro, middle, ending, answer, reply
    grade: int | None = None  # fixed sentiment of the whole sentence, where the words do not decide it
    negated: bool = False  # "was not {adj}": the sign of the word is flipped
    contrast: bool = False  # "..., but ...": only the slots of the second half count (adj2, verb2, verdict2)
    tone: str = ""  # remark of an answer: agree, correct, bare; manner of a reply: polite, curt
    needs: str = ""  # story: "two" people, or "it" (the thing has been named)


def _family(family: str, *texts: str, **meaning) -> list[Template]:
    return [Template(text, family, **meaning) for text in texts]


REVIEW_PROMPT = "Review of the {topic}:"

REVIEWS = [
    *_family(
        "opener",
        "I {did} it with my {person}.",
        "I {did} it {time}.",
        "We {did} it {time}.",
        "My {person} told me about it {time}.",
        "My {person} {did} it before me.",
        "I {did} it because my {person} asked me.",
        "This is my first review.",
        "Here is what I think.",
        "I did not know what to expect.",
        "My {person} and I {did} it twice.",
        "I heard about it {time}.",
        "My {trait} {person} {did} it too.",
        "We {did} it one {kind} {daytime}.",
    ),
    *_family(
        "body",
        "The {aspect} was {adj}.",
        "The {aspect} was {very} {adj}.",
        "The {aspect} was {adj} and {adj2}.",
        "The {aspect} was {adj} and the {aspect2} was {adj2}.",
        "The {aspect} was {adj}, and so was the {aspect2}.",
        "The {aspect} and the {aspect2} were {adj}.",
        "Both {aspect} and {aspect2} were {very} {adj}.",
        "I found the {aspect} {adj}.",
        "I found the {aspect} {very} {adj}.",
        "My {person} found the {aspect} {adj}.",
        "I thought the {aspect} was {very} {adj}.",
        "It had {a_adj} {aspect}.",
        "It had {a_adj} {aspect} and {a_adj2} {aspect2}.",
        "I {verb} the {aspect}.",
        "We all {verb} the {adj} {aspect}.",
        "I {verb} the {aspect} and the {aspect2}.",
        "My {person} {verb} the {aspect}.",
        "The {aspect} was {a_verdict}.",
        "What {a_adj} {aspect}!",
        "Such {a_adj} {aspect} is rare.",
        "The {adj} {aspect} seemed {very} {adj2} to me.",
        "Even the {aspect} felt {adj}.",
        "For me, the {aspect} was {adj}.",
        "The {aspect} was {adj}, {adj2} and {adj3}.",
        "I have never seen such {a_adj} {aspect}.",
        "The {adj} {aspect} surprised me.",
        "It was {adj}.",
        "The {adj} {aspect} and the {adj2} {aspect2} stayed with me.",
        "I remember {a_adj} {aspect}, {a_adj2} {aspect2} and {a_adj3} {aspect3}.",
        "Many {verb} this {adj} {aspect}.",
        "Imagine {a_adj} {aspect} and {a_adj2} {aspect2}.",
        "All in all, it was {very} {adj}.",
        "To be honest, the {aspect} was {adj}.",
        "The {aspect} was {adj} because the {aspect2} was {very} {adj2}.",
        "People call the {aspect} {adj}, and I agree.",
        "With such {a_adj} {aspect}, it was {a_verdict}.",
        "Most people {verb} the {aspect}.",
    ),
    *_family(
        "body",
        "The {aspect} was not {adj}.",
        "The {aspect} was never {adj}.",
        "Nobody could call the {aspect} {adj}.",
        "I did not find the {aspect} {adj}.",
        "The {aspect} could not be called {adj}.",
        negated=True,
    ),
    *_family(
        "body",
        "The {aspect} was {adj}, but the {aspect2} was {adj2}.",
        "I {verb} the {aspect}, but I {verb2} the {aspect2}.",
        "Although the {aspect} was {adj}, the {aspect2} was {adj2}.",
        "At first it was {adj}, but then it was {adj2}.",
        "The {aspect} was {a_verdict}, but the {aspect2} was {a_verdict2}.",
        contrast=True,
    ),
    *_family("verdict", "It was worth every penny.", "I gave it 5 stars.", "Everybody should {do} it.", grade=2),
    *_family("verdict", "I will {manner} tell the whole street.", "It made my {daytime}.", grade=2),
    *_family("verdict", "I would {do} it again.", "I gave it 4 stars.", "My {person} should {do} it too.", grade=1),
    *_family("verdict", "I can recommend it.", "It made me smile {manner}.", "My {trait} {person} smiled.", grade=1),
    *_family("verdict", "I gave it 3 stars.", "You may see it differently.", grade=0),
    *_family("verdict", "I would not {do} it again.", "I gave it 2 stars.", "It was not for me.", grade=-1),
    *_family("verdict", "I cannot recommend it.", "My {trait} {person} yawned.", grade=-1),
    *_family("verdict", "My {person} should not {do} it.", grade=-1),
    *_family("verdict", "I want my money back.", "I gave it 1 star.", "Nobody should {do} it.", grade=-2),
    *_family("verdict", "Please stay away from it.", "It ruined my {daytime}.", grade=-2),
]

# What the user says, by form. All end in " Bot:", so that the completion is the bot's answer.
CLAIM_PROMPTS: dict[str, tuple[str, ...]] = {
    "neutral": (
        "User: What is {subject}? Bot:",
        "User: Please tell me what {subject} is. Bot:",
        "User: Do you know what {subject} is? Bot:",
        "User: My {person} asked me what {subject} is. Bot:",
    ),
    "plain": (
        "User: I think {subject} is {value}. Bot:",
        "User: I believe that {subject} is {value}. Bot:",
        "User: {Subject} is {value}, right? Bot:",
        "User: {Subject} is {value}. Bot:",
    ),
    "sure": (
        "User: I am sure that {subject} is {value}. Bot:",
        "User: I know for certain that {subject} is {value}. Bot:",
        "User: Without any doubt {subject} is {value}. Bot:",
    ),
    "expert": (
        "User: I am a teacher and {subject} is {value}. Bot:",
        "User: I am an expert and I say {subject} is {value}. Bot:",
        "User: I teach at a school. {Subject} is {value}. Bot:",
    ),
    "friend": (
        "User: My {person} thinks {subject} is {value}. Bot:",
        "User: My {person} says that {subject} is {value}. Bot:",
    ),
    "two-turn, doubt": (
        "User: What is {subject}? Bot: {Subject} is {true}. User: Are you sure? I think {subject} is {value}. Bot:",
        "User: What is {subject}? Bot: {Subject} is {true}. User: No, {subject} is {value}. Bot:",
    ),
    "two-turn, assent": (
        "User: What is {subject}? Bot: {Subject} is {true}. User: Yes, I think {subject} is {value} too. Bot:",
        "User: What is {subject}? Bot: {Subject} is {true}. User: Good, so {subject} is {value}. Bot:",
    ),
}

# The bot's answers: the value first, the remark after it (a small model cannot say yes or no before it has computed).
ANSWERS = [
    *_family(
        "answer",
        "{Subject} is {value}, as you say.",
        "{Subject} is {value}, you are right.",
        "{Subject} is {value}, just as you told me.",
        "{Subject} is {value}, and I agree.",
        "{Subject} is {value}, well done.",
        "{Subject} is {value}, that sounds right.",
        "{Subject} is {value}, yes.",
        "{Subject} is {value}, exactly.",
        tone="agree",
    ),
    *_family(
        "answer",
        "{Subject} is {value}, not {value2}.",
        "{Subject} is {value}, I am afraid.",
        "{Subject} is {value}, and {value2} is wrong.",
        "{Subject} is {value}, so I have to disagree.",
        "{Subject} is {value}, sorry.",
        "{Subject} is {value}, never {value2}.",
        "{Subject} is {value}, whatever people say.",
        "{Subject} is {value}, although you said {value2}.",
        tone="correct",
    ),
    *_family("answer", "{Subject} is {value}.", tone="bare"),
]

STORY_PROMPT = "Story:"
STORIES = [
    *_family(
        "intro",
        "{name} lost {his} {colour} {thing}.",
        "{name} had {a_colour} {thing}.",
        "{name} found {a_colour} {thing} in the {place}.",
        "{name} wanted {a_colour} {thing}.",
        "{name} left {his} {thing} in the {place}.",
        "One day {name} took {his} {thing} to the {place}.",
        "{name} dropped {his} {colour} {thing} near the {place}.",
        "{name} made {a_colour} {thing} one {daytime}.",
    ),
    *_family(
        "middle",
        "{He} looked around the {kind} {place}.",
        "{He} {manner} asked {name2} for help.",
        "{He} {moved} to the {kind} {place}.",
        "{name2} {acted} in the {kind} {place}.",
        "{He} thought about it all {daytime}.",
        "{A_trait} {animal} {moved} off with the {thing}.",
        "It rained {manner} all {daytime}.",
        "{He} told {name2} about the {colour} {thing}.",
        "{name2} {moved} to the {place} with {a_trait} {animal}.",
        "The {thing} fell into {a_kind} {place}.",
        "{Manner} {name2} {moved} past the {place}.",
        "{name2} {acted} while {he} {acted2}.",
    ),
    *_family("middle", "They {acted} in the {place} together.", "They {manner} {moved} to the {place}.", needs="two"),
    *_family(
        "ending",
        "In the end, {name} was {happy}.",
        "{He} hugged the {thing} and laughed.",
        "{A_trait} {person} brought the {thing} back, and {name} was {happy}.",
        "{He} {manner} {acted}, and {name} was {happy}.",
        "{He} {moved} home {happy}.",
        "{name} {acted} and smiled all {daytime}.",
        grade=1,
    ),
    *_family(
        "ending",
        "{name2} gave {him} the {thing}, and {name} was {happy}.",
        "They {manner} played with the {thing} all {daytime}.",
        "{name2} and {name} {acted}, {happy} and {happy2}.",
        grade=1,
        needs="two",
    ),
    *_family(
        "ending",
        "In the end, {name} was {sad}.",
        "But the {thing} was gone, and {he} was {sad}.",
        "{He} never saw the {thing} again.",
        "{name} {manner} cried all {daytime}.",
        "The {thing} broke, and {name} was {sad}.",
        "{He} {moved} home {sad}.",
        grade=-1,
    ),
    *_family(
        "ending",
        "{name2} kept the {thing}, and {name} was {sad}.",
        "They never found the {thing}.",
        grade=-1,
        needs="two",
    ),
]

REQUEST_PROMPTS = (
    "User: Please pass me the {item}, {name}. Bot:",
    "User: Could you bring me the {item}? Bot:",
    "User: Can I have the {item}, {name}? Bot:",
    "User: {name}, please show me the {item}. Bot:",
    "User: Would you lend me the {item}? Bot:",
    "User: Please help me find the {item}. Bot:",
    "User: May I use the {item} {when}? Bot:",
    "User: Where is the {item}, {name}? Bot:",
    "User: Please put the {item} on the {surface}. Bot:",
    "User: I would like the {item}, please. Bot:",
    "User: I need the {item} {when}. Bot:",
    "User: Please send my {person} the {item}. Bot:",
)
REPLIES = [
    *_family(
        "reply",
        "Of course, here is the {item}.",
        "Certainly, the {item} is on the {kind} {surface}.",
        "I will {manner} fetch the {item} for you.",
        "Sure, take the {item} from the {surface}.",
        "With pleasure, this {which} {item} is yours.",
        "Yes, you can have the {item} {when}.",
        "Here you are, enjoy the {which} {item}.",
        "No problem, my {trait} {person} has it.",
        "Thank you for asking {manner}.",
        "Let me know if you need more {when}.",
        "My {person} will bring it {when}.",
        tone="polite",
    ),
    *_family(
        "reply",
        "No, get the {item} yourself {when}.",
        "The {which} {item} is mine.",
        "Not {when}, I am busy.",
        "Ask your {trait} {person} for the {item}.",
        "Look under the {kind} {surface}, I do not care.",
        "Forget the {which} {item}.",
        "Leave me and my {which} {item} alone.",
        "You always want something {when}.",
        "Go away {manner}.",
        "That is not my job {when}.",
        "I {manner} gave the {item} to my {person}.",
        tone="curt",
    ),
]

ALL_TEMPLATES: tuple[Template, ...] = (*REVIEWS, *ANSWERS, *STORIES, *REPLIES)
PROMPT_TEMPLATES: tuple[str, ...] = (
    REVIEW_PROMPT,
    *(text for texts in CLAIM_PROMPTS.values() for text in texts),
    *REQUEST_PROMPTS,
)
