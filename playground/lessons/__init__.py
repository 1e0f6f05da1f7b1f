"""Lessons: a question, a prediction, one or two runs, and what these say of the prediction. Each is a file of data
(lessons/*.yaml); docs/write-a-lesson.md says how to write one.

`records` is what a file holds, `loading` reads files and says what is wrong with them, `facts` reads what a run has
come to, `reveal` says what that means for a lesson, `trying` tries a lesson on runs that are there,
`mysteries` has the runs with a mistake to be found. Knows analysis and
what is below it, nothing of the page.
"""
