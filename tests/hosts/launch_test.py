#!/usr/bin/env python3
"""`ferry launch` over three hosts by ssh, the hosts being network namespaces of this machine: launch_test.py FERRY SAMPLES_FOLDER

Needs what hosts_test.py does; ends with 77, skipped, where it is missing.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "support")]
import launched  # noqa: E402
from hosts_test import ring  # noqa: E402
import tcp_job  # noqa: E402
import three_hosts  # noqa: E402
from three_hosts import NETNS  # noqa: E402

FERRY, SAMPLES = map(os.path.abspath, sys.argv[1:3])
ON_1 = [NETNS, "on", "1", FERRY]
HOSTS = "10.77.0.1:2,10.77.0.2,10.77.0.3"
DIGITS = ["run", f"{SAMPLES}/digits.pb", "--data", Path(__file__).resolve().parents[2] / "samples" / "data"]
FASHION = Path("/usr/share/datasets/fashion-mnist")
STUBBORN = 'trap "" TERM HUP; (setsid sleep 1000 &); sleep 1000 & echo up; while :; do wait; done'


def with_ssh(words):
    return ["--ssh", subprocess.run([NETNS, "ssh"], capture_output=True, text=True, check=True).stdout.strip(), *words]


def launch(*words):
    return launched.run(ON_1, *with_ssh(words))


class HostsJob(launched.Job):
    """All in the test's pid namespace that belongs to a launcher, which is told by its words, as ssh passes no variables."""

    def __init__(self, *words):
        super().__init__(ON_1, *with_ssh(["-x", "FERRY_TEST_JOB", *words]))

    def processes(self):
        return sorted({*super().processes(), *with_words(b"launch", b"--agent")})


def with_words(*wanted):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if all(word in words for word in wanted):
            found.append(int(name))
    return found


def process_of_task(task, job):
    """The process id of `ferry run` of this task."""
    [process] = [p for p in job.processes() if b"RANK=%d" % task in Path(f"/proc/{p}/environ").read_bytes().split(b"\0") and
                 b"run" in Path(f"/proc/{p}/cmdline").read_bytes().split(b"\0")[1:2]]
    return process


class Stopped(unittest.TestCase):
    def test_a_task_beside_another_of_its_host(self):
        graph = Path(os.environ["NETNS_DIR"]) / "four.pbtxt"
        graph.write_text(ring(4, 1000))
        with HostsJob("--hosts", "10.77.0.1:2,10.77.0.2:2", "--", FERRY, "run", graph, "--steps", "1000000000", "--print-every", "10") as job:
            job.await_line(r"^\[0\] step ")
            os.kill(process_of_task(3, job), signal.SIGSTOP)
            code, out = job.end()
            self.assertEqual(code, 6, out)
            self.assertRegex(out, r"(?m)^\[\d\] error: task 3 \(host h2, process \d+\) (was stopped|cannot be heard .* but other tasks of host h2 can)")
            self.assertEqual(out.count("] error: "), 1, out)
            job.await_all_gone()


class Firewall(unittest.TestCase):
    def test_one_that_lets_no_udp_through(self):
        subprocess.run([NETNS, "drop", "1", "ip protocol udp"], check=True)
        try:
            with HostsJob("--hosts", "10.77.0.1,10.77.0.2,10.77.0.3", "--", FERRY, "run", f"{SAMPLES}/add.pb", "--steps", "1000000000",
                          "--print-every", "1000") as job:
                job.await_line(r"^\[0\] warning: tasks 1 and 2 cannot be heard over UDP")
                job.await_line(r"^\[0\] step ", job.said.count(b"[0] step ") + 2)
                self.assertNotIn(b"error: ", job.said)
        finally:
            subprocess.run([NETNS, "heal", "1"], check=True)


    def test_one_that_forgets_a_connection(self):
        for host in "123":  # the system gives up after seconds, not a quarter of an hour
            subprocess.run(["ip", "netns", "exec", f"h{host}", "sysctl", "-qw", "net.ipv4.tcp_retries2=3"], check=True)
        graph = Path(os.environ["NETNS_DIR"]) / "ring.pbtxt"
        graph.write_text(ring(three_hosts.HOSTS, 1000))
        with HostsJob("--hosts", "10.77.0.1,10.77.0.2,10.77.0.3", "--", FERRY, "run", graph, "--steps", "1000000000",
                         "--print-every", "10", "--deadline", "600") as job:
            job.await_line(r"^\[0\] step ")
            subprocess.run([NETNS, "drop", "3", "ip protocol tcp ip saddr 10.77.0.2"], check=True)
            try:
                code, out = job.end()
            finally:
                subprocess.run([NETNS, "heal", "3"], check=True)
        self.assertEqual(code, 5, out)
        [said] = re.findall(r"(?m)^\[\d\] error: (.*)\n\[\d\]   try: check the network between the two", out)
        self.assertEqual(out.count("] error: "), 1, out)
        self.assertRegex(said, r"^the connection from task ([12]) \(host h\d, process \d+\) to task (?!\1)[12] \(host h\d, process \d+\) is "
                               r"lost: 10\.77\.0\.[23]:\d+ does not answer 10\.77\.0\.[23]:\d+: Connection timed out$")


class Meeting(unittest.TestCase):
    """Jobs by hand, with RANK, WORLD_SIZE and MASTER_ADDR, on hosts whose /etc/hosts are the test's."""
    ADD = ["run", f"{SAMPLES}/add.pb"]

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def names(self, host, text):
        """The file that will be /etc/hosts there."""
        path = self.folder / f"hosts{host}"
        path.write_text(text, encoding="ascii")
        return path

    def start(self, rank, *before, master, size=2, words=()):
        env = tcp_job.environment(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR=master, MASTER_PORT="29500", FERRY_SECRET="of the hosts of a test")
        task = subprocess.Popen([*before, FERRY, *self.ADD, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(task.stdout.close)
        self.addCleanup(task.stderr.close)
        self.addCleanup(task.kill)
        return task

    @staticmethod
    def on(host, names):
        return [NETNS, "on", str(host), "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', names]

    def ends(self, tasks, code):
        said = [task.communicate(timeout=launched.SECONDS) for task in tasks]
        self.assertEqual([task.returncode for task in tasks], [code] * len(tasks), said)
        return said

    def test_a_name_that_is_loopback_on_its_own_host(self):
        names = {1: self.names(1, "127.0.0.1 localhost\n127.0.1.1 node1\n"), 2: self.names(2, "10.77.0.1 node1\n")}
        short = ["--deadline", "1"]
        (_, on_1), (_, on_2) = self.ends([self.start(rank, *self.on(rank + 1, names[rank + 1]), master="node1", words=short) for rank in (0, 1)], 6)
        self.assertIn("[task 0] error: rendezvous: task 1 of 2 did not come before the deadline\n[task 0]   task 0 listens at 127.0.1.1:29500, as "
                      "node1 is 127.0.1.1 there: tasks on other hosts do not reach that\n", on_1)
        self.assertIn("or task 0 has --interface NAME", on_1)
        self.assertIn("[task 1] error: rendezvous at node1:29500: nobody listens there: Connection refused\n[task 1]   node1 is 10.77.0.1 here\n", on_2)
        self.assertIn("where node1 is loopback on its own host (/etc/hosts), task 0 takes --interface NAME", on_2)
        # The other task of its host finds it, too.
        tasks = [self.start(rank, *self.on(host, names[host]), master="node1", size=3, words=words)
                 for rank, host, words in ((0, 1, ["--interface", "eth0"]), (1, 1, []), (2, 2, []))]
        self.assertIn("c = [11 22 33]", self.ends(tasks, 0)[0][0])

    def test_an_address_that_reaches_its_own_host_alone(self):
        names = self.names(2, "127.0.0.1 localhost\n")
        [(_, err)] = self.ends([self.start(1, *self.on(2, names), master="localhost", words=["--deadline", "0.2"])], 6)
        self.assertIn("[task 1]   localhost is 127.0.0.1 here, which reaches this host alone\n", err)
        self.assertIn("MASTER_ADDR is its address in the network between the hosts", err)

    def test_a_name_that_is_known_later(self):
        names = {host: self.names(host, "127.0.0.1 localhost\n") for host in (1, 2)}
        tasks = [self.start(rank, *self.on(host, names[host]), master="later", size=3) for rank, host in ((0, 1), (1, 2), (2, 2))]
        for task in tasks:
            self.assertIn("rendezvous at later:29500: the host is not known yet; ferry looks it up until the deadline", task.stderr.readline())
        for path in names.values():
            with path.open("a") as file:
                file.write("10.77.0.1 later\n")
        self.assertIn("c = [11 22 33]", self.ends(tasks, 0)[0][0])

    def test_a_name_that_moves_to_another_host(self):
        """As the name of pod 0 does when Kubernetes has replaced it: nobody answers at the old address."""
        subprocess.run([NETNS, "drop", "3", "tcp dport 29500"], check=True)
        self.addCleanup(subprocess.run, [NETNS, "heal", "3"], check=True)
        names = self.names(2, "10.77.0.3 moves\n")
        tasks = [self.start(1, *self.on(2, names), master="moves", size=3)]
        old = "03004D0A:733C 02"  # 10.77.0.3:29500, to which a connection is being made
        end = time.monotonic() + launched.SECONDS
        while old not in subprocess.run(["ip", "netns", "exec", "h2", "cat", "/proc/net/tcp"], capture_output=True, text=True, check=True).stdout:
            self.assertLess(time.monotonic(), end)
        names.write_text("10.77.0.1 moves\n")
        tasks += [self.start(rank, *self.on(host, names), master="moves", size=3) for rank, host in ((0, 1), (2, 3))]
        self.assertIn("c = [11 22 33]", self.ends(tasks, 0)[1][0])

    def test_a_host_without_ipv4(self):
        names = self.names(0, "127.0.0.1 localhost\n::1 localhost\n")
        script = ('mount --bind "$0" /etc/hosts && ip link set lo up && ip addr del 127.0.0.1/8 dev lo && for master in localhost "[::1]" ::1; do '
                  'for rank in 2 1 0; do RANK=$rank WORLD_SIZE=3 MASTER_ADDR=$master MASTER_PORT=29500 "$@" & done; wait; done; '
                  'for rank in 2 1 0; do RANK=$rank WORLD_SIZE=3 FERRY_RENDEZVOUS=file:$0.place "$@" & done; wait; "$1" launch -n 3 -- "$@"; '
                  '"$1" launch --hosts [::1]:3 -- "$@"')
        done = subprocess.run(["unshare", "--net", "--mount", "sh", "-c", script, names, FERRY, *self.ADD], env=tcp_job.environment(),
                              capture_output=True, text=True, timeout=launched.SECONDS, check=False)
        self.assertEqual(done.stdout.count("c = [11 22 33]"), 6, done)
        self.assertEqual(launched.without_table(done.stderr), "", done)
        self.assertRegex(done.stderr, r"its tasks meet at \[::1\]:\d+\n")

    def test_addresses_of_this_host_need_no_ssh(self):
        code, out, err = launched.run(ON_1, "--ssh", "false", "--hosts", "10.77.0.1,h1,127.0.0.1", "--", "hostname")
        self.assertEqual((code, sorted(out.splitlines())), (0, ["[0] h1", "[1] h1", "[2] h1"]), err)


class Links(unittest.TestCase):
    """Training over three hosts while the link between the second and the third is cut, or loses packets."""
    CUT = {"2": "ip saddr 10.77.0.3", "3": "ip saddr 10.77.0.2"}  # what a host drops

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(self.heal)
        self.folder = Path(folder.name)

    def drop(self, rules):
        for host, rule in rules.items():
            subprocess.run([NETNS, "drop", host, rule], check=True)

    def heal(self):
        for host in "123":
            subprocess.run([NETNS, "heal", host], check=True)

    def train(self, steps, *words):
        return HostsJob("--hosts", "10.77.0.1,10.77.0.2,10.77.0.3", "--", FERRY, *DIGITS, "--steps", steps, "--print-every", 5, *words)

    @staticmethod
    def resent():
        """How many segments the two hosts have had to send again."""
        def of_host(host):
            said = subprocess.run(["ip", "netns", "exec", host, "cat", "/proc/net/snmp"], capture_output=True, text=True, check=True).stdout
            names, values = [line.split() for line in said.splitlines() if line.startswith("Tcp:")]
            return int(values[names.index("RetransSegs")])
        return of_host("h2") + of_host("h3")

    def trains_alike(self, steps, while_it_runs):
        alone = subprocess.run(list(map(str, [FERRY, *DIGITS, "--steps", steps, "--tasks", 3, "--threads", 1, "--save",
                                              self.folder / "alone"])), check=True, capture_output=True, text=True, timeout=launched.SECONDS)
        resent = self.resent()
        with self.train(steps, "--threads", 1, "--save", self.folder / "there") as job:
            job.await_line(r"^\[0\] step ")
            while_it_runs(job)
            code, out = job.end()
            self.assertEqual(code, 0, out)
            job.await_all_gone()
        self.assertGreater(self.resent(), resent)  # else nothing was lost
        self.assertNotIn("error: ", out)
        self.assertNotRegex(out, "cannot be heard|is cut|cut off|is lost|is gone|was stopped|failed first")
        for pair in re.findall(r"the link from task (\d) .* to task (\d) .* is slow", out):
            self.assertEqual(sorted(pair), ["1", "2"], out)
        self.assertRegex(out, rf"(?m)^\[0\] step {steps}\b")
        results = re.findall(r"(?m)^\w+ = .*$", alone.stdout)
        self.assertTrue(results, alone.stdout)
        self.assertEqual(re.findall(r"(?m)^\[(\d)\] (\w+ = .*)$", out), [("0", line) for line in results])
        weights = [sorted((path.name, path.read_bytes()) for path in (self.folder / which).rglob("*.safetensors")) for which in ("alone", "there")]
        self.assertTrue(weights[0])
        self.assertEqual(*weights)

    def ends(self, rules, pattern):
        with self.train(1000000000) as job:
            job.await_line(r"^\[0\] step ")
            self.drop(rules)
            code, out = job.end()
            self.assertEqual(code, 5, out)
            self.assertRegex(out, r"(?m)^\[\d\] error: " + pattern)
            self.assertEqual(out.count("] error: "), 1, out)
            job.await_all_gone()

    def test_064_one_that_is_cut(self):
        self.ends(self.CUT, r".*the link (from|between) host.* h[23] (to|and) host h[23] is cut")

    def test_064_a_worker_is_cut_off(self):
        """Asynchronous training continues without it."""
        if not FASHION.exists():
            self.skipTest(f"{FASHION} is missing")
        words = ["run", f"{SAMPLES}/async_server.pb", "--data", FASHION, "--jobs", "ps=0,worker=1-2", "--steps", 1000, "--print-every", 5]
        with HostsJob("--hosts", "10.77.0.1,10.77.0.2,10.77.0.3", "--go-on", "--grace", 1, "--", FERRY, *words, "--record-turns",
                      self.folder / "turns", "--save", self.folder / "there") as job:
            job.await_line(r"^\[0\] step ")
            self.drop({"1": "ip saddr 10.77.0.3", "2": "ip saddr 10.77.0.3", "3": "ip saddr 10.77.0.0/24"})
            code, out = job.end()
        self.assertEqual(code, 0, out)
        [why] = re.findall(r"(?m)^\[0\] warning: the job continues without task 2 \(host h3, process \d+\): (.*)", out)
        self.assertRegex(why, r"task 2 of host h3 cannot be heard for \S+ s: it was stopped \(SIGSTOP or Ctrl-Z\), or the host or its network is down")
        self.assertRegex(out, r"(?m)^warning: host 10\.77\.0\.3 .*; the job has gone on$")
        self.assertRegex(out, r"(?m)^\[0\] step 1000/1000")
        again = subprocess.run(list(map(str, [FERRY, *words, "--tasks", 3, "--threads", 1, "--replay-turns", self.folder / "turns", "--save",
                                              self.folder / "again"])), check=True, capture_output=True, text=True, timeout=launched.SECONDS)
        self.assertEqual(again.stderr, "")
        weights = [sorted((path.name, path.read_bytes()) for path in (self.folder / which).rglob("*.safetensors")) for which in ("there", "again")]
        self.assertTrue(weights[0])
        self.assertEqual(*weights)

    def test_065_one_that_is_cut_for_a_moment(self):
        def moment(job):
            self.drop(self.CUT)
            job.read_for(0.7)
            self.heal()
        self.trains_alike(400, moment)

    def test_066_one_that_loses_packets(self):
        self.trains_alike(200, lambda job: self.drop({"2": "ip saddr 10.77.0.3 numgen random mod 100 < 5"}))

    def test_067_one_that_is_cut_one_way(self):
        self.ends({"3": self.CUT["3"]}, r".*the link from host h2 to host h3 is cut")

    def test_069_the_task_where_others_met_is_killed(self):
        with self.train(1000000000) as job:
            job.await_line(r"^\[0\] step ")
            os.kill(process_of_task(0, job), signal.SIGKILL)
            code, out = job.end()
            self.assertEqual(code, 137, out)
            self.assertRegex(out, r"error: task 0 on 10\.77\.0\.1 was killed by signal 9")
            job.await_all_gone()


class Hosts(unittest.TestCase):
    def tearDown(self):
        while left := with_words(b"launch", b"--agent"):
            launched.await_end(left[0])

    def test_tasks_come_to_their_hosts(self):
        code, out, err = launch("--hosts", HOSTS, "-x", "MINE=a b", "--", "sh", "-c",
                                'echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $(hostname) $MASTER_ADDR "$MINE" $PWD')
        self.assertEqual((code, err), (0, ""))
        end = f"10.77.0.1 a b {os.getcwd()}"
        self.assertEqual(sorted(out.splitlines()), [f"[0] 0 4 0 2 h1 {end}", f"[1] 1 4 1 2 h1 {end}", f"[2] 2 4 0 1 h2 {end}",
                                                    f"[3] 3 4 0 1 h3 {end}"])

    def test_a_job_of_ferrys_own(self):
        self.assertEqual(launch("--hosts", "10.77.0.1,10.77.0.2,10.77.0.3", FERRY, "run", f"{SAMPLES}/add.pb"),
                         (0, "[0] c = [11 22 33]  int32[3]\n", ""))
        alone = subprocess.run([FERRY, "run", f"{SAMPLES}/conjugate_gradient.pb", "--tasks", "4"], capture_output=True, text=True,
                               check=True, timeout=launched.SECONDS).stdout
        code, out, err = launch("--hosts", HOSTS, FERRY, "run", f"{SAMPLES}/conjugate_gradient.pb")
        self.assertEqual((code, re.sub(r"(?m)^\[0\] ", "", out)), (0, alone), err)

    def test_a_hostfile(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("# of Open MPI\n10.77.0.2 slots=2 max_slots=2\n10.77.0.3:3\n")
            file.flush()
            code, out, _ = launch("--hostfile", file.name, "-n", 4, "hostname")
            self.assertEqual((code, sorted(out.splitlines())), (0, ["[0] h2", "[1] h2", "[2] h3", "[3] h3"]))

    def test_input_goes_to_task_0_wherever_it_is(self):
        done = subprocess.run(launched.command(ON_1, with_ssh(["--hosts", "10.77.0.3,10.77.0.2", "cat"])), input=b"hello\n",
                              capture_output=True, timeout=60, check=True)
        self.assertEqual(done.stdout, b"[0] hello\n")

    def test_the_secret_is_in_no_command_line(self):
        with HostsJob("--hosts", HOSTS, "--", "sh", "-c", 'echo secret $FERRY_SECRET; sleep 1000') as job:
            secret = job.await_line(r"^\[3\] secret (\w{32})$")[1].encode()
            lines = [Path(f"/proc/{process}/cmdline").read_bytes() for process in map(int, filter(str.isdigit, os.listdir("/proc")))]
            self.assertGreater(len(lines), 10)
            self.assertFalse(any(secret in line for line in lines))

    def test_a_task_fails_on_another_host(self):
        code, _, err = launch("--hosts", HOSTS, "--", "sh", "-c", "test $RANK = 3 && kill -9 $$; exec sleep 1000")
        self.assertEqual(code, 137)
        self.assertIn("error: task 3 on 10.77.0.3 was killed by signal 9 (Killed)", err)

    def test_080_ctrl_c(self):
        with HostsJob("--hosts", HOSTS, "--", *launched.UP) as job:
            job.await_line(r"^\[\d\] up$", 4)
            os.kill(self.launcher_of(job), signal.SIGINT)
            self.assertEqual(job.end()[0], 130)
            self.assertEqual(job.processes(), [])

    def test_068_the_launcher_is_killed(self):
        with HostsJob("--hosts", HOSTS, "--", "sh", "-c", STUBBORN) as job:
            job.await_line(r"^\[\d\] up$", 4)
            self.assertGreaterEqual(len(job.processes()), 15)
            os.kill(self.launcher_of(job), signal.SIGKILL)
            job.await_all_gone()

    def test_a_connection_ends(self):
        with HostsJob("--hosts", HOSTS, "--", "sh", "-c", STUBBORN) as job:
            job.await_line(r"^\[\d\] up$", 4)
            [connection] = with_words(b"ssh", b"10.77.0.2")
            os.kill(connection, signal.SIGKILL)
            code, out = job.end()
            self.assertEqual(code, 5)
            self.assertIn("error: host 10.77.0.2 (--hosts): the connection is lost", out)
            job.await_all_gone()

    def test_a_host_is_cut_off(self):
        words = with_ssh(["--hosts", "10.77.0.1,10.77.0.3", "--", "sh", "-c", "echo up; exec sleep 1000"])
        words[1] += " -o ServerAliveInterval=1"
        with launched.Job(ON_1, *words) as job:
            job.await_line(r"^\[\d\] up$", 2)
            subprocess.run([NETNS, "cut", "3"], check=True)
            self.addCleanup(subprocess.run, ["ip", "link", "set", "ve3", "up"], check=True)
            code, out = job.end()
            self.assertEqual(code, 5)
            self.assertRegex(out, r"error: host 10\.77\.0\.3 \(--hosts\): the connection is lost")
        # What is cut off may not know.
        for agent in with_words(b"launch", b"--agent"):
            os.kill(agent, signal.SIGKILL)

    def test_047_a_host_that_is_not_there(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("10.77.0.2\nnowhere.example slots=2\n")
            file.flush()
            code, out, err = launch("--hostfile", file.name, "--deadline", 1, "true")
            self.assertEqual((code, out), (5, ""))
            self.assertRegex(err, f"error: host nowhere.example \\({file.name}:2\\): it cannot be reached by ssh: .*resolve")

    def test_a_worker_that_is_stopped_lets_its_tasks_save(self):
        """As a node of Kubernetes that is drained stops the pods on it: by mpirun, too."""
        folder = Path(os.environ["NETNS_DIR"])
        server = ["/usr/sbin/sshd", "-De", "-f/dev/null", "-oPort=2223", f"-oHostKey={folder}/hostkey", f"-oAuthorizedKeysFile={folder}/key.pub",
                  f"-oPidFile={folder}/worker.pid", "-oStrictModes=no", "-oUsePAM=no"]
        ssh = with_ssh([])[1].replace("2222", "2223")
        run = [FERRY, *DIGITS, "--steps", 1000000000, "--print-every", 1, "--checkpoint"]
        jobs = {"launched": [FERRY, "launch", "--ssh", ssh, "--hosts", "10.77.0.1,10.77.0.2", "--", *run, folder / "launched"],
                "mpi": ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "mpirun", "--host", "10.77.0.1,10.77.0.2",
                        "--mca", "plm_rsh_agent", ssh, "--mca", "orte_tmpdir_base", folder, "--mca", "btl", "tcp,self", "--mca",
                        "btl_tcp_if_include", "10.77.0.0/24", "--mca", "oob_tcp_if_include", "10.77.0.0/24", *run, folder / "mpi"]}
        for name, words in jobs.items():
            with self.subTest(name):
                worker = subprocess.Popen([NETNS, "on", "2", FERRY, "worker", "--", *server], stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self.addCleanup(worker.stdout.close)
                self.addCleanup(worker.kill)
                while "listening" not in (line := worker.stdout.readline()):
                    self.assertTrue(line)
                job = subprocess.Popen([NETNS, "on", "1", *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
                self.addCleanup(job.stdout.close)
                self.addCleanup(job.kill)
                while "step " not in (line := job.stdout.readline()):
                    self.assertTrue(line)
                os.kill(max(with_words(b"worker")), signal.SIGTERM)
                said = job.communicate(timeout=launched.SECONDS)[0]
                self.assertEqual(job.returncode, 75, said[-3000:])
                self.assertEqual(len(list((folder / name).glob("step-*"))), 1)
                said = worker.communicate(timeout=launched.SECONDS)[0]
                self.assertEqual(worker.returncode, 0, said)
                self.assertIn("stopped by signal 15 (Terminated), sent to 1 task\n", said)

    def test_nothing_listens_there(self):
        code, _, err = launch("--hosts", "10.77.0.2,10.77.0.9", "--deadline", "2", "true")
        self.assertIn(code, (5, 6), err)
        self.assertIn("10.77.0.9", err)

    def test_no_ferry_there(self):
        with tempfile.TemporaryDirectory() as folder:
            # A login shell that greets, and then finds no ferry.
            Path(folder, "ssh").write_text('#!/bin/sh\necho Welcome\nexec sh -c "exec /no/ferry launch --agent"\n')
            Path(folder, "ssh").chmod(0o755)
            code, _, err = launched.run(FERRY, "--hosts", "h9", "--ssh", f"{folder}/ssh", "true")
            self.assertEqual(code, 2)
            self.assertRegex(err, r"error: host h9 \(--hosts\): there is no \S+ferry: .*not found")

    def test_the_folder_is_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/here")
            script = f"cd {folder}/here && rmdir {folder}/here && exec {FERRY} launch \"$@\""
            done = subprocess.run([NETNS, "on", "1", "sh", "-c", script, "sh", *with_ssh(["--hosts", HOSTS, "true"])], timeout=60,
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("the current folder is gone", done.stderr)

    def test_starting_again(self):
        with tempfile.NamedTemporaryFile() as starts:
            script = f'echo >>{starts.name}; test $RANK = 2 && test $(wc -l <{starts.name}) -lt 9 && exit 8; exec cat'
            code, _, err = launch("--hosts", HOSTS, "--restarts", "5", "--restart-wait", "0.001", "--", "sh", "-c", script)
            self.assertEqual(code, 0, err)
            self.assertTrue(re.search("the job starts again in 0.001 s: restart 1 of 5", err))

    @staticmethod
    def launcher_of(job):
        launchers = [process for process in with_words(b"launch", b"--hosts") if process not in with_words(b"on")]
        return max(process for process in launchers if job.launcher.pid < process)


if __name__ == "__main__":
    sys.exit(three_hosts.main(lambda: unittest.main(argv=[sys.argv[0], *sys.argv[3:]])))
