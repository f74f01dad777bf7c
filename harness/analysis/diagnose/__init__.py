"""What makes a subject slow, concluded from its evidence: one file a finding.

:func:`harness.analysis.diagnose.conclude.diagnose` is the entry; ``families.py`` says what belongs
together and where each finding is registered.
"""
