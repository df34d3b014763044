"""Skills: data that says what to do, read into plans. No code of a skill runs.

    library          where skills are found                 manifest · model     reading skill.toml
    params           values that the user sets              declared             capabilities and scopes
    template (_path) {names} filled in                      naming · subject     what the names stand for
    select · walk    for_each, over the planned tree        glob · table · media patterns, CSV, EXIF dates
    planner          a manifest and values → a plan         sequencer · moves    tables in order, moves at once
    rendering        one step, compiled                     builder · folding    steps on the view, conflicts
    check · fixture  an author's tools                      schema · skeleton    for editors, to begin with

The way down is `planner.plan_skill`: params → declared → for each table select → rendering → builder,
which plays every action on `kernel.view.View` before the next table selects.
"""
