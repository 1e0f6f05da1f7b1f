"""The places that there are, and what each of them starts where a run is computed. Imported when they are used."""
