"""Pages that --report and `ferry report` have written: the runs that they hold, and what a browser shows of them."""
import json
import re
import shutil
import subprocess

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PARTS = ("The run", "Timeline", "Where the time went", "Critical path", "The placed plan", "Messages", "Memory", "By line of the program", "Curves")
RUN = re.compile(r'<script type="application/json" class="run">\n(.*?)\n</script>', re.DOTALL)


def runs_in(page):
    return [json.loads(text)["run"] for text in RUN.findall(page.read_text(encoding="utf-8"))]


def shown(page, script=""):
    """The page's elements after its script has run, and one more."""
    if script:
        text = page.read_text(encoding="utf-8")
        page = page.with_name("scripted.html")
        page.write_text(text.replace("</html>", f"<script>{script}</script></html>"), encoding="utf-8")
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"--user-data-dir={page.parent}/browser",
                           f"file://{page}"], capture_output=True, text=True, timeout=600)
    assert 'data-milliseconds="' in done.stdout, (done.stdout[-300:], done.stderr[-300:])
    return RUN.sub("", done.stdout)


def opened(page):
    """The run in a page, all parts of which the browser must show."""
    run, = runs_in(page)
    text = shown(page)
    for part in PARTS:
        assert f"<h2>{part}</h2>" in text, part
    assert text.count("<canvas") == 1 and text.count("<svg") == sum(len(run[drawn]) for drawn in ("curves", "plans", "step_memory")), text.count("<svg")
    for line in run["lines"]:
        assert f">{line[0]}<" in text, line
    for link in run["links"]:
        assert f">{link[2]}<" in text, link
    for fold in run["plans"][0]["folds"]:
        assert f"{fold[0]}</text>" in text, fold
    return run
