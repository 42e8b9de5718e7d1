#!/usr/bin/env python3
"""Tests --cluster, plans for a cluster that a file describes: cluster_test.py FERRY SAMPLES"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FERRY, SAMPLES = sys.argv[1], Path(sys.argv[2])


def ferry(*words):
    done = subprocess.run([FERRY, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    return done.returncode, done.stdout, done.stderr


class Clusters(unittest.TestCase):
    def described(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "c.pbtxt"
        path.write_text(text)
        return path

    def plan(self, sample, text, *words):
        return ferry("plan", SAMPLES / sample, "--cluster", self.described(text), "--all", *words)

    def test_hosts_that_are_alike(self):
        here = ferry("plan", SAMPLES / "add.pb", "--tasks", 4, "--hosts", 2, "--threads", 1, "--all")
        self.assertEqual(here[0], 0, here[2])
        self.assertEqual(self.plan("add.pb", 'host { name: "h" count: 2 tasks: 2 }'), here)

    def test_threads_and_links(self):
        code, out, err = self.plan("fashion.pb", 'host { name: "a" threads: 3 }\nhost { name: "b" threads: 2 }')
        self.assertEqual(code, 0, err)
        self.assertIn("task 0, 3 threads", out)
        self.assertIn("task 1, 2 threads", out)
        # Where messages have a long latency, more sums share one.
        hosts = 'host { name: "a" count: 4 }'
        links = "\nbetween_hosts {{ latency_seconds: {} bytes_per_second: 1e9 }}"
        quick, slow = (self.plan("fashion_cnn.pb", hosts + links.format(latency)) for latency in ("1e-6", "1"))
        self.assertEqual((quick[0], slow[0]), (0, 0), quick[2] + slow[2])
        self.assertLess(slow[1].count("all_reduce sum"), quick[1].count("all_reduce sum"))

    def test_links_of_gpus(self):
        def sums(links, hosts=1):
            text = f'host {{ name: "a" count: {hosts} tasks: {4 // hosts} gpus: 1 }}\n{links}'
            code, out, err = self.plan("fashion_cnn.pb", text, "--device", "sim")
            self.assertEqual(code, 0, err)
            return out.count("all_reduce sum")

        # Without latency each sum is a message of its own.
        eager = "gpus_%s { latency_seconds: 0 bytes_per_second: 1e11 }"
        self.assertLess(sums(""), sums(eager % "on_host"))
        self.assertEqual(sums(""), sums(eager % "between_hosts"))
        self.assertLess(sums("", 2), sums(eager % "between_hosts", 2))
        self.assertEqual(sums("", 2), sums(eager % "on_host", 2))

    def test_more_than_there_is(self):
        code, _, err = self.plan("fashion.pb", 'host { name: "small" memory_bytes: 1000 }')
        self.assertEqual(code, 4, err)
        self.assertIn("small", err)

    def test_check_and_explain(self):
        path = self.described('host { name: "h" tasks: 3 }')
        self.assertIn("PASS", ferry("check", SAMPLES / "add.pb", "--cluster", path)[1])
        self.assertIn("annotated /task:2", ferry("explain", SAMPLES / "add.pb", "--cluster", path)[1])

    def test_there_is_nothing_to_run_on(self):
        code, out, err = ferry("run", SAMPLES / "add.pb", "--cluster", self.described('host { name: "h" tasks: 3 }'))
        self.assertEqual((code, out), (4, ""), err)
        self.assertIn("this cluster is described, it is not here", err)

    def test_what_is_wrong(self):
        wrong = {
            "": "it has no host",
            "host { }": "line 1: a host has no name",
            'host { name: "a" tasks: 0 }': "line 1: host 'a': tasks is to be 1 or more, not 0",
            'host {\n name: "a"\n count: 0\n}': "line 3: host 'a': count is to be 1 or more, not 0",
            'host { name: "a" }\nhost { name: "a" }': "line 2: host 'a' is there twice",
            'host { name: "a" count: 70000 }': "host 'a': with its 70000 there are more than 65536 tasks",
            'host { name: "a" count: 4000000000 tasks: 4000000000 }': "more than 65536 tasks",
            'host { name: "a" threads: 0 }': "threads is to be from 1 to 4096, not 0",
            'host { name: "a" }\non_host { }': "line 2: on_host has no bytes_per_second",
            'host { name: "a" }\nhost_gpu { latency_seconds: 11 }': "line 2: host_gpu: latency_seconds is to be from 0 to 10",
            'host { name: "a" }\ngpus_on_host { }': "line 2: gpus_on_host has no bytes_per_second",
            'host { name: "a" }\ngpus_between_hosts { bytes_per_second: 0 }': "line 2: gpus_between_hosts: bytes_per_second",
            'host { name: "a" }\nbetween_hosts { latency_seconds: nan bytes_per_second: 1 }': "between_hosts: latency_seconds",
            'host { name: "a"\n colour: 3 }': 'line 2, column 8: Message type "ferry.cluster_file.Host" has no field named "colour".\n',
            'host { name: "a" gpus: 4294967295 }': "gpus is to be 1024 at most, not 4294967295",
            'host { name: "a" count: 2 }\nhost { name: "a-0" }': "host 'a-0' is there twice",
            'host { name: "a" job: "x y/z:0" }': "a job's name has",
            'host { name: "a" job: "" }': "a job's name has",
            'host { name: "a b" }': "a name has letters",
            'host { name: "\\377" }': "a name has letters",
        }
        for text, said in wrong.items():
            code, _, err = self.plan("add.pb", text)
            self.assertEqual(code, 3, text)
            self.assertIn(said, err)
        self.assertEqual(ferry("plan", SAMPLES / "add.pb", "--cluster", "/nowhere.pbtxt")[0], 3)
        with self.subTest("a plan has its tasks"):
            path = self.described('host { name: "h" tasks: 3 }')
            plan = path.parent / "add.plan"
            self.assertEqual(ferry("plan", SAMPLES / "add.pb", "--cluster", path, "--save", plan)[0], 0)
            self.assertEqual(ferry("check", plan, "--cluster", path)[0], 2)
        with self.subTest("two that say how many tasks there are"):
            self.assertEqual(ferry("plan", SAMPLES / "add.pb", "--tasks", 3, "--cluster", self.described('host { name: "h" }'))[0], 2)

    def test_tasks_that_share_memory_reach_into_it(self):
        shares, apart = 'host { name: "h" tasks: 2 }', 'host { name: "h" tasks: 2 shared_memory: false }'
        code, out, err = self.plan("conjugate_gradient.pb", shares)
        self.assertEqual(code, 0, err)
        self.assertIn(" one-shot by put ", out)
        code, out, err = self.plan("conjugate_gradient.pb", apart)
        self.assertEqual(code, 0, err)
        self.assertNotIn(" by put ", out)
        path = self.described(shares)
        plan = path.parent / "shares.plan"
        self.assertEqual(ferry("plan", SAMPLES / "conjugate_gradient.pb", "--cluster", path, "--save", plan)[0], 0)
        code, out, err = ferry("run", plan, "--tasks", 2)
        self.assertEqual((code, out), (4, ""))
        self.assertIn("the plan is for tasks 0 and 1 that share memory, and here they do not", err)

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
    def test_processes_run_a_plan_that_reaches_into_memory(self):
        path = self.described('host { name: "h" tasks: 2 }')
        plan = path.parent / "shares.plan"
        self.assertEqual(ferry("plan", SAMPLES / "conjugate_gradient.pb", "--cluster", path, "--save", plan)[0], 0)
        alone = ferry("run", SAMPLES / "conjugate_gradient.pb", "--tasks", 2)
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run(["mpirun", "--oversubscribe", "-np", "2", FERRY, "run", plan], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=120, env=env)
        self.assertEqual((done.returncode, done.stdout), alone[:2], done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
