#!/usr/bin/env python3
"""Checks the language of comments and docs: how often they use certain phrases in 10,000 words, and that no sentence of a comment
has more than 35 words. Prints what is too much, with its places, and ends with 1 if there is any. language_rule.py ROOT

The limits are the highest frequencies in the comments of four well-written C++ projects, rounded up.
"""
import re
import sys
from pathlib import Path

CODE = {".cpp", ".hpp", ".h", ".cu", ".cuh"}
FOLDERS = ["base", "graph", "ops", "kernels", "plan", "comm", "placement", "executor", "runner", "bench", "samples", "tests"]
# Pages that record history keep the words of their time.
LEFT_OUT = {"bench/NOTEBOOK.md"}
# Phrases, and how often each may occur in 10,000 words of all comments, or of all docs.
MOST = [
    (r"\bof which\b", 1.6),
    (r"\b(?:that|those) of\b", 1),
    (r"\bwhose\b", 4),
    (r"\bwhat (?:it|is|they)\b", 2),
    (r"\b(?:lies|goes on|but for|anew|so many)\b", 1),
]
MOST_WORDS = 35

TOKEN = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.S)
# What is no prose of a sentence: code, quotations, lists in brackets.
NO_PROSE = re.compile(r'`[^`]*`|"[^"]*"|\{[^{}]*\}|\([^()]*\)')
END_OF_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n\s*\n|\n(?=\s*[-*|] )|\n(?=\s{3,})")


def comments(path):
    """Yields (line, text) of each comment; consecutive lines of // are one comment."""
    text = path.read_text()
    line, alone, lines, next_line = 0, False, [], -1
    for match in TOKEN.finditer(text):
        token = match.group()
        if not token.startswith(("//", "/*")):
            continue
        at = text.count("\n", 0, match.start()) + 1
        is_alone = not text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
        body = re.sub(r"^//[/!<]*", "", token) if token.startswith("//") else token[2:-2]
        if not (is_alone and alone and at == next_line):
            if lines:
                yield line, "\n".join(lines)
            line, lines = at, []
        lines.append(body)
        alone, next_line = is_alone, at + token.count("\n") + 1
    if lines:
        yield line, "\n".join(lines)


def prose(path):
    """Yields (line, text) of each paragraph of a page, without its examples of code."""
    line, inside, paragraph = 1, False, []
    for number, text in enumerate(path.read_text().splitlines() + [""], 1):
        if text.startswith("```"):
            inside = not inside
        elif text.strip() and not inside and not text.startswith("    "):
            line = line if paragraph else number
            paragraph.append(text)
            continue
        if paragraph:
            yield line, "\n".join(paragraph)
            paragraph = []


def words(text):
    return len(re.findall(r"[A-Za-z'’]+", text))


def too_frequent(kind, texts):
    """Lines about each phrase that the (place, text) pairs use too often."""
    total = sum(words(text) for _, text in texts)
    for pattern, most in MOST:
        places = [place for place, text in texts for _ in re.finditer(pattern, " ".join(text.split()), re.I)]
        if len(places) > 1 and len(places) * 10_000 > most * total:
            yield (f"{kind}: {pattern} {len(places)} times in {total} words; at most {most} in 10,000: "
                   + ", ".join(places[:20]) + (" …" if len(places) > 20 else ""))


def long_sentences(texts):
    for place, text in texts:
        for sentence in END_OF_SENTENCE.split(text):
            count = words(NO_PROSE.sub(" ", sentence))
            if count > MOST_WORDS:
                yield f"{place}: a sentence of {count} words: {' '.join(sentence.split())[:100]} …"


def main(root):
    root = Path(root)
    code = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in CODE]
    said = [(f"{path.relative_to(root)}:{line}", text) for path in code for line, text in comments(path)]
    pages = sorted(path for path in [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("tests/**/*.md")]
                   if path.name != "CHANGELOG.md" and str(path.relative_to(root)) not in LEFT_OUT)
    written = [(f"{path.relative_to(root)}:{line}", text) for path in pages for line, text in prose(path)]
    found = [*too_frequent("comments", said), *too_frequent("docs", written), *long_sentences(said)]
    print("\n".join(found) if found else "comments and docs keep to the limits")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
