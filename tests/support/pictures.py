"""Pictures of the site for README.md, made again by: python -m tests.support.pictures"""

import base64
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
PICTURES = {
    "index": ("index.html", ""),
    "claim": (f"{REPORT}/claims.html", _OPEN),
    "timeline": (f"{REPORT}/timelines/stack-m1.f8-0.13.0-eager.html", ""),
}
"""Name to a page of the site, and a script that brings it into view."""
WIDTH, HEIGHT = 1200, 760


def main() -> None:
    """Build the site and write each picture."""
    with tempfile.TemporaryDirectory() as scratch:
        site = Path(scratch) / "site"
        sites.built(site)
        with chromium.opened(site / "index.html", WIDTH, HEIGHT) as page:
            for name, (path, script) in PICTURES.items():
                page.open(site / path, WIDTH, HEIGHT)
                if script:
                    page.evaluate(script)
                page.evaluate("new Promise((done) => setTimeout(done, 500))")
                taken = page.send("Page.captureScreenshot", format="png")["data"]
                (FOLDER / f"{name}.png").write_bytes(base64.b64decode(taken))


if __name__ == "__main__":
    main()
