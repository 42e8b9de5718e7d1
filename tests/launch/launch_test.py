#!/usr/bin/env python3
"""Tests `ferry launch` on this host with commands of all kinds: launch_test.py FERRY"""
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import launched  # noqa: E402
import tcp_job  # noqa: E402

FERRY = sys.argv[1]


def launch(*words, **options):
    return launched.run(FERRY, *words, **options)


class Ends(unittest.TestCase):
    def test_all_is_well(self):
        self.assertEqual(launch("-n", 3, "true"), (0, "", ""))

    def test_the_first_failure_is_the_jobs(self):
        code, out, err = launch("-n", 3, "--", "sh", "-c", 'test $RANK = 1 && exit 7; exec sleep 1000')
        self.assertEqual((code, out), (7, ""))
        self.assertRegex(err, r"^error: task 1 on \S+ ended with exit code 7\n$")

    def test_a_killed_task(self):
        code, _, err = launch("-n", 2, "--", "sh", "-c", 'test $RANK = 1 && kill -9 $$; exec sleep 1000')
        self.assertEqual(code, 128 + 9)
        self.assertRegex(err, r"error: task 1 on \S+ was killed by signal 9 \(Killed\)")

    def test_others_end_though_they_would_not(self):
        script = 'trap "" TERM INT HUP; (setsid sleep 1000 &); sleep 1000 & test $RANK = 1 && exit 3; while :; do wait; done'
        with launched.Job(FERRY, "-n", 3, "--", "sh", "-c", script) as job:
            code, _ = job.end()
            self.assertEqual(code, 3)
            self.assertEqual(job.processes(), [])

    def test_ends_are_noticed_where_the_parent_ignores_them(self):
        done = subprocess.run(["sh", "-c", 'trap "" CHLD; exec "$0" launch -n 2 -- sh -c "exit 7"', FERRY], capture_output=True,
                              timeout=launched.SECONDS, check=False)
        self.assertEqual(done.returncode, 7)

    def test_children_from_before_stay(self):
        script = 'sleep 1000 >&2 & echo $!; exec "$0" launch -n 2 true'
        done = subprocess.run(["sh", "-c", script, FERRY], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=launched.SECONDS, check=False)
        os.kill(int(done.stdout.split()[0]), signal.SIGKILL)  # raises if it is gone
        self.assertEqual(done.returncode, 0)

    def test_the_command_is_looked_for_in_the_path_of_the_task(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink("/bin/echo", Path(folder) / "only-here")
            self.assertEqual(launch("-n", 1, "-x", f"PATH={folder}", "only-here", "found"), (0, "found\n", ""))

    def test_a_command_that_is_not_there(self):
        code, out, err = launch("-n", 2, "no-such-command")
        self.assertEqual((code, out), (2, ""))
        self.assertIn('cannot start "no-such-command": No such file or directory', err)

    def test_what_is_typed_wrong(self):
        for words, says in {("-n", "0", "true"): "-n,--tasks 0: not a whole number", ("-n", "2"): "ferry launch: no command",
                            ("--host", "a", "true"): "--hosts?", ("-n", "3", "--hosts", "localhost:2", "true"): "room for 2 tasks",
                            ("--hosts", "a", "--hostfile", "b", "true"): "exclude each other", ("-x", "NOT_SET_HERE", "true"): "it is not set here",
                            ("-x", "RANK=3", "true"): "-x RANK=3: ferry launch itself gives each task its RANK",
                            ("-x", "FERRY_RENDEZVOUS=file:/a/b", "true"): "-x FERRY_RENDEZVOUS: the tasks of ferry launch meet",
                            ("-n", "1", "--interface", "no-such", "true"): "interface 'no-such': this host has no such one\n  it has lo (127.0.0.1)"}.items():
            code, out, err = launch(*words)
            self.assertEqual((code, out), (2, ""), words)
            self.assertIn(says, err)

    def test_many_tasks_are_shown_by_host(self):
        done = subprocess.run([FERRY, "launch", "-n", "20", "true"], capture_output=True, text=True, check=True, timeout=60)
        self.assertRegex(done.stderr, r"\n  tasks  host +processes +cores\n  0-19 ")

    def test_one_launcher_is_enough(self):
        size = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
        code, out, err = launch("-n", 3, "echo", "a", env=dict(os.environ, **size))
        self.assertEqual((code, out), (2, ""))
        self.assertIn("error: ferry launch: mpirun starts it 2 times (OMPI_COMM_WORLD_SIZE), and each would run the whole job\n"
                      "  try: either alone: ferry launch -n 2 -- echo … or mpirun -n 2 echo …\n", err)
        step = {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4"}
        code, out, err = launch("-n", 3, "echo", "a", env=dict(os.environ, **step))
        self.assertEqual((code, out), (2, ""))
        self.assertIn("srun starts it 4 times (SLURM_STEP_NUM_TASKS)", err)
        tcp = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
        kubeflow = {"PET_NODE_RANK": "1", "PET_NNODES": "2", "PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": "1", "MASTER_ADDR": "h1"}
        for variable, others in ("WORLD_SIZE", tcp), ("PET_NNODES", kubeflow):
            code, out, err = launch("-n", 3, "echo", "a", env=dict(os.environ, **others))
            self.assertEqual((code, out), (2, ""))
            self.assertIn(f"error: ferry launch: another launcher starts it 2 times ({variable}), and each would run the whole job\n"
                          "  try: either alone: ferry launch -n 2 -- echo … or echo … by the other launcher\n", err)
        code, out, err = launch("-n", 2, "--", FERRY, "launch", "-n", 3, "echo", "a")
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn("another launcher starts it 2 times (WORLD_SIZE)", err)
        for alone in dict(size, OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="1"), dict(step, SLURM_PTY_PORT="40000"):
            self.assertEqual(launch("-n", 1, "echo", "a", env=dict(os.environ, **alone)), (0, "a\n", ""))

    def test_the_environment(self):
        code, out, _ = launch("-n", 2, "-x", "MINE=a b", "--", "sh", "-c",
                              'echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR $FERRY_RENDEZVOUS_SERVED "$MINE"; '
                              'test $MASTER_PORT -gt 0 && test ${#FERRY_SECRET} = 32', env=dict(os.environ, PMI_RANK="7"))
        self.assertEqual(code, 0)
        self.assertEqual(sorted(out.splitlines()), ["[0] 0 2 0 2 127.0.0.1 1 a b", "[1] 1 2 1 2 127.0.0.1 1 a b"])
        code, _, err = launch("-n", 1, "--", "sh", "-c", 'test -z "$PMI_RANK$FERRY_RENDEZVOUS"',
                              env=dict(os.environ, PMI_RANK="7", FERRY_RENDEZVOUS="file:/a/b"))
        self.assertEqual(code, 0, err)

    def test_the_doctor_sees_all_tasks(self):
        unlike = 'ulimit -n $((200 + RANK / 2)); exec "$0" doctor "$@"'
        code, out, err = launch("-n", 3, "--", "sh", "-c", unlike, FERRY)
        self.assertEqual(code, 0, err)
        for line in (r"\[0\] descriptors \* +tasks 0-1 +200", r"\[0\] +task 2 +201", r"\[0\] kernels +cpu.*", r"\[0\] job +3 tasks over tcp",
                     r"\[0\] \* differs between tasks", r"\[0\] ready for +one process, jobs over TCP.*",
                     r"\[0\] .* ulimit -n 1024 +# for large jobs over TCP"):
            self.assertEqual(len(re.findall(f"^{line}$", out, re.M)), 1, line + " in\n" + out)
        self.assertNotRegex(out, r"(?m)^\[[12]\]")
        code, out, err = launch("-n", 3, "--", "sh", "-c", unlike, FERRY, "--json")
        self.assertEqual(code, 0, err)
        found = json.loads(re.sub(r"(?m)^\[0\] ", "", out))
        self.assertEqual([task["descriptors"] for task in found["tasks"]], [200, 200, 201])
        self.assertEqual(found["differ"], ["descriptors"])
        self.assertEqual(found["suggestions"][0], {"command": "ulimit -n 1024", "purpose": "for large jobs over TCP"})
        congestion = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
        self.assertEqual({task["tcp"] for task in found["tasks"]}, {congestion})

    def test_words_are_the_commands_own(self):
        self.assertEqual(launch("-n", 1, "--", "sh", "-c", "[ -d / ]")[0], 0)
        self.assertEqual(launch("-n1", "printf", "%s,", "-n", "[a,b]", "--", "run", "")[1], "-n,[a,b],--,run,,")
        self.assertEqual(launch("-ppn", 2, "echo", "-n")[:2], (0, ""))
        self.assertEqual(sorted(launch("-np", 2, "echo", "-np")[1].splitlines()), ["[0] -np", "[1] -np"])


class Output(unittest.TestCase):
    def test_lines_have_numbers(self):
        code, out, err = launch("-n", 2, "--", "sh", "-c", 'printf "a\\nb"; printf "c\\nd" >&2')
        self.assertEqual(code, 0)
        self.assertEqual(sorted(out.splitlines()), ["[0] a", "[0] b", "[1] a", "[1] b"])
        self.assertEqual(sorted(err.splitlines()), ["[0] c", "[0] d", "[1] c", "[1] d"])

    def test_a_single_task_writes_as_it_does(self):
        self.assertEqual(launch("-n", 1, "--", "printf", "a\\nb"), (0, "a\nb", ""))

    def test_much_output_stays_whole(self):
        script = 'i=0; while [ $i -lt 3000 ]; do printf "%s line %s " $RANK $i; printf "%0300d\\n" $i; i=$((i+1)); done'
        code, out, _ = launch("-n", 3, "--", "sh", "-c", script)
        self.assertEqual(code, 0)
        for task in range(3):
            lines = [line for line in out.splitlines() if line.startswith(f"[{task}] ")]
            self.assertEqual(lines, [f"[{task}] {task} line {i} {i:0300}" for i in range(3000)])

    def test_lines_of_both_streams_in_one_place(self):
        script = 'i=0; while [ $i -lt 300 ]; do printf "o%06000d\\n" $i; printf "e%0100d\\n" $i >&2; i=$((i+1)); done'
        done = subprocess.run([FERRY, "launch", "-n", "2", "--", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=launched.SECONDS, check=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
        self.assertEqual(sorted(lines), sorted(f"[{task}] {line}" for task in range(2) for i in range(300)
                                               for line in (f"o{i:06000}", f"e{i:0100}")))

    def test_a_very_long_line(self):
        code, out, _ = launch("-n", 2, "--", "sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x")
        self.assertEqual(code, 0)
        for task in range(2):
            self.assertEqual("".join(line[4:] for line in out.splitlines() if line.startswith(f"[{task}] ")), "x" * 200000)

    def test_nobody_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            script = f"yes | head -c 3000000; touch {folder}/$RANK"
            launcher = subprocess.Popen([FERRY, "launch", "-n", "2", "--", "sh", "-c", script], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            launcher.stdout.close()
            _, err = launcher.communicate(timeout=launched.SECONDS)
            self.assertEqual(launcher.returncode, 0)
            self.assertIn(b"warning: stdout: Broken pipe", err)
            self.assertEqual(sorted(os.listdir(folder)), ["0", "1"])


    def test_closed_descriptors(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            done = subprocess.run(["sh", "-c", f'"$0" launch -n 2 echo hello {closed}', FERRY], capture_output=True, text=True,
                                  timeout=launched.SECONDS, check=False)
            self.assertEqual(done.returncode, 0, closed)
            self.assertEqual(sorted(done.stdout.splitlines()), [] if ">&- 2" in closed or closed == ">&-" else ["[0] hello", "[1] hello"])


class Input(unittest.TestCase):
    def test_it_goes_to_task_0(self):
        self.assertEqual(launch("-n", 2, "cat", input=b"hello\n"), (0, "[0] hello\n", ""))

    def test_all_of_it(self):
        much = os.urandom(3_000_000)
        self.assertEqual(launch("-n", 2, "--", "sh", "-c", "test $RANK = 1 || sha256sum", input=much)[1],
                         f"[0] {hashlib.sha256(much).hexdigest()}  -\n")

    def test_nobody_wants_it(self):
        self.assertEqual(launch("-n", 2, "true", input=b"x" * 3_000_000)[0], 0)


class Signals(unittest.TestCase):
    def test_signals_of_the_users_reach_all_tasks(self):
        with launched.Job(FERRY, "-n", 2, "--", "sh", "-c", 'trap "exit 0" USR1; echo up; while :; do sleep 1000 & wait; done') as job:
            job.await_line(r"^\[\d\] up$", 2)
            job.send(signal.SIGUSR1)
            self.assertEqual(job.end()[0], 0)
            self.assertEqual(job.processes(), [])

    def test_a_job_that_does_not_stop_is_killed(self):
        with launched.Job(FERRY, "-n", 2, "--grace", "0.1", "--", "sh", "-c", 'trap "" TERM; echo up; sleep 1000') as job:
            job.await_line(r"^\[\d\] up$", 2)
            job.send(signal.SIGTERM)
            job.expect_killed()


class Ssh(unittest.TestCase):
    """By a program that stands for ssh."""
    REFUSED = "ssh: connect to host h9 port 22: Connection refused"

    def launch(self, *words, fails, runs='for word; do :; done; SSH_CONNECTION="127.0.0.1 1 127.0.0.1 22" exec sh -c "$word"', hosts="h9"):
        """The job's end, and how often each host was tried. `fails`: what ssh does at the first try."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "ssh").write_text(f'#!/bin/sh\necho >>{folder}/$6\ntest $(wc -l <{folder}/$6) -gt 1 || {{ {fails}; }}\n{runs}\n')
            Path(folder, "ssh").chmod(0o755)
            end = launch("--ssh", f"{folder}/ssh", "--hosts", hosts, *words, env=tcp_job.environment())
            return end, [Path(folder, host).read_text().count("\n") for host in hosts.split(",")]

    def test_a_host_that_is_not_there_yet_is_tried_again(self):
        for said in (self.REFUSED, "ssh: Could not resolve hostname h9: Name or service not known", "ssh: connect to host h9 port 22: No route to host"):
            (code, out, err), tries = self.launch("echo", "$RANK", "here", fails=f'echo "{said}" >&2; exit 255', hosts="h8,h9")
            self.assertEqual((code, tries), (0, [2, 2]), err)
            self.assertEqual(sorted(out.splitlines()), ["[0] $RANK here", "[1] $RANK here"])
            self.assertRegex(err, rf"^warning: host h[89] \(--hosts\) cannot be reached by ssh yet: {said}; "
                                  r"ferry tries again until --deadline \(60 s\)\n$")

    def test_until_the_deadline(self):
        refused = f'echo "{self.REFUSED}" >&2; exit 255'
        (code, out, err), [tries] = self.launch("--deadline", 1.5, "true", fails=refused, runs=refused)
        self.assertEqual((code, out), (5, ""))
        self.assertIn(tries, (1, 2))  # on a busy machine one
        self.assertEqual(err, f"warning: host h9 (--hosts) cannot be reached by ssh yet: {self.REFUSED}; "
                              "ferry tries again until --deadline (1.5 s)\n"
                              f"error: host h9 (--hosts): it cannot be reached by ssh: {self.REFUSED}\n"
                              "  try: a longer --deadline, or ssh h9 true\n")

    def test_other_failures_are_final(self):
        (code, _, err), tries = self.launch("true", fails='echo "h9: Permission denied (publickey)." >&2; exit 255')
        self.assertEqual((code, tries), (5, [1]))
        self.assertIn("error: host h9 (--hosts): it cannot be reached by ssh: h9: Permission denied (publickey).\n"
                      "  try: ssh h9 must work without a password", err)

    def test_a_signal_ends_the_tries(self):
        with launched.Job(FERRY, "--hosts", "no-such-host.invalid", "--deadline", 300, "true") as job:
            job.await_line("^warning: host no-such-host")
            job.send(signal.SIGTERM)
            code, out = job.end()
            self.assertEqual(code, 130)
            self.assertIn("no task was started", out)


class Hostfiles(unittest.TestCase):
    """Named by the variables of MPI."""
    OPEN_MPI, INTEL, MPICH = "OMPI_MCA_orte_default_hostfile", "I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = f"{folder.name}/hostfile"
        Path(self.file).write_text("localhost slots=3\n")

    def tasks(self, *words, **variables):
        """Exit code, how many tasks ran, and stderr."""
        code, out, err = launch(*words, "echo", "up", env=tcp_job.environment(**variables))
        return code, out.count("up"), err

    def test_each_is_read(self):
        for variable in (self.OPEN_MPI, self.INTEL, self.MPICH):
            self.assertEqual(self.tasks(**{variable: self.file}), (0, 3, ""))
        self.assertEqual(self.tasks(**{self.INTEL: self.file, self.MPICH: self.file}), (0, 3, ""))

    def test_options_come_first_and_an_allocation_last(self):
        self.assertEqual(self.tasks("--hosts", "localhost:2", **{self.OPEN_MPI: "/no/such/file"}), (0, 2, ""))
        self.assertEqual(self.tasks("--hostfile", self.file, **{self.OPEN_MPI: "/no/such/file"}), (0, 3, ""))
        self.assertEqual(self.tasks("-n", 2, **{self.OPEN_MPI: self.file, "SLURM_JOB_NODELIST": "node1"})[:2], (0, 2))

    def test_what_is_wrong(self):
        code, tasks, err = self.tasks(**{self.OPEN_MPI: self.file, self.MPICH: "/b"})
        self.assertEqual((code, tasks), (2, 0))
        self.assertEqual(err, f'error: {self.OPEN_MPI} names the hostfile "{self.file}", {self.MPICH} names "/b"\n'
                              "  try: --hostfile FILE, or unset one of the two\n")
        code, tasks, err = self.tasks(**{self.MPICH: "/no/such/file"})
        self.assertEqual((code, tasks), (3, 0))
        self.assertIn("/no/such/file", err)
        self.assertIn("HYDRA_HOST_FILE", err)


class Slurm(unittest.TestCase):
    """In an allocation whose nodes are this host, reached by a program that stands for srun."""

    def launch(self, *words, counts="2,1", srun='shift 6; SLURM_LAUNCH_NODE_IPADDR=127.0.0.1 exec "$@"', nodes="node[07-08]", **variables):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "srun").write_text(f'#!/bin/sh\necho "$*" >>{folder}/called\n{srun}\n')
            Path(folder, "srun").chmod(0o755)
            env = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", SLURM_JOB_NODELIST=nodes, SLURM_TASKS_PER_NODE=counts,
                       SSH_CONNECTION="192.0.2.1 1 192.0.2.2 22", **variables)
            end = launch(*words, env=env)
            called = Path(folder, "called")
            return end, called.read_text() if called.exists() else ""

    def test_tasks_go_to_its_nodes(self):
        script = 'echo $RANK of $WORLD_SIZE at $MASTER_ADDR, $LOCAL_RANK of $LOCAL_WORLD_SIZE'
        (code, out, err), called = self.launch("--", "sh", "-c", script)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()), ["[0] 0 of 3 at 127.0.0.1, 0 of 2", "[1] 1 of 3 at 127.0.0.1, 1 of 2",
                                                    "[2] 2 of 3 at 127.0.0.1, 0 of 1"])
        lines = [f"--nodes=1 --ntasks=1 --overlap --cpu-bind=none --unbuffered --nodelist=node0{n} {os.path.realpath(FERRY)} launch --agent"
                 for n in (7, 8)]
        self.assertEqual(sorted(called.splitlines()), lines)

    def test_a_step_is_not_limited_to_the_cpus_of_one_task(self):
        limits = {name: "1" for name in ("SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK", "SLURM_CPUS_PER_GPU", "SLURM_TRES_PER_TASK", "SLURM_EXACT",
                                         "SLURM_EXCLUSIVE", "SLURM_HINT")}
        shows = 'echo "CPUs:$SLURM_CPUS_PER_TASK$SRUN_CPUS_PER_TASK$SLURM_CPUS_PER_GPU$SLURM_TRES_PER_TASK$SLURM_EXACT$SLURM_EXCLUSIVE$SLURM_HINT." >&2'
        (code, _, err), _ = self.launch("true", srun=f"{shows}; exit 1", **limits)
        self.assertEqual(code, 5)
        self.assertIn("srun cannot start ferry there: CPUs:.\n", err)

    def test_srun_starts_tasks_on_this_host_unless_a_step_of_the_job_does(self):
        own = socket.gethostname()
        for variables, by_srun in ({}, 1), ({"SLURMD_NODENAME": own}, 0):
            (code, out, err), called = self.launch("echo", "up", nodes=own, counts="2", **variables)
            self.assertEqual((code, out.count("up"), err), (0, 2, ""))
            self.assertEqual(called.count("--overlap"), by_srun)

    def test_what_srun_says_of_binding_is_left_out(self):
        noise = "echo srun: cluster configuration lacks support for cpu binding >&2"
        (code, out, err), _ = self.launch("echo", "up", srun=f'{noise}; shift 6; SLURM_LAUNCH_NODE_IPADDR=127.0.0.1 exec "$@"')
        self.assertEqual((code, out.count("up"), err), (0, 3, ""))
        (code, _, err), _ = self.launch("true", srun=f"echo srun: error: node07 is down >&2; {noise}; exit 1")
        self.assertEqual(code, 5)
        self.assertIn("srun cannot start ferry there: srun: error: node07 is down\n", err)

    def test_how_many_may_be_said(self):
        (code, out, err), _ = self.launch("-n", 2, "--", "sh", "-c", "echo $RANK")
        self.assertEqual((code, sorted(out.split()), err), (0, ["0", "1", "[0]", "[1]"], ""))
        (code, _, err), _ = self.launch("-n", 4, "true")
        self.assertEqual(code, 2)
        self.assertIn("the hosts have room for 3 tasks: node07:2, node08:1", err)

    def test_other_hosts_may_be_named(self):
        (code, out, _), called = self.launch("--hosts", "localhost:2", "--", "sh", "-c", "echo here")
        self.assertEqual((code, out.count("here"), called), (0, 2, ""))

    def test_srun_fails(self):
        (code, _, err), _ = self.launch("true", srun="echo srun: error: node07 is down >&2; exit 1")
        self.assertEqual(code, 5)
        self.assertRegex(err, r"error: host node0[78] \(SLURM_JOB_NODELIST\): srun cannot start ferry there: srun: error: node07 is down\n"
                              r"  try: srun --overlap --nodelist=node0[78] true; or --ssh ssh\n")

    def test_what_cannot_be_read(self):
        for nodes, counts, says in (("node[1", "1", "SLURM_JOB_NODELIST=node[1: '[' without ']'"),
                                    ("node[1-2]", "3", "SLURM_TASKS_PER_NODE=3: 1 counts for 2 nodes"),
                                    ("node1", "x", "SLURM_TASKS_PER_NODE=x: ")):
            (code, _, err), _ = self.launch("true", nodes=nodes, counts=counts)
            self.assertEqual(code, 2)
            self.assertIn(says, err)


class Restarts(unittest.TestCase):
    def counted(self, script, *words):
        """The job's end, and how often it was started."""
        with tempfile.TemporaryDirectory() as folder:
            starts = Path(folder) / "starts"
            end = launch("-n", 1, "--restart-wait", 0.001, *words, "--", "sh", "-c", f"echo >>{starts}; n=$(wc -l <{starts}); {script}")
            return end, starts.read_text().count("\n")

    def test_until_it_succeeds(self):
        (code, _, err), starts = self.counted("test $n = 3 || exit 5", "--restarts", 5)
        self.assertEqual((code, starts), (0, 3))
        self.assertIn("the job starts again in 0.002 s: restart 2 of 5", err)

    def test_a_signal_ends_the_wait(self):
        with launched.Job(FERRY, "-n", 2, "--restarts", 3, "--restart-wait", 300, "--", "sh", "-c", "echo error: no luck >&2; exit 5") as job:
            job.await_line(r"^warning: the job starts again in 300 s: restart 1 of 3$")
            job.await_line(r"^error: task [01] on \S+ ended with exit code 5: no luck$")
            job.send(signal.SIGUSR1)
            job.send(signal.SIGTERM)
            code, out = job.end()
            self.assertEqual(code, 130)
            self.assertRegex(out.splitlines()[-1], r"^stopped by signal 15 \(Terminated\) before restart 1 of 3 of a job that had failed: "
                                                   r"task [01] on \S+ ended with exit code 5: no luck; exit code 130$")

    def test_no_more_than_said(self):
        self.assertEqual(self.counted("kill -9 $$", "--restarts", 2)[0][0], 137)
        self.assertEqual(self.counted("exit 5", "--restarts", 2)[1], 3)
        self.assertEqual(self.counted("exit 5")[1], 1)

    def test_not_where_it_cannot_help(self):
        for code in (2, 3, 4, 75, 130):
            end, starts = self.counted(f"exit {code}", "--restarts", 5)
            self.assertEqual((end[0], starts), (code, 1))

    def test_each_start_has_a_secret_of_its_own(self):
        end, starts = self.counted("echo $FERRY_SECRET; exit 5", "--restarts", 1)
        self.assertEqual((starts, len(set(end[1].split()))), (2, 2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
