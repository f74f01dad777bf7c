"""The audit of a step: what each kernel belongs to, how near to a limit it is, what that can save.

:func:`harness.analysis.audit.conclude.audit` is the entry.
"""
