"""For the tests of rules: source trees with offences planted in them."""
import contextlib
import io
import tempfile
from pathlib import Path


def run(rule, files, *arguments):
    """Exit code and output of rule.main() for a tree of {path: content}."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            file = Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = rule.main(folder, *arguments)
        return code, out.getvalue()
