#!/usr/bin/env python3
"""docs_rule.py finds planted offences, and nothing in pages without any."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import docs_rule  # noqa: E402
import planted  # noqa: E402

PAGE = "# A page\n\nThis page describes it.\n"


def run(files):
    return planted.run(docs_rule, files)


class DocsRule(unittest.TestCase):
    def assert_found(self, files, said):
        code, out = run(files)
        self.assertEqual(code, 1, out)
        self.assertIn(said, out)

    def test_links(self):
        good = ("# A page\n\nThis page has [b](b/b.md#the-end-2) and [itself](#the-end), <img src=\"b/b.svg\">, [web](https://a.org/x.md).\n\n"
                "`[no](link.md)`\n\n    [code](code.md)\n\n## The end\n")
        files = {"README.md": "[a](docs/a.md)\n", "docs/a.md": good, "docs/b/b.svg": "", "docs/b/b.md": PAGE + "## The `end`, 2\n"}
        self.assertEqual(run(files), (0, "3 pages keep to the rules\n"))
        self.assert_found(files | {"docs/a.md": good + "[c](../c.md)\n"}, "docs/a.md:10: ../c.md leads nowhere")
        self.assert_found(files | {"README.md": "[a](docs/a.md#end)\n"}, "README.md:1: docs/a.md has no heading #end")
        self.assert_found(files | {"tests/README.md": "<img\nsrc=\"a.svg\">\n"}, "tests/README.md:2: a.svg leads nowhere")

    def test_names_of_links(self):
        files = {"README.md": "[docs/a.md](docs/a.md), [a.md](docs/a.md#a-page), [it](docs/a.md)\n", "docs/a.md": PAGE}
        self.assertEqual(run(files)[0], 0)
        self.assert_found(files | {"README.md": "[b.md](docs/a.md)\n"}, "README.md:1: the link b.md leads to docs/a.md")

    def test_headings_with_the_same_name(self):
        page = "## Limits\n\n## Limits\n\n"
        self.assertEqual(run({"README.md": page + "[second](#limits-1)\n"})[0], 0)
        self.assert_found({"README.md": page + "[third](#limits-2)\n"}, "no heading #limits-2")

    def test_far_pages(self):
        files = {"README.md": "[1](docs/1.md)\n"} | {f"docs/{i}.md": f"{PAGE}[next]({i + 1}.md)\n" for i in (1, 2)}
        self.assertEqual(run(files | {"docs/3.md": PAGE})[0], 0)
        self.assert_found(files | {"docs/3.md": PAGE + "[4](4.md)\n", "docs/4.md": PAGE}, "docs/4.md: more than 3 links away")
        self.assert_found({"docs/1.md": PAGE}, "docs/1.md: more than 3 links away")

    def test_first_sentences(self):
        for page in "docs/a.md", "docs/internals/decisions/a.md":
            for text in "# A page\n\nPages describe it.\n", "This page describes it.\n", "# A page\n", "":
                self.assert_found({"README.md": f"[a]({page})\n", page: text}, f"{page}: begin with a title")

    def test_sizes(self):
        def sized(path, count):
            return {"README.md": f"[a]({path})\n", path: PAGE.ljust(count, "\n")}

        self.assertEqual(run(sized("docs/guide/a.md", 8192))[0], 0)
        self.assert_found(sized("docs/guide/a.md", 8193), "docs/guide/a.md: 8193 bytes, 8192 may be")
        self.assertEqual(run(sized("docs/reference/a.md", 9000))[0], 0)

    def test_readme(self):
        self.assertEqual(run({"README.md": "\n" * 80})[0], 0)
        self.assert_found({"README.md": "\n" * 81}, "README.md: 81 lines, 80 may be")

    def test_lines(self):
        def lines(text):
            return {"README.md": "[a](docs/a.md)\n", "docs/a.md": PAGE + text}

        long = "x" * 121
        self.assertEqual(run(lines(f"{'x' * 120}\n| {long} |\n\n![{long}](a.md)\n\n    {long}\n\n```sh\n{long}\n```\n"))[0], 0)
        self.assert_found(lines(long), "docs/a.md:4: 121 characters, 120 may be")
        self.assertEqual(run({"CHANGELOG.md": long})[0], 0)


if __name__ == "__main__":
    unittest.main()
