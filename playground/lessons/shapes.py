"""What a curve does, in a word: by its running mean, against what chance makes of that."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LEAST = {
    "score": 0.25,
    "kl": 0.5,
    "penalised": 0.25,
    "entropy": 0.1,
    "length": 1.0,
    "distinct": 0.02,
    "beta": 0.001,
    "policy_loss": 0.05,
}
LEAST_SHARE = 0.05  # of the largest value; a change of less is none, nor is one below LEAST
SPREADS = 4.0  # of a running mean's noise
WINDOWS = 8  # in a curve
LOST = 0.25  # of a rise, for it to fall again
LATE = 0.25  # of a rise; it stays where a straight line through its second half rises no more
SURELY = 1.64  # standard errors of that line; less may be chance


def shape(name: str, values: Sequence[float], offered: Sequence[str] = ()) -> str:
    """rises; falls; stays; rises, then falls; rises, then stays. Of those that are `offered`, the one that fits; "" for
    a curve of one point.

    Args:
        name: of the figure (`facts.CURVES`), whose least change is known.
    """
    if len(values) < 2:
        return ""
    raw = np.array(values, float)
    width = max(1, len(raw) // WINDOWS)
    smooth = np.convolve(raw, np.ones(width) / width, "valid")
    noise = np.diff(raw).std() / np.sqrt(2 * width) if len(raw) > 2 else 0.0
    least = max(LEAST.get(name, 0.0), LEAST_SHARE * np.abs(smooth).max(), SPREADS * noise)
    start, end = smooth[0], smooth[-1]
    rise, change = smooth.max() - start, end - start
    fell = rise > least and smooth.max() - end > max(least, LOST * rise)
    if fell and (not offered or "rises, then falls" in offered):
        return "rises, then falls"
    if change < -least:
        return "falls"
    if change <= least:
        return "stays"
    half = raw[-max(3, len(raw) // 2) :]
    late = np.polyfit(range(len(half)), half, 1)[0] * (len(half) - 1)
    stays = late <= max(LATE * change, SURELY * noise * np.sqrt(12 * width / len(half)))
    if offered:
        stays = "rises, then stays" in offered and (stays or "rises" not in offered)
    return "rises, then stays" if stays else "rises"
