"""Score against KL: how far a run went for what it gained, and how far its own samples show that one can get. Pure.

`reweighting` estimates the best policies from samples, `against_kl` puts a run's evaluations beside them and says it in
a sentence, `regimes` marks the betas at which the KL penalty is too strong to see anything and too weak to hold.
"""
