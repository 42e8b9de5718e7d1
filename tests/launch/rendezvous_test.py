#!/usr/bin/env python3
"""Tasks that find one another by FERRY_RENDEZVOUS, a file or a key in Redis: rendezvous_test.py FERRY SAMPLES_FOLDER

Starts a redis-server of its own, on loopback. All jobs give the bits of a job in one process.
"""
import contextlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import tcp_job  # noqa: E402

FERRY, SAMPLES = sys.argv[1], Path(sys.argv[2])
SECONDS = 60  # limit for what should happen at once
TASKS = 3
PASSWORD = "a p@ss/word%"
QUOTED = "a p%40ss%2Fword%25"
REDIS = shutil.which("redis-server")


class Redis:
    def __init__(self, folder):
        self.port = tcp_job.free_port()
        self.process = subprocess.Popen(
            [REDIS, "--bind", "127.0.0.1", "--port", str(self.port), "--requirepass", PASSWORD, "--save", "", "--dir", folder],
            stdout=subprocess.PIPE, text=True)
        while "Ready to accept connections" not in (line := self.process.stdout.readline()):
            assert line, "Redis does not start"

    @contextlib.contextmanager
    def replies(self, *words):
        """The lines that come after a command."""
        with socket.create_connection(("127.0.0.1", self.port), SECONDS) as connection:
            for command in ("AUTH", PASSWORD), words:
                connection.sendall(f"*{len(command)}\r\n".encode() + b"".join(
                    f"${len(word)}\r\n{word}\r\n".encode() for word in command))
            with connection.makefile(newline="\r\n") as replies:
                assert replies.readline() == "+OK\r\n"
                yield replies

    def ask(self, *words):
        """The first line of the reply; of a text, the text."""
        with self.replies(*words) as replies:
            line = replies.readline().strip()
            return replies.readline().strip() if line[0] == "$" and line != "$-1" else line

    def url(self, key, password=QUOTED):
        return f"redis://{password and f':{password}@'}127.0.0.1:{self.port}/{key}"

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=SECONDS)


class FilePlace:
    def __init__(self, folder):
        self.path = Path(folder) / "job"
        self.name = f"file:{self.path}"
        self.message = f"rendezvous by file:{self.path}: "

    def put(self, text):
        self.path.write_text(text)

    def get(self):
        return self.path.read_text() if self.path.exists() else None

    def remove(self):
        self.path.unlink()


class RedisPlace:
    def __init__(self, redis, key):
        self.redis, self.key = redis, key
        self.name = redis.url(key)
        self.message = f"rendezvous by redis://127.0.0.1:{redis.port}/{key}: "

    def put(self, text):
        assert self.redis.ask("SET", self.key, text) == "+OK"

    def get(self):
        text = self.redis.ask("GET", self.key)
        return None if text == "$-1" else text

    def remove(self):
        assert self.redis.ask("DEL", self.key) == ":1"


def start(rank, place, *words, **variables):
    variables.setdefault("FERRY_INTERFACE", "127.0.0.1")  # the machine may have other networks
    variables.setdefault("WORLD_SIZE", str(TASKS))
    env = tcp_job.environment(RANK=str(rank), FERRY_RENDEZVOUS=place, **variables)
    return subprocess.Popen([FERRY, "run", str(SAMPLES / "conjugate_gradient.pb"), *words], env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def end(tasks):
    """(exit code, stderr) of each."""
    try:
        texts = [task.communicate(timeout=SECONDS) for task in tasks]
    finally:
        for task in tasks:
            task.kill()
    return [(task.returncode, errors) for task, (_, errors) in zip(tasks, texts)]


def bits(folder):
    return {path.name: path.read_bytes() for path in Path(folder).glob("*.npy")}


class Jobs:
    """Cases for a place, which setUp() makes."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ferry-rendezvous-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = Path(folder.name) / "out"

    def tasks(self, *ranks):
        return [start(rank, self.place.name, "--out", self.out) for rank in ranks]

    def check_well(self, tasks):
        for code, errors in end(tasks):
            self.assertEqual(code, 0, errors)
        self.assertEqual(bits(self.out), EXPECTED)
        self.assertIsNone(self.place.get())

    def test_two_jobs_one_after_the_other(self):
        for _ in range(2):
            self.check_well(self.tasks(0, 1, 2))

    def test_an_old_notice_and_a_late_task_0(self):
        with socket.create_server(("127.0.0.1", 0)) as stranger:
            stranger.settimeout(SECONDS)
            self.place.put(f"ferry rendezvous 127.0.0.1:{stranger.getsockname()[1]} {'7' * 32}")
            tasks = self.tasks(1, 2)
            stranger.accept()[0].close()  # one has read it
        self.check_well(tasks + self.tasks(0))

    def test_a_notice_of_a_task_0_that_was_killed(self):
        old = f"ferry rendezvous 127.0.0.1:{tcp_job.free_port()} {'7' * 32}"
        self.place.put(old)
        code, errors = end([start(1, self.place.name, "--deadline", "0.1")])[0]
        self.assertEqual(code, 6, errors)
        self.assertIn(f"{self.place.message}the notice there says {old.split()[2]}, where nobody listens", errors)
        self.check_well(self.tasks(0, 1, 2))

    def test_no_task_0(self):
        code, errors = end([start(1, self.place.name, "--deadline", "0.1")])[0]
        self.assertEqual(code, 6, errors)
        self.assertIn(f"{self.place.message}task 0 has put up no notice there before the deadline", errors)

    def test_a_task_0_that_fails(self):
        for code, errors in end([start(0, self.place.name), start(1, self.place.name, WORLD_SIZE=str(TASKS + 1))]):
            self.assertEqual(code, 2, errors)
            self.assertIn("says that it is number 1 of 4, in a job of 3", errors)
        self.assertIsNone(self.place.get())

    def test_another_text_is_left_alone(self):
        self.place.put("of somebody else")
        for rank in 0, 1:
            code, errors = end([start(rank, self.place.name)])[0]
            self.assertEqual(code, 2, errors)
            self.assertIn(f'{self.place.message}it holds another text than a notice of ferry: "of somebody else"', errors)
        self.assertEqual(self.place.get(), "of somebody else")
        self.place.remove()


class ByFile(Jobs, unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.place = FilePlace(self.folder)

    def test_what_is_wrong_is_told(self):
        for place, says in {"job": "FERRY_RENDEZVOUS=job: no place where tasks can meet",
                            f"file:{self.folder}/no/job": "the folder cannot be opened: No such file or directory",
                            f"file:{self.folder}": "is no regular file"}.items():
            code, errors = end([start(0, place)])[0]
            self.assertEqual(code, 2, errors)
            self.assertIn(says, errors)

    def test_both_ways(self):
        code, errors = end([start(0, self.place.name, MASTER_ADDR="127.0.0.1")])[0]
        self.assertEqual(code, 2, errors)
        self.assertIn("launch: both MASTER_ADDR and FERRY_RENDEZVOUS are set", errors)


class NumberedByALauncher(unittest.TestCase):
    """Tasks that mpirun or srun numbers, and that are to meet over TCP."""

    def tasks(self, rank, size, *words, transport="tcp", **variables):
        command = [FERRY, "run", str(SAMPLES / "conjugate_gradient.pb"), "--transport", transport, *words]
        return [subprocess.Popen(command, env=tcp_job.environment(FERRY_INTERFACE="127.0.0.1", **{rank: str(task), size: str(TASKS)}, **variables),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for task in range(TASKS)]

    def test_the_bits_are_the_same(self):
        for rank, size in ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"):
            with tempfile.TemporaryDirectory() as folder:
                for code, errors in end(self.tasks(rank, size, "--out", f"{folder}/out", FERRY_RENDEZVOUS=f"file:{folder}/job")):
                    self.assertEqual(code, 0, errors)
                self.assertEqual(bits(f"{folder}/out"), EXPECTED)

    def test_nothing_says_where(self):
        for code, errors in end(self.tasks("PMI_RANK", "PMI_SIZE")):
            self.assertEqual(code, 2, errors)
            self.assertIn("--transport tcp: PMI_SIZE says that there are 3 tasks, and nothing says where they meet\n"
                          "  try: FERRY_RENDEZVOUS=file:/shared/folder/NAME, or MASTER_ADDR and MASTER_PORT, for all", errors)


    def test_nothing_makes_one_job_of_them(self):
        for transport, warnings in ("auto", 1), ("inproc", 0):
            ends = end(self.tasks("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", transport=transport))
            self.assertEqual([code for code, _ in ends], TASKS * [0])
            self.assertEqual("".join(errors for _, errors in ends).count(
                "warning: srun starts this program 3 times (SLURM_STEP_NUM_TASKS), and each runs the whole job by itself\n  try: "), warnings)

    def test_no_mpirun_has_started_them(self):
        for rank, size, says, address in (("RANK", "WORLD_SIZE", "RANK and WORLD_SIZE say", "MASTER"),
                                          ("PET_NODE_RANK", "PET_NNODES", "PET_NODE_RANK and PET_NNODES say", "PET_MASTER"),
                                          ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_TASKS says", "MASTER")):
            for code, errors in end(self.tasks(rank, size, transport="mpi", **{f"{address}_ADDR": "127.0.0.1", f"{address}_PORT": "1"})):
                self.assertEqual(code, 2, errors)
                self.assertIn(f"--transport mpi: {says} that this is one of 3 tasks, and no mpirun or srun --mpi=pmix has started it\n  try: ", errors)


    def test_one_variable_of_a_launch_is_not_enough_for_mpi(self):
        for name in "RANK", "WORLD_SIZE":
            for code, errors in end(self.tasks(name, name, transport="mpi")):
                self.assertEqual(code, 2, errors)
                self.assertRegex(errors, rf"--transport mpi: {name}=\d is set, and no mpirun or srun --mpi=pmix has started this process\n  try: ")


class ByAddress(unittest.TestCase):
    def test_the_bits_are_the_same(self):
        with tempfile.TemporaryDirectory() as out:
            for code, _, errors in tcp_job.run([FERRY, "run", SAMPLES / "conjugate_gradient.pb", "--out", out], TASKS):
                self.assertEqual(code, 0, errors)
            self.assertEqual(bits(out), EXPECTED)


class ByRedis(Jobs, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="ferry-redis-")
        cls.addClassCleanup(folder.cleanup)
        cls.redis = Redis(folder.name)
        cls.addClassCleanup(cls.redis.stop)

    def setUp(self):
        super().setUp()
        self.place = RedisPlace(self.redis, self.id())

    def test_a_notice_goes_by_itself(self):
        with self.redis.replies("MONITOR") as commands:
            first, = self.tasks(0)
            put = next(line for line in commands if f'"SET" "{self.place.key}"' in line)
        self.assertIn(int(re.search(r'"EX" "(\d+)"', put)[1]), range(1, 67))
        first.kill()
        end([first])

    def test_the_address_is_the_one_by_which_redis_is_reached(self):
        self.check_well([start(rank, self.place.name, "--out", self.out, FERRY_INTERFACE="") for rank in range(TASKS)])

    def test_what_is_wrong_is_told(self):
        self.assertEqual(self.redis.ask("LPUSH", "list", "a"), ":1")
        for place, says in {self.redis.url("job", "other"): "Redis has another password",
                            self.redis.url("job", ""): "Redis wants a password",
                            self.redis.url("", ""): "the KEY is missing",
                            self.redis.url("list"): "the key holds no text",
                            f"redis://127.0.0.1:{tcp_job.free_port()}/job": "Redis cannot be reached: Connection refused"}.items():
            for rank in 0, 1:
                code, errors = end([start(rank, place)])[0]
                self.assertEqual(code, 2, errors)
                self.assertIn(says, errors)
                self.assertNotIn(QUOTED, errors)
        self.assertEqual(self.redis.ask("LLEN", "list"), ":1")


def by_one_process():
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([FERRY, "run", str(SAMPLES / "conjugate_gradient.pb"), "--out", out, "--tasks", str(TASKS)], check=True,
                       env=tcp_job.environment(), stdout=subprocess.DEVNULL)
        return bits(out)


if __name__ == "__main__":
    EXPECTED = by_one_process()
    assert EXPECTED, "no output"
    if not REDIS:
        print("[skip] rendezvous by Redis: apt-get install redis-server")
        del ByRedis
    unittest.main(argv=sys.argv[:1])
