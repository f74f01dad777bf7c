"""The kind ``toy``: a report of the program toyprof, exported to text."""

import re

from harness.evidence.kind import Format, Kept, Kind, Lazy

REPORT, EXPORT = "kernels.toyrep", "kernels.toy"

KIND = Kind(
    name="toy",
    title="a toyprof report (.toy)",
    cost=9,
    formats=(Format(re.compile(rb"TOY1\n"), plain_name=EXPORT),),
    tool="toyprof",
    leaves=(REPORT, EXPORT),
    wrap=Lazy("tests.support.toy_kind.record:wrap"),
    after=Lazy("tests.support.toy_kind.record:after"),
    counted=Lazy("tests.support.toy_kind.record:counted"),
    artifact=EXPORT,
    read=Lazy("tests.support.toy_kind.read:read"),
    fills=("counters",),
    check=Lazy("tests.support.toy_kind.read:check"),
    conditions=Lazy("tests.support.toy_kind.read:conditions"),
    measures={"kernels": Lazy("tests.support.toy_kind.read:kernels")},
    compared_by="counters",
    summarise=Lazy("tests.support.toy_kind.show:summarise"),
    show=Lazy("tests.support.toy_kind.show:show"),
    kept=(Kept(EXPORT, rank=9, compressed=True),),
)
