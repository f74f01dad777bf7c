"""What makes a subject slow, concluded from its evidence: one file a finding.

:func:`harness.analysis.diagnose.conclude.diagnose` is the entry; ``known_findings.py`` lists the
findings.
"""
