#!/usr/bin/env python3
"""Jobs started by a real SLURM over three hosts, the hosts being network namespaces of this machine: slurm_test.py FERRY SAMPLES_FOLDER CHECKPOINT_JOB

Needs what hosts_test.py does, and SLURM's and munge's daemons; ends with 77, skipped, where one is missing. The daemons have their
configuration, keys and state in a folder of the test, and their processes in its pid namespace.
"""
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "support")]
import tcp_job  # noqa: E402
import three_hosts  # noqa: E402
from three_hosts import HOSTS, NETNS  # noqa: E402

FERRY, SAMPLES, CHECKPOINT_JOB = map(os.path.abspath, sys.argv[1:4])
SECONDS = 60  # limit for what should happen at once
DATA = Path(__file__).resolve().parents[2] / "samples" / "data"
GRAPH = f"{SAMPLES}/conjugate_gradient.pb"
SCRIPT = Path(__file__).resolve().parents[2] / "deploy" / "slurm" / "train.sbatch"
DAEMONS = ("munged", "slurmctld", "slurmd", "srun", "salloc")

# Four CPUs on each host, however many cores it has: a core then stands for several CPUs. PMIx keeps folders in TmpFS, which are named alike on
# all hosts.
CONFIGURATION = """
ClusterName=ferry
SlurmctldHost=h1(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
TmpFS={folder}/tmp.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=2 PreemptMode=OFF
"""


class Daemon:
    """A daemon that has said that it is up."""

    def __init__(self, command, up):
        self.said = []
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            self.said.append(line)
            if re.search(up, line):
                break
        else:
            raise AssertionError(f"{command} does not start:\n{''.join(self.said)}")
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stderr))
        self.reader.start()

    def stop(self):
        self.process.kill()  # of its pid namespace, which ends with it
        self.process.wait(timeout=SECONDS)
        self.reader.join()
        self.process.stderr.close()


class Slurm:
    def __init__(self, folder):
        self.daemons = []
        nodes = "".join(f"NodeName=h{host} NodeAddr=10.77.0.{host} CPUs=4\n" for host in range(1, HOSTS + 1))
        (folder / "slurm.conf").write_text(CONFIGURATION.format(folder=folder) + nodes)
        (folder / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={folder}/cgroup\n")  # none is used
        for name in ("state", *(f"{kind}.h{host}" for kind in ("spool", "tmp") for host in range(1, HOSTS + 1))):
            (folder / name).mkdir()
        key = folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
        files = [f"--{name}={folder}/munge.{name.split('-')[0]}" for name in ("socket", "key-file", "pid-file", "seed-file")]
        self.start(["munged", "--foreground", "--force", *files, f"--log-file={folder}/munge.log"], "work threads")
        self.start([NETNS, "on", "1", "slurmctld", "-D"], "Running as primary controller")
        for host in range(1, HOSTS + 1):
            self.start([NETNS, "on", str(host), "slurmd", "-D"], "slurmd started on")

    def start(self, command, up):
        self.daemons.append(Daemon(command, up))

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.stop()


def on_1(*words, **variables):
    """Exit code, stdout and stderr of a command on the first host. Slurm cannot bind more tasks than the host has cores."""
    variables = {"SLURM_CONF": os.environ["SLURM_CONF"], "SLURM_CPU_BIND": "none", **variables}
    done = subprocess.run([NETNS, "on", "1", *map(str, words)], capture_output=True, text=True, timeout=SECONDS, check=False,
                          stdin=subprocess.DEVNULL, env=tcp_job.environment(**variables), cwd=os.environ["NETNS_DIR"])
    return done.returncode, done.stdout, done.stderr


def bits(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.npy")}


class BySlurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(os.environ["NETNS_DIR"])
        slurm = Slurm(cls.folder)
        cls.addClassCleanup(slurm.stop)
        alone = cls.folder / "alone"
        assert on_1(FERRY, "run", GRAPH, "--tasks", 4, "--out", alone)[0] == 0
        cls.expected = bits(alone)
        assert cls.expected, "no output"

    def check_bits(self, *words, **variables):
        out = self.folder / self.id()
        code, said, errors = on_1(*words, "--out", out, "--stats", self.folder / "stats.json", **variables)
        self.assertEqual(code, 0, said + errors)
        self.assertEqual(json.loads((self.folder / "stats.json").read_text())["world"], 4)
        self.assertEqual(bits(out), self.expected)

    def test_srun_numbers_the_tasks_that_meet_over_tcp(self):
        self.check_bits("srun", "-N", 3, "-n", 4, FERRY, "run", GRAPH, "--transport", "tcp", MASTER_ADDR="10.77.0.1", MASTER_PORT="29500",
                        FERRY_SECRET="of jobs by slurm")

    def test_srun_numbers_the_tasks_that_meet_by_a_file(self):
        self.check_bits("srun", "-N", 3, "-n", 4, FERRY, "run", GRAPH, "--transport", "tcp", FERRY_RENDEZVOUS=f"file:{self.folder}/notice",
                        FERRY_SECRET="of jobs by slurm")
        self.assertFalse((self.folder / "notice").exists())

    def test_srun_starts_mpi(self):
        code, said, errors = on_1("srun", "--mpi=list")
        if "pmix" not in said + errors:
            self.skipTest("this SLURM has no PMIx")
        self.check_bits("srun", "--mpi=pmix", "-N", 3, "-n", 4, FERRY, "run", GRAPH)

    def test_srun_starts_tasks_that_meet_by_its_pmi(self):
        self.check_bits("srun", "--mpi=pmi2", "-N", 3, "-n", 4, FERRY, "run", GRAPH, "--transport", "tcp")

    def test_an_error_of_a_task_ends_the_others_by_pmi(self):
        one = f'[ $PMI_RANK = 1 ] && export FERRY_MPI=lam; exec {FERRY} run {GRAPH} --deadline 90'
        code, said, errors = on_1("srun", "--mpi=pmi2", "-N", 1, "-n", 4, "sh", "-c", one)
        self.assertNotEqual(code, 0)
        self.assertEqual(errors.count("FERRY_MPI=lam: no MPI that ferry knows"), 1, said + errors)
        self.assertNotIn("deadline", errors)

    def test_srun_starts_mpich(self):
        if shutil.which("mpiexec.mpich") is None:
            self.skipTest("there is no MPICH here")
        # On one node: hosts_test.py says what MPICH does between the namespaces.
        self.check_bits("srun", "--mpi=pmi2", "-N", 1, "-n", 4, FERRY, "run", GRAPH)

    def test_srun_starts_tasks_of_two_commands(self):
        words = [FERRY, "run", GRAPH, "--transport", "tcp"]
        first = [*words, "--out", self.folder / self.id(), "--stats", self.folder / "stats.json"]
        self.check_bits("salloc", "-N", 2, "--ntasks-per-node=2", "srun", "-N", 1, "-n", 2, *first, ":", "-N", 1, "-n", 2, *words,
                        FERRY_RENDEZVOUS=f"file:{self.folder}/notice", FERRY_SECRET="of jobs by slurm")

    def test_ferry_launch_in_an_allocation(self):
        self.check_bits("salloc", "-N", 2, "--ntasks-per-node=2", FERRY, "launch", FERRY, "run", GRAPH)

    def test_ferry_launch_in_a_heterogeneous_job(self):
        """Each component has nodes and numbers of tasks of its own."""
        self.check_bits("salloc", "-N", 1, "-n", 1, ":", "-N", 2, "-n", 3, FERRY, "launch", FERRY, "run", GRAPH)
        code, said, errors = on_1("salloc", "-N", 1, "-n", 1, ":", "-N", 2, "-n", 3, FERRY, "launch", "hostname")
        self.assertEqual((code, sorted(said.split("\n"))), (0, ["", "[0] h1", "[1] h2", "[2] h2", "[3] h3"]), errors)

    def test_an_array(self):
        folder = self.folder / self.id()
        script = f"{FERRY} launch {FERRY} run {GRAPH} --out {folder}/$SLURM_ARRAY_TASK_ID"
        number = self.ended("sbatch", "--parsable", "--array=0-2", "-N", 2, "-n", 4, "-o", f"{folder}.out", "--wrap", script).strip()
        self.await_said(Path(f"{folder}.out"), lambda said: not self.ended("squeue", "-h", "-j", number))
        self.assertEqual([bits(folder / str(i)) for i in range(3)], 3 * [self.expected])

    def test_a_job_that_is_preempted_twice_and_resized(self):
        """By deploy/slurm/train.sbatch. The first two starts are endless; files say how a start begins, and how many steps there are."""
        folder = self.folder / self.id()
        folder.mkdir()
        model = [f"{SAMPLES}/digits.pb", "--data", DATA, "--invariant=6", "--threads", 1]
        words = {"ferry launch": "$(cat start)", "ferry run model.pb": f"{FERRY} run {model[0]}", "--data data": " ".join(map(str, model[1:])),
                 "--epochs 90": "--steps $(cat steps) --print-every 1"}
        script = SCRIPT.read_text()
        for word, other in words.items():
            self.assertIn(word, script)
            script = script.replace(word, other)
        (folder / "train.sbatch").write_text(script)
        (folder / "steps").write_text("1000000000")
        launch = f"{FERRY} launch"
        by_mpi = "srun --mpi=pmix" if "pmix" in "".join(on_1("srun", "--mpi=list")[1:]) else launch
        (folder / "start").write_text(by_mpi)
        number = self.ended("sbatch", "--parsable", "-D", folder, "-o", folder / "out", folder / "train.sbatch").strip()
        for start, nodes in (launch, 3), (launch, 2):
            self.preempt(number, folder / "out")
            newest = max(int(path.name.split("-")[1]) for path in folder.glob("saved/step-*"))
            (folder / "start").write_text(start)
            self.ended("scontrol", "update", f"JobId={number}", f"NumNodes={nodes}-{nodes}", f"NumTasks={nodes}", "StartTime=now")
        (folder / "steps").write_text(str(newest + 100))
        self.await_said(folder / "out", lambda said: "COMPLETED" in self.state(number))
        self.ended(FERRY, "run", *model, "--tasks", 2, "--steps", newest + 100, "--save", folder / "undisturbed")
        weights = [{path.name: path.read_bytes() for path in (folder / name).glob("*.safetensors")} for name in ("trained", "undisturbed")]
        self.assertTrue(weights[0])
        self.assertEqual(*weights)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "there is one core here")
    def test_a_task_uses_the_cpus_that_slurm_gives_it(self):
        launch = [FERRY, "launch", "-n", 1]
        for cpus, words, variables in (
                (1, ["srun", "-n", 1, "--cpu-bind=cores"], {}), (2, ["srun", "-n", 1, "-c", 2, "--cpu-bind=cores"], {}), (2, ["srun", "-n", 1, "-c", 2], {}),
                (1, ["salloc", "-w", "h2", "-n", 1, *launch], {}), (2, ["salloc", "-w", "h2", "-n", 2, *launch], {}),
                (2, ["salloc", "-w", "h2", "-n", 2, *launch], {"SRUN_CPUS_PER_TASK": "1"}), (1, ["salloc", "-w", "h1", "-n", 1, *launch], {})):
            with self.subTest(words=words, **variables):
                self.check_cpus(cpus, self.ended(*words, FERRY, "doctor", "--json", **variables))
        out = self.folder / self.id()
        number = self.ended("sbatch", "--parsable", "-w", "h1", "-n", 1, "-o", out, "--wrap", f"{FERRY} launch -n 1 {FERRY} doctor --json 2>/dev/null").strip()
        self.await_said(out, lambda said: not self.ended("squeue", "-h", "-j", number))
        self.check_cpus(1, out.read_text())

    def check_cpus(self, cpus, said):
        """What `ferry doctor --json` says of its only task."""
        task = json.loads(said)["tasks"][0]
        self.assertEqual((len(task["cpu"]["mask"]), task["threads"]), (cpus, cpus))

    def ended(self, *words, **variables):
        """The output of a command that ends well."""
        code, said, errors = on_1(*words, **variables)
        self.assertEqual(code, 0, said + errors)
        return said

    def state(self, number):
        return re.search(r"JobState=(\S+)", self.ended("scontrol", "show", "job", number))[1]

    def await_said(self, file, holds):
        """Waits until this is true of what a job has written."""
        end = time.monotonic() + SECONDS
        while not holds(said := file.read_text() if file.exists() else ""):
            self.assertLess(time.monotonic(), end, said[-3000:])
            fault = re.search(r"(?m)^(\[[^]]*\] )?error: (?!stopped after |task \d on \S+ ended with exit code 75).*", said)
            self.assertIsNone(fault, said[-3000:])

    def preempt(self, number, file):
        """A job of another partition takes all nodes once this one has made a step, and is gone when it has been requeued."""
        before = len(file.read_text()) if file.exists() else 0
        self.await_said(file, lambda said: "step " in said[before:] or self.hurry(number))
        self.ended("srun", "-p", "urgent", "-N", HOSTS, "--exclusive", "true")
        self.await_said(file, lambda said: self.state(number) == "PENDING")
        # A node refuses to start a job in the second in which it ended the job: "Job 1 already killed, do not launch batch job".
        time.sleep(1 - time.time() % 1)

    def hurry(self, number):
        """Slurm delays a requeued job by two minutes, also after an update that came while the job was still ending."""
        on_1("scontrol", "update", f"JobId={number}", "StartTime=now")

    def test_slurm_stops_tasks_and_agents_and_the_job_saves(self):
        saved = self.folder / "saved"
        job = subprocess.Popen([NETNS, "on", "1", "salloc", "-N", "2", "--ntasks-per-node=1", FERRY, "launch", CHECKPOINT_JOB, "--steps", "1000000000",
                                "--checkpoint", saved], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env=tcp_job.environment(SLURM_CONF=os.environ["SLURM_CONF"]), cwd=self.folder)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.kill)
        said = ""
        for line in job.stdout:
            said += line
            if "[0] total: " in line:
                break
        number = re.search(r"Granted job allocation (\d+)", said)[1]
        self.assertEqual(on_1("scancel", "-s", "TERM", number), (0, "", ""), said[-3000:])
        said += job.communicate(timeout=SECONDS)[0]
        self.assertEqual(job.returncode, 75, said[-3000:])
        self.assertEqual(len(list(saved.glob("step-*"))), 1)

    def test_srun_alone_makes_no_job(self):
        code, _, errors = on_1("srun", "-N", 3, "-n", 4, FERRY, "run", GRAPH)
        self.assertEqual(code, 0, errors)
        self.assertEqual(errors.count("warning: srun starts this program 4 times"), 1)

    def test_ferry_launch_that_srun_starts_is_refused(self):
        code, said, errors = on_1("srun", "-N", 3, "-n", 4, FERRY, "launch", FERRY, "run", GRAPH)
        self.assertEqual((code, said), (2, ""))
        self.assertEqual(errors.count("error: ferry launch: srun starts it 4 times (SLURM_STEP_NUM_TASKS), and each would run the whole job"), 4)


def missing():
    return three_hosts.missing() or next((f"no {name} here" for name in DAEMONS if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")), None)


if __name__ == "__main__":
    sys.exit(three_hosts.main(lambda: unittest.main(argv=[sys.argv[0], *sys.argv[4:]]), "jobs by SLURM", missing))
