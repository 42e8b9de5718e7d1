#!/usr/bin/env python3
"""A slow link between three hosts is named, and no other: slow_link_test.py FERRY SAMPLES_FOLDER

The hosts are network namespaces of this machine, as in hosts_test.py, whose needs it has; ends with 77, skipped, where one is
missing. All links have the same rate, until one host is sent only a tenth of it.
"""
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "support")]
import three_hosts  # noqa: E402
from hosts_test import ring  # noqa: E402
from launch_test import FERRY, launch  # noqa: E402
from three_hosts import HOSTS, NETNS  # noqa: E402

RING = ring(HOSTS, 125000)  # half a megabyte
RATE, TENTH = "100mbit", "10mbit"
SLOW = r"the link from task (\d) \(host (\w+), process \d+\) to task (\d) \(host (\w+), process \d+\) is slow: \S+ .iB/s, where others do "


def rate(host, bits):
    subprocess.run([NETNS, "rate", str(host), bits], check=True)


class SlowLink(unittest.TestCase):
    def setUp(self):
        self.folder = Path(os.environ["NETNS_DIR"])
        (self.folder / "ring.pbtxt").write_text(RING)
        for host in range(1, HOSTS + 1):
            rate(host, RATE)

    def run_ring(self, steps):
        """The links that were warned of, and those of the counters at the end."""
        stats = self.folder / "stats.json"
        code, out, err = launch("--hosts", "10.77.0.1,10.77.0.2,10.77.0.3", FERRY, "run", self.folder / "ring.pbtxt", "--steps", steps,
                                "--stats", stats, "--out", self.folder / "out")
        self.assertEqual(code, 0, out + err)
        return re.findall(SLOW, err), json.loads(stats.read_text())["slow_links"]

    def test_none_is_slow(self):
        self.assertEqual(self.run_ring(100), ([], []))

    def test_none_is_slow_on_a_loaded_machine(self):
        load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4 * os.cpu_count())]
        try:
            self.assertEqual(self.run_ring(100), ([], []))
        finally:
            for process in load:
                process.kill()
                process.wait()

    def test_one_at_a_tenth_of_the_rate(self):
        rate(3, TENTH)
        told, counted = self.run_ring(40)
        self.assertEqual(told, [("1", "h2", "2", "h3")])
        [link] = counted
        self.assertEqual((link["from"], link["to"]), (1, 2))
        self.assertGreater(link["usual"], 5 * link["bytes_per_second"])
        self.assertGreater(link["cost"], 0.4)


if __name__ == "__main__":
    sys.exit(three_hosts.main(lambda: unittest.main(argv=[sys.argv[0], *sys.argv[3:]])))
