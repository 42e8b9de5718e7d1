#!/usr/bin/env python3
"""Tests bench/measure.py: measure_test.py ROOT FERRY"""
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT, FERRY = map(Path, sys.argv[1:3])


class Tree(unittest.TestCase):
    """A folder with the script, the pages, the charts and the results."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for pattern in ("bench/measure.py", "bench/results/*", "docs/performance*.md", "docs/images/bench_*.svg"):
            for path in ROOT.glob(pattern):
                copy = self.root / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)
        self.page = self.root / "docs/performance.md"
        [self.result] = [path for path in self.root.glob("bench/results/*.json") if path.name in self.page.read_text(encoding="utf-8")]

    def measure(self, *arguments, code=0, path=None):
        done = subprocess.run([sys.executable, str(self.root / "bench/measure.py"), *map(str, arguments)], capture_output=True, text=True,
                              env={"PATH": path} if path else None)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def change(self, path, old, new):
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1), encoding="utf-8")


class Pages(Tree):
    def test_a_changed_figure_on_a_page_is_found_and_written_again(self):
        before = self.page.read_text(encoding="utf-8")
        self.change(self.page, "| `hop.4B` | ", "| `hop.4B` | 1")
        self.assertIn("docs/performance.md differs from its figures", self.measure("--check", code=1))
        self.measure("--page", self.result)
        self.assertEqual(self.page.read_text(encoding="utf-8"), before)
        self.measure("--check")

    def test_a_changed_result_is_found(self):
        self.change(self.result, '{"name": "hop.4KB"', '{"name": "hop.9KB"')
        self.assertIn("docs/images/bench_messages.svg differs", self.measure("--check", code=1))

    def test_a_family_without_a_table_is_refused(self):
        self.change(self.page, "<!-- figures: messages -->", "<!-- no figures -->")
        self.assertIn("<!-- figures: messages -->", self.measure("--check", code=1))

    def test_a_page_says_that_a_run_has_no_figures_of_a_family(self):
        result = json.loads(self.result.read_text(encoding="utf-8"))
        result["figures"] = [one for one in result["figures"] if not one["name"].startswith("stencil")]
        self.result.write_text(json.dumps(result), encoding="utf-8")
        self.measure("--page", self.result)
        page = self.page.read_text(encoding="utf-8")
        self.assertIn("<!-- figures: stencils -->\n\nThis run has no figures of these benchmarks.\n", page)

    def test_a_benchmark_without_a_family_is_refused(self):
        self.change(self.result, '"name": "hop.4KB"', '"name": "hoop.4KB"')
        self.assertIn("hoop.4KB belongs to no family", self.measure("--check", code=1))

    def test_the_ratio_of_rates_is_turned_round_and_the_spread_is_that_of_the_pairs(self):
        line = {"name": "hop.2B", "unit": "us", "ferry": 1.5, "peer": "MPI", "peer_value": 2, "ratio": 0.75, "better": "lower",
                "pairs": [[1, 2], [1.5, 2], [1600, 1000]]}
        rate = {**line, "name": "hop.8B", "unit": "steps/s", "better": "higher"}
        result = json.loads(self.result.read_text(encoding="utf-8"))
        result["figures"] += [line, rate]
        self.result.write_text(json.dumps(result), encoding="utf-8")
        self.measure("--page", self.result)
        page = self.page.read_text(encoding="utf-8")
        self.assertIn("| `hop.2B` | 1.50 µs | 2.00 µs | 0.75 | 0.50–1.60 |\n", page)
        self.assertIn("| `hop.8B` | 1.50 steps/s | 2.00 steps/s | 1.33 | 0.62–2.00 |\n", page)


class Measuring(Tree):
    def test_a_result_has_the_machine_all_pairs_and_the_benchmarks_that_failed(self):
        out = self.root / "out.json"
        # Without mpirun, hop fails, and start is measured all the same.
        self.measure("--ferry", FERRY, "--out", out, "hop.4B", "start", "chain10", path=str(self.root))
        result = json.loads(out.read_text(encoding="utf-8"))
        self.assertEqual([one["name"] for one in result["not_measured"]], ["hop.4B"])
        figures = {one["name"]: one for one in result["figures"]}
        self.assertEqual(set(figures), {"start", "start.resident", "chain10.64MB.1", "chain10.64MB.2"})
        self.assertEqual(len(figures["chain10.64MB.1"]["pairs"]), 5)
        self.assertGreater(result["machine"]["cores"], 0)
        self.assertIn(result["priority"], ("normal", "real-time (SCHED_RR 20)"))

    def fake_ferry(self, bench):
        """A program in place of ferry that runs `bench`, a line of shell, for `ferry bench`."""
        doctor = {"memory": {"bytes": 1}, "kernels": {"cpu": ""}, "tcp": "", "ferry": {"version": "", "compiler": ""}}
        fake = self.root / "ferry"
        fake.write_text(f"""#!/bin/sh
case $1 in
  doctor) echo '{json.dumps({"tasks": [doctor]})}' ;;
  bench) {bench} ;;
esac
""", encoding="utf-8")
        fake.chmod(0o755)
        return fake

    def test_an_interrupted_run_has_the_figures_so_far(self):
        out = self.root / "out.json"
        line = {"name": "hop.4B", "unit": "us", "ferry": 1, "peer": None, "peer_value": None, "ratio": None, "better": "lower", "pairs": []}
        fake = self.fake_ferry(f"echo '{json.dumps(line)}'; kill -INT $PPID; sleep 30")
        self.measure("--ferry", fake, "--out", out)
        result = json.loads(out.read_text(encoding="utf-8"))
        self.assertEqual(result["figures"], [line])
        self.assertEqual(result["not_measured"], [{"name": "benchmarks after hop.4B", "skipped": "the run was interrupted"}])

    def test_a_signal_during_the_start_of_the_benchmarks_ends_them(self):
        fake = self.fake_ferry("echo '{\"name\": \"start\"}'; kill -INT $PPID; touch $0.sent; sleep 30")
        # The start ends after the signal, whatever the order in which the two processes run.
        program = """
import subprocess, sys, time
from pathlib import Path
import measure

class Popen(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        while not Path(f"{sys.argv[1]}.sent").exists():
            time.sleep(0.01)

measure.subprocess.Popen = Popen
print(measure.run_benchmarks(sys.argv[1], [])[0])
"""
        done = subprocess.run([sys.executable, "-c", program, fake], cwd=self.root / "bench", capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, '{"name": "start"}\n'))
        self.assertIn("the run was interrupted", done.stdout)

    def test_reasons_have_no_path_of_the_machine(self):
        out = self.root / "out.json"
        failed = {"name": "hop.4B", "failed": "/home/me/build/ferry ended with exit code 2\n  started as: /home/me/build/ferry run"}
        (self.root / "failed.json").write_text(json.dumps(failed) + "\n", encoding="utf-8")
        fake = self.fake_ferry(f"cat {self.root}/failed.json >&2")
        self.measure("--ferry", fake, "--out", out)
        self.assertEqual(json.loads(out.read_text(encoding="utf-8"))["not_measured"],
                         [{"name": "hop.4B", "failed": "ferry ended with exit code 2"}])

    def test_a_program_that_does_not_run_is_an_error(self):
        self.assertIn("build ferry", self.measure("--ferry", self.root / "ferry", "start", code=1))

    def test_no_figures_are_an_error(self):
        self.assertIn("gave no figures", self.measure("--ferry", FERRY, "--out", self.root / "out.json", "nonesuch", code=1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
