#!/usr/bin/env python3
"""clock_rule.py finds planted wall clocks, and nothing else."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import clock_rule  # noqa: E402
import planted  # noqa: E402


def run(line, folder="comm"):
    """Exit code and output for a tree of one file with that line."""
    return planted.run(clock_rule, {f"{folder}/wait.cpp": f"\n{line}\n"})


class ClockRule(unittest.TestCase):
    def test_planted(self):
        for line in ["auto t = std::chrono::system_clock::now();", "clock_gettime(CLOCK_REALTIME, &t);", "t = std::time(nullptr);",
                     "gettimeofday(&t, nullptr);", "double t = MPI_Wtime();", "sem_timedwait(&s, &t);"]:
            code, out = run(line)
            self.assertEqual(code, 1, line)
            self.assertIn("comm/wait.cpp:2: " + line, out)

    def test_allowed(self):
        for line in ["auto t = system_clock().now();", "std::chrono::steady_clock::now();", "// not gettimeofday()",
                     "next_time(3);", "clock_gettime(CLOCK_MONOTONIC, &t);"]:
            self.assertEqual(run(line)[0], 0, line)
        self.assertEqual(run("auto t = std::chrono::system_clock::now();", "tests")[0], 0)


if __name__ == "__main__":
    unittest.main()
