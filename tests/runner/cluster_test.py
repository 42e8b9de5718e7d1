#!/usr/bin/env python3
"""Tests --cluster, plans for a cluster that a file describes: cluster_test.py FERRY SAMPLES"""
import json
import os
import re
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

    def plan(self, sample, text, *words, summary=False):
        return ferry("plan", SAMPLES / sample, "--cluster", self.described(text), *([] if summary else ["--all"]), *words)

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

    def test_a_run_takes_the_costs_alone(self):
        code, out, err = ferry("run", SAMPLES / "add.pb", "--cluster", self.described('host { name: "h" tasks: 3 }'))
        self.assertEqual((code, out), (4, ""), err)
        self.assertIn("the file has no costs of its own", err)
        self.assertIn("--tasks N", err)
        costs = self.described('host { name: "h" }\ncompute { product_flop_ps: 3 }')
        without = ferry("run", SAMPLES / "fashion.pb", "--tasks", 2, "--entry", "init")
        self.assertEqual(ferry("run", SAMPLES / "fashion.pb", "--tasks", 2, "--entry", "init", "--cluster", costs), without)
        plan = costs.parent / "add.plan"
        self.assertEqual(ferry("plan", SAMPLES / "add.pb", "--tasks", 3, "--save", plan)[0], 0)
        code, _, err = ferry("run", plan, "--cluster", costs)
        self.assertEqual(code, 2, err)
        self.assertIn("--cluster: a .plan file is placed already", err)

    def fingerprint(self, *words, env=None, before=()):
        """The plan's fingerprint in a run of add.pb on three tasks."""
        with tempfile.TemporaryDirectory() as folder:
            stats = Path(folder) / "stats.json"
            done = subprocess.run([*before, FERRY, "run", SAMPLES / "add.pb", *map(str, words), "--stats", stats], env=env,
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(stats.read_text())["fingerprint"], done.stderr

    def test_the_costs_are_part_of_the_fingerprint(self):
        usual = self.fingerprint("--tasks", 3)
        self.assertEqual(self.fingerprint("--tasks", 3), usual)
        hosts = 'host { name: "h" tasks: 3 }\n'
        same, flop, link, sums = (self.described(hosts + costs) for costs in (
            "compute { product_flop_ps: 10 }", "compute { product_flop_ps: 11 }",
            "on_host { latency_seconds: 2e-6 bytes_per_second: 8e9 }", "sums_on_host { bytes_per_second: 8e9 }"))
        self.assertEqual(self.fingerprint("--tasks", 3, "--cluster", same), usual)
        others = [self.fingerprint("--tasks", 3, "--cluster", path)[0] for path in (flop, link, sums)]
        self.assertEqual(len({usual[0], *others}), 4)

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
    def test_task_0_reads_the_costs_for_all_tasks(self):
        costs = self.described('host { name: "h" }\ncompute { product_flop_ps: 11 }')
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        one = ["-np", "1", FERRY, "run", SAMPLES / "add.pb", "--stats", costs.parent / "stats.json", "--cluster"]
        done = subprocess.run(["mpirun", "--oversubscribe", *map(str, one), costs, ":", *map(str, one), "/nowhere", ":",
                               *map(str, one), "/nowhere"], env=env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        of_job = json.loads((costs.parent / "stats.json").read_text())["fingerprint"]
        usual = self.fingerprint(before=["mpirun", "--oversubscribe", "-np", "3"], env=env)[0]
        self.assertNotEqual(of_job, usual)

    def test_costs_change_planned_times(self):
        def planned(costs):
            code, out, err = self.plan("fashion_cnn.pb", 'host { name: "h" }\n' + costs, summary=True)
            self.assertEqual((code, err), (0, ""))
            return [line for line in out.splitlines() if "computing" in line]

        usual = planned("")
        self.assertTrue(usual)
        self.assertEqual(planned("compute { convolution_flop_ps: 10 }"), usual)
        self.assertNotEqual(planned("compute { convolution_flop_ps: 30 }"), usual)

    def test_costs_of_another_machine_or_version(self):
        file = self.described('host { name: "h" tasks: 3 }\ncompute { ferry: "0.0.1" cpu: "Abacus" kernels: "beads" }')
        for command in (("plan",), ("check",), ("explain",), ("run", "--tasks", 3)):
            code, _, err = ferry(command[0], SAMPLES / "add.pb", *command[1:], "--cluster", file)
            self.assertEqual(code, 0, err)
            self.assertEqual(err.count("were measured"), 1, err)
            version = ferry("--version")[1].split()[1]
            for text in (f'by ferry "0.0.1", not "{version}"', 'on the processor "Abacus", not "', 'with the kernels "beads", not "'):
                self.assertIn(text, err)

    def test_calibrate(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for tasks in (1, 2):
            path = Path(folder.name) / f"machine{tasks}.pbtxt"
            code, out, err = ferry("calibrate", "--tasks", tasks, "--threads", 2, "--seconds", "0.2", "-o", path)
            self.assertEqual(code, 0, err)
            self.assertIn("a kernel's call", out)
            text = path.read_text()
            figures = {name: float(value) for name, value in re.findall(r"(\w+): ([-+.\de]+|nan|inf)$", text, re.M)}
            names = ["call_ps", "memory_byte_ps", "cache_byte_ps", "cache_bytes", "product_flop_ps", "convolution_flop_ps",
                     "reduction_flop_ps", "element_flop_ps"]
            names += ["latency_seconds", "bytes_per_second"] if tasks == 2 else []
            for name in names:
                self.assertTrue(0 < figures[name] < float("inf"), (name, figures[name]))
            for name in ("parallel_flops", "parallel_bytes"):
                self.assertTrue(0 <= figures[name] <= 1, (name, figures[name]))
            self.assertEqual("sums_on_host" in text, tasks == 2)
            self.assertNotIn("shared_memory", text)
            self.assertEqual("all-reduce of 2 tasks of a host" in text, tasks == 2)
            code, out, err = ferry("plan", SAMPLES / "fashion.pb", "--cluster", path)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("task", out)
            code, _, err = ferry("run", SAMPLES / "fashion.pb", "--entry", "init", "--tasks", tasks, "--cluster", path)
            self.assertEqual((code, err), (0, ""))
        self.assertEqual(ferry("calibrate", "-o", "/nowhere/machine.pbtxt")[0], 3)

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
            'host { name: "a" }\nsums_on_host { }': "line 2: sums_on_host has no bytes_per_second",
            'host { name: "a" }\ncompute {\n call_ps: -1\n}': "line 3: compute: call_ps is to be from 0 to 1e+12, not -1",
            'host { name: "a" }\ncompute { product_flop_ps: 0 }': "line 2: compute: product_flop_ps is to be from 1e-06 to 1e+06, not 0",
            'host { name: "a" }\ncompute { product_flop_ps: 1e12 }': "product_flop_ps is to be from 1e-06 to 1e+06, not 1e+12",
            'host { name: "a" }\non_host { bytes_per_second: 1 }': "on_host: bytes_per_second is to be from 1000 to 1e15, not 1",
            'host { name: "a" }\ncompute { memory_byte_ps: nan }': "line 2: compute: memory_byte_ps is to be from",
            'host { name: "a" }\ncompute { parallel_bytes: 1.5 }': "line 2: compute: parallel_bytes is to be from 0 to 1, not 1.5",
            'host { name: "a" }\ncompute { flops: 3 }': 'line 2, column 16: Message type "ferry.cluster_file.Compute" has no field named "flops".\n',
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
