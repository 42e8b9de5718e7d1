#!/usr/bin/env python3
"""language_rule.py finds planted phrases and long sentences, and accepts what is allowed."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import language_rule  # noqa: E402
import planted  # noqa: E402


class LanguageRule(unittest.TestCase):
    def test_phrases(self):
        for phrase in ["of which", "those of", "that of", "whose", "what it", "lies", "goes\n// on", "but for", "anew", "so many"]:
            text = f"// A value {phrase} here.\nint x;\n// Again {phrase} there.\n"
            self.assertEqual(planted.run(language_rule, {"comm/a.cpp": text})[0], 1, phrase)
        code, out = planted.run(language_rule, {"docs/a.md": "A page whose words\nare many.\n\nA value whose part.\n"})
        self.assertEqual(code, 1)
        self.assertIn("docs: \\bwhose\\b 2 times in 10 words", out)
        self.assertIn("docs/a.md:1, docs/a.md:4", out)

    def test_code_is_no_prose(self):
        self.assertEqual(planted.run(language_rule, {"comm/a.cpp": 'auto a = "whose", b = "// whose", those_of = 1;'})[0], 0)
        self.assertEqual(planted.run(language_rule, {"docs/a.md": "Text.\n\n    whose whose\n\n```\nwhose\n```\n"})[0], 0)
        self.assertEqual(planted.run(language_rule, {"CHANGELOG.md": "whose, whose", "bench/NOTEBOOK.md": "whose, whose"})[0], 0)

    def test_long_sentences(self):
        long = "\n// ".join(["word " * 12] * 3)
        code, out = planted.run(language_rule, {"graph/a.hpp": f"int x;\n\n// {long}.\n"})
        self.assertEqual(code, 1)
        self.assertIn("graph/a.hpp:3: a sentence of 36 words", out)
        self.assertEqual(planted.run(language_rule, {"graph/a.hpp": f"// {'word ' * 35}.\n// {'word ' * 35}.\n"})[0], 0)
        self.assertEqual(planted.run(language_rule, {"graph/a.hpp": f"// A list: {{{'word ' * 40}}}.\n"})[0], 0)


if __name__ == "__main__":
    unittest.main()
