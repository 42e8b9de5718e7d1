#!/usr/bin/env python3
"""The Debian packages from beginning to end: built on a bare Debian with what debian/control names, seen through by lintian, and
installed on another one, where a new user types docs/getting_started/first_program.md, up to a job over three hosts and its report; then upgraded and
purged.

    bare_packages_test.py SOURCE_ROOT
    bare_packages_test.py SOURCE_ROOT BUILD_FOLDER    what a new user does, with packages of what is built already

Needs root, debootstrap and a source of packages. The hosts are network namespaces; all have the files of the bare Debian.
"""
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "support")]
import browser  # noqa: E402
import pages  # noqa: E402
from three_hosts import NETNS  # noqa: E402

ROOT, BUILD = Path(sys.argv[1]).resolve(), sys.argv[2:]
BARE = ROOT / "scripts" / "bare_debian"
NAMES = ["libferry0", "libferry-dev", "ferry", "ferry-openmpi", "ferry-mpich"]
# netns.sh calls its hosts h1 to h3.
FIRST_PROGRAM = re.sub(r"node(\d)", r"h\1", (ROOT / "docs" / "getting_started" / "first_program.md").read_text())
TYPED_WITH = re.search("`apt-get install (.*)`", FIRST_PROGRAM)[1]
ON_HOSTS = "ferry launch --hostfile"
MOST_SECONDS = 600  # from the installation to the report
SETTINGS = ("export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
            "NETNS_DIR=/tmp/hosts; ")
INSTALL = "apt-get install -y --no-install-recommends "


def run(*command):
    return subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True)


def skip(reason):
    print(f"[skip] Debian packages: {reason}")  # so that scripts/tally.py counts it
    raise unittest.SkipTest(reason)


class Debian:
    def __init__(self, folder):
        self.folder = folder

    def typed(self, command):
        """What a command prints that is typed in /root."""
        done = run(BARE, "in", self.folder, SETTINGS + command)
        if done.returncode:
            raise AssertionError(f"{command}: exit {done.returncode}\n{done.stdout[-6000:]}{done.stderr}")
        return done.stdout

    def prepare_hosts(self):
        """Lets commands be typed on hosts, which ssh reaches by their names without a password; skips the test where there can be none."""
        self.typed(f"{INSTALL}openssh-server iproute2; mkdir $NETNS_DIR; for n in 1 2 3; do echo 10.77.0.$n h$n; done >>/etc/hosts")
        there = shutil.copy(NETNS, self.folder / "usr" / "local" / "bin")
        if lacks := self.typed("netns.sh missing"):
            skip(lacks.strip())
        ssh = Path(there).with_name("ssh")
        ssh.write_text('#!/bin/sh\nexec /usr/bin/$(netns.sh ssh) "$@"\n')
        ssh.chmod(0o755)

    def typed_on_h1(self, command):
        """The same on a host; all hosts are there until the command ends."""
        return self.typed(f"netns.sh inside netns.sh on 1 bash -c {shlex.quote(command)}")

    def paths_of_ferry(self):
        """Files and folders that a package of ferry may have left, in all of the file system but /root."""
        found = self.typed("find / -xdev \\( -path /root -o -path /proc -o -path /sys \\) -prune -o -iname '*ferry*' -print")
        return found.split()


class NewUser(unittest.TestCase):
    """Packages of what is built already, and what a new user types."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0 or not shutil.which("debootstrap"):
            skip("needs root" if os.geteuid() != 0 else "apt-get install debootstrap")
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.user = Debian(cls.folder / "user")
        made = run(BARE, "make", cls.user.folder)
        if made.returncode:
            skip(f"no bare Debian can be made here: {made.stderr.strip().splitlines()[-1]}")
        cls.put_packages(cls.user.folder / "root")
        cls.user.typed("apt-get update")

    @classmethod
    def put_packages(cls, folder):
        if platform.freedesktop_os_release().get("VERSION_CODENAME") != "bookworm":
            skip("what is built here is not for Debian 12")
        subprocess.run([ROOT / "scripts" / "build_packages", folder, *BUILD], stdin=subprocess.DEVNULL, check=True)

    def test_3_the_first_program(self):
        type(self).begun = time.monotonic()
        self.user.typed(f"{INSTALL}./*.deb {TYPED_WITH}")
        pages.write_files(FIRST_PROGRAM, self.user.folder / "root")
        for command, wanted in pages.commands(FIRST_PROGRAM):
            if not command.startswith(ON_HOSTS):
                pages.differences(self, command, self.user.typed(command), wanted)

    def test_4_three_hosts_and_a_report(self):
        self.user.prepare_hosts()
        in_one_process = self.user.typed("./line --tasks 3 --data . --epochs 8")
        for command, wanted in pages.commands(FIRST_PROGRAM):
            if command.startswith(ON_HOSTS):
                printed = self.user.typed_on_h1(command)
                pages.differences(self, command, printed, wanted)
                self.assertEqual(printed, f"[0] {in_one_process}", command)
        if not browser.BROWSER:
            skip("the report in a browser: there is no chromium here")
        report = browser.opened(self.user.folder / "root" / "run.html")
        self.assertLess(time.monotonic() - self.begun, MOST_SECONDS)
        self.assertEqual([task["host"] for task in report["stats"]["tasks"]], ["h1", "h2", "h3"])
        self.assertEqual({line.partition(":")[0] for line, *_ in report["lines"]}, {"line.cpp"})


class Packages(NewUser):
    """Packages that are built on a bare Debian, and what becomes of them."""

    @classmethod
    def put_packages(cls, folder):
        cls.maker = Debian(cls.folder / "maker")
        run("cp", "-a", cls.user.folder, cls.maker.folder).check_returncode()
        tree = cls.maker.folder / "root" / "ferry"
        shutil.copytree(ROOT, tree, symlinks=True, ignore=lambda folder, _: [".git", *(path.name for path in Path(folder).glob("build*/"))])
        cls.maker.typed("ferry/scripts/build_packages packages")
        shutil.copytree(cls.maker.folder / "root" / "packages", folder, dirs_exist_ok=True)

    def test_1_lintian_has_nothing_to_say(self):
        self.maker.typed(f"{INSTALL}lintian")
        said = self.maker.typed("lintian --allow-root --profile debian --fail-on error,warning packages/*.changes")
        self.assertEqual(said, "")

    def test_2_the_command_alone(self):
        self.user.typed(f"{INSTALL}./ferry_*.deb")
        self.assertRegex(self.user.typed("ferry doctor"), r"(?s)^ferry +\d.*openblas.*mpi +none that ferry can use")
        self.assertEqual(self.user.typed("dpkg-query -W -f '${db:Status-Status}' libferry0 || true"), "")

    def test_5_an_upgrade(self):
        version = self.user.typed("dpkg-query -W -f '${Version}' ferry")
        for name in NAMES:
            self.user.typed(f"dpkg-deb --raw-extract {name}_*.deb {name} && sed -i 's/{version}/{version}+1/' {name}/DEBIAN/control && "
                            f"mkdir -p newer && dpkg-deb --build {name} newer")
        self.user.typed("dpkg --install newer/*.deb")
        self.assertEqual(self.user.typed(f"dpkg-query -W -f '${{Version}} ' {' '.join(NAMES)}"), f"{version}+1 " * len(NAMES))
        self.assertIn("loss = ", self.user.typed("./line --data . --epochs 1"))

    def test_6_nothing_is_left(self):
        self.assertIn("/usr/bin/ferry", self.user.paths_of_ferry())
        self.user.typed(f"apt-get purge -y {' '.join(NAMES)}")
        self.assertEqual(self.user.paths_of_ferry(), [])
        self.assertNotIn("ferry", self.user.typed("ldconfig --print-cache"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], defaultTest="NewUser" if BUILD else "Packages")
