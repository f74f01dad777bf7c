"""Markup that acts in a page whose policy lets it: if somebody's words became elements."""

from tests.support import chromium

_RUN = "document.documentElement.dataset.{} = 1"
_LOUD = "h1 {{ outline: 7px solid red }} :root {{ --{}: 1 }}"
_SCRIPTS = {
    "inline": "<script>{}</script>",
    "module": "<script type=module>{}</script>",
    "fetched": '<script src="data:text/javascript,{}"></script>',
    "error": '<img src="data:," onerror="{}">',
    "load": '<svg onload="{}"></svg>',
    "frame": "<iframe srcdoc='<script>parent.{}</script>'></iframe>",
    "link": '<a class=planted href="javascript:{}">x</a>',
}
_SHEETS = {
    "sheet": "<style>{}</style>",
    "linked": '<link rel=stylesheet href="data:text/css,{}">',
}
ACTS = frozenset({*_SCRIPTS, *_SHEETS, "attribute", "base"})
"""What all of the markup does in a page without a policy."""

MARKUP = "\n".join(
    [
        *(markup.format(_RUN.format(name)) for name, markup in _SCRIPTS.items()),
        *(markup.format(_LOUD.format(name)) for name, markup in _SHEETS.items()),
        '<b class=planted style="--attribute: 1">x</b>',
        '<base href="https://example.org/">',
    ]
)
_ACTED = """
(async () => {
  document.querySelector('a.planted').click();
  await new Promise((done) => setTimeout(done, 300));
  const root = document.documentElement;
  const styles = [root, document.querySelector('b.planted')].map((each) => getComputedStyle(each));
  const set = (name) => styles.some((style) => style.getPropertyValue(`--${name}`));
  return [
    ...Object.keys(root.dataset),
    ...['sheet', 'linked', 'attribute'].filter(set),
    ...(document.baseURI.startsWith('https:') ? ['base'] : []),
  ];
})()
"""


def acted(page: chromium.Page) -> set[str]:
    """Return what the markup has done in a page that holds it."""
    return {*page.evaluate(_ACTED)} & ACTS
