"""A contributor's template is rendered in a process of its own, which can reach nothing.

There the template engine (:mod:`.interpreter`) offers it data and verbs (:mod:`.sandbox`). A verb
is a question to the process that renders the report (:mod:`harness.report.worklog`), which runs the
section. Both talk through a :mod:`.channel`.
"""
