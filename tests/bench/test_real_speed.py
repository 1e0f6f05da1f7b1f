"""What `make bench-real` computes and writes into docs/performance.md."""

import pytest

from bench import floors, real_speed, real_speed_section

FLOORS = {"write": 1.0, "compare": 0.5, "learn": 2.0, "operations_per_second": 9e11, "bytes_per_second": 12e9}
OURS = {
    "seconds": 8.0,
    "peak_bytes": 900e6,
    "parts": {"write": 1.5, "compare": 0.75, "learn": 5.0},
    "floors": FLOORS,
    "speed_ratio": 2.5,
    "memory_ratio": 0.4,
}
MACHINE = {"date": "2026-11-26", "commit": "abc1234", "processor": "A processor", "cores": "2", "load": 0.2}
REPORT = {
    "machine": {**MACHINE, "torch": "2", "transformers": "5", "trl": "1.12"},
    "rounds": 2,
    "start": [
        {
            "preset": "p",
            "batch": 16,
            "tokens": 32,
            "texts": 72,
            "all_seconds": [30.0, 31.0, 39.0],
            "seconds": 31.0,
            "phases": {"loading": 7.0},
        }
    ],
    "updates": {"bf16": OURS, "fp32": OURS, "all": OURS, "trl": {"seconds": 20.0, "peak_bytes": 2250e6}},
    "error": {"mean": 0.031, "most": 0.2, "tokens": 250},
}


def test_the_floor_of_an_update_by_hand():
    # Two episodes of 5 and 4 tokens, of which 3 and 2 were sampled: 3 tokens in the batch's longest, 4 of prompts,
    # of which the second begins as the first.
    sizes = floors.Sizes(trunk=10, head=5, adapter=1, attention=0, number_bytes=2)
    found = floors.floor_seconds(sizes, totals=[5, 4], alive=[2, 2, 1], read=3, rate=10.0, bandwidth=6.0)
    prompts_and_first = (2 * 10 * 3 + 2 * 5 * 2) / 10
    second = (2 * 15 * 2) / 10  # the products of two rows take longer than reading 30 bytes
    third = 15 * 2 / 6  # of one row they do not
    assert found["write"] == pytest.approx(prompts_and_first + second + third)
    assert found["compare"] == pytest.approx((2 * 10 * 9 + 2 * 2 * 5 * 5) / 10)
    assert found["learn"] == pytest.approx((4 * 10 * 9 + 4 * 5 * 5 + 6 * 1 * 9) / 10)
    whole = floors.floor_seconds(
        sizes._replace(adapter=0), totals=[5, 4], alive=[2, 2, 1], read=3, rate=10.0, bandwidth=6.0
    )
    assert whole["learn"] == pytest.approx((6 * 10 * 9 + 6 * 5 * 5) / 10)


def test_what_prompts_have_in_common_is_read_once():
    assert floors.tokens_to_read([[1, 2, 3], [1, 2, 4], [1, 2, 3], [5, 2]]) == 6


def test_attention_counts_twice_as_much_backwards():
    sizes = floors.Sizes(trunk=0, head=0, adapter=0, attention=7, number_bytes=4)
    found = floors.floor_seconds(sizes, totals=[3], alive=[0], read=0, rate=1.0, bandwidth=1.0)
    assert (found["compare"], found["learn"]) == (2 * 7 * 9, 3 * 2 * 7 * 9)


def test_medians_go_into_dictionaries():
    items = [{"a": number, "b": {"c": -number}} for number in (1, 5, 2)]
    assert real_speed.medians(items) == {"a": 2, "b": {"c": -2}}


def test_the_section_tells_start_updates_floors_and_error():
    text = real_speed_section.section(REPORT)
    assert "(2026-11-26, commit abc1234): SmolLM2 135M Instruct (`make real-model`) on A processor" in text
    assert "with 16 episodes of at most 32 tokens" in text
    assert "72 texts of the reference" in text
    assert "**31 s** (median of 30.0, 31.0, 39.0)" in " ".join(text.split())
    assert "loading 7.0" in text
    assert "| ours, LoRA, bf16 | 8.0 | 2.00 | **2.50x** | 900 | **0.40x** |" in text
    assert "| TRL, all weights, fp32 | 20.0 | 0.80 |  | 2250 |  |" in text
    assert (
        "| ours, all weights, fp32 | 1.50 (1.00) | 0.75 (0.50) | 5.00 (2.00) | **1.5x** | **1.5x** | **2.5x** |" in text
    )
    assert "0.031 nats" in " ".join(text.split())
    assert all(len(line) <= 120 for line in text.splitlines() if not line.startswith("|"))
    assert real_speed_section.NO_FIGURES in real_speed_section.section(None)


@pytest.mark.parametrize("before", ["# Speed\n\n", f"# Speed\n\n{real_speed_section.TITLE}\n\nold\n\nmore\n\n"])
def test_only_its_own_section_of_the_page_is_written_anew(before, tmp_path):
    page, rest = tmp_path / "page.md", f"{real_speed_section.NEXT}\n\nfigures of the page\n"
    page.write_text(before + rest)
    for _ in range(2):
        real_speed_section.put_into(page, REPORT)
        assert page.read_text() == f"# Speed\n\n{real_speed_section.section(REPORT)}\n{rest}"


def test_a_processor_without_bf16_has_no_row_of_it():
    updates = {kind: found for kind, found in REPORT["updates"].items() if kind != "bf16"}
    text = real_speed_section.section({**REPORT, "updates": updates})
    assert "| ours, LoRA, fp32 | 8.0 |" in text
    assert "bf16 |" not in text
    assert "GFLOP/s in bf16" not in text
