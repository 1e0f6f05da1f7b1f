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
LAST = 3  # it stays where this part of the curve (a third) has no more than a share of the rise
LATE = 0.15  # that share


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
    late = end - smooth[-max(2, len(smooth) // LAST)]
    stays = late <= max(LATE * change, SPREADS * noise)
    if offered:
        stays = "rises, then stays" in offered and (stays or "rises" not in offered)
    return "rises, then stays" if stays else "rises"
