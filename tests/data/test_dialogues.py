"""Turns out of a text and back."""

import pytest

from playground.data.dialogues import Turn, for_reading, split_last_answer, text_of, turns

DIALOGUE = "\n\nHuman: Hello: who are you?\n\nAssistant: I am a bot.\n\nIt rains.\n\nHuman: Why?\n\nAssistant:"


def test_a_dialogue_is_read_and_written_turn_by_turn():
    said = [Turn("user", "Hello: who are you?"), Turn("assistant", "I am a bot.\n\nIt rains."), Turn("user", "Why?")]
    assert turns(DIALOGUE) == said
    assert text_of(said) == DIALOGUE


@pytest.mark.parametrize("text", ["The film was", "User: hi Bot:", "", "Assistant: first", "the Human: race"])
def test_any_other_text_is_one_turn_as_it_is(text):
    assert turns(text) == [Turn("user", text)]


def test_the_last_answer_is_what_is_generated():
    assert split_last_answer(DIALOGUE + " Because.") == (DIALOGUE, " Because.")
    prompt, answer = split_last_answer("\n\nHuman: a\n\nAssistant: b\n\nc")
    assert (prompt, answer) == ("\n\nHuman: a\n\nAssistant:", " b\n\nc")


def test_for_reading_one_turn_is_what_the_user_says_and_several_have_their_speakers():
    assert for_reading("\n\nHuman: A letter:\n\nDear tenant,\n\nAssistant:") == "A letter:\n\nDear tenant,"
    assert for_reading(DIALOGUE) == "User: Hello: who are you?\nAssistant: I am a bot.\n\nIt rains.\nUser: Why?"
    assert for_reading("The film was ") == "The film was "
