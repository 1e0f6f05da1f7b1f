"""What `make bench-real` computes: the floor of an update, and medians over its rounds."""

import pytest

from bench import floors, real_speed


def test_the_floor_of_an_update_by_hand():
    # Two episodes of 5 and 4 tokens, of which 3 and 2 were sampled: 3 tokens in the batch's longest, 4 of prompts,
    # of which the second begins as the first.
    sizes = floors.Sizes(trunk=10, head=5, adapter=1, attention=0, number_bytes=2)
    episodes = {"totals": [5, 4], "alive": [2, 2, 1], "read": 3, "rate": 10.0, "bandwidth": 6.0}
    floor = floors.floor_seconds(sizes, **episodes)
    prompts_and_first = (2 * 10 * 3 + 2 * 5 * 2) / 10
    second = (2 * 15 * 2) / 10  # the products of two rows take longer than reading 30 bytes
    third = 15 * 2 / 6  # of one row they do not
    assert floor["write"] == pytest.approx(prompts_and_first + second + third)
    assert floor["compare"] == pytest.approx((2 * 10 * 9 + 2 * 2 * 5 * 5) / 10)
    assert floor["learn"] == pytest.approx((4 * 10 * 9 + 4 * 5 * 5 + 6 * 1 * 9) / 10)
    whole = floors.floor_seconds(sizes._replace(adapter=0), **episodes)
    assert whole["learn"] == pytest.approx((6 * 10 * 9 + 6 * 5 * 5) / 10)


def test_attention_counts_twice_as_much_backwards():
    sizes = floors.Sizes(trunk=0, head=0, adapter=0, attention=7, number_bytes=4)
    floor = floors.floor_seconds(sizes, totals=[3], alive=[0], read=0, rate=1.0, bandwidth=1.0)
    assert (floor["compare"], floor["learn"]) == (2 * 7 * 9, 3 * 2 * 7 * 9)


def test_what_prompts_have_in_common_is_read_once():
    assert floors.tokens_to_read([[1, 2, 3], [1, 2, 4], [1, 2, 3], [5, 2]]) == 6


def test_medians_go_into_dictionaries():
    items = [{"a": number, "b": {"c": -number}} for number in (1, 5, 2)]
    assert real_speed.medians(items) == {"a": 2, "b": {"c": -2}}
