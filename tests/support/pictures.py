"""Pictures of the site for README.md, made again by: python -m tests.support.pictures [SITE]

SITE is a folder that `harness browse -o` wrote; without it the site is built first.
"""

import base64
import sys
import tempfile
from pathlib import Path

from tests.support import chromium, sites
from tests.support.paths import ROOT

FOLDER = ROOT / "docs" / "pictures"
REPORT = "reports/1-torchao-float8/nvidia-h200"
_OPEN = (
    "(() => { const claim = document.getElementById('faster-than-tuned-bf16'); claim.open = true;"
    " claim.scrollIntoView(); scrollBy(0, -60); })()"
)
_KERNEL = "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TNT"
_IN_VIEW = "document.querySelector('canvas').scrollIntoView()"
PICTURES = {
    "index": ("index.html", "", 840),
    "claim": (f"{REPORT}/claims.html", _OPEN, 840),
    "timeline": (
        f"{REPORT}/timelines/stack-m1.f8-0.13.0-eager.html#kernel={_KERNEL}",
        _IN_VIEW,
        620,
    ),
    "side-by-side": (
        f"{REPORT}/timelines/stack-m1.f8-0.13.0-eager.and.bf16-eager.html",
        "",
        1010,
    ),
}
"""Name to a page of the site, a script that brings it into view, and the window's height."""
WIDTH = 1200


def take(site: Path) -> None:
    """Write each picture of a built site."""
    with chromium.opened(site / "index.html", WIDTH) as page:
        for name, (path, script, height) in PICTURES.items():
            file, _, fragment = path.partition("#")
            page.open(site / file, WIDTH, height, fragment)
            if script:
                page.evaluate(script)
            page.evaluate("new Promise((done) => setTimeout(done, 500))")
            taken = page.send("Page.captureScreenshot", format="png")["data"]
            (FOLDER / f"{name}.png").write_bytes(base64.b64decode(taken))


def main() -> None:
    """Build the site if need be, and write each picture."""
    if sys.argv[1:]:
        take(Path(sys.argv[1]).resolve())
        return
    with tempfile.TemporaryDirectory() as scratch:
        site = Path(scratch) / "site"
        sites.built(site)
        take(site)


if __name__ == "__main__":
    main()
