"""Score against KL: how far a run went for what it gained, and how far its own samples show that one can get.

`reweighting` estimates the best policies from samples, `against_kl` puts a run's looks beside them and says it in a
sentence, `regimes` marks the betas at which the leash is too tight to see anything and too loose to hold. Pure: nothing
of files, models or the page, which asks (`ui/live/wire_frontier`), as does the command line.
"""
