#!/usr/bin/env python3
"""The Debian packages from beginning to end: built on a bare Debian with what debian/control names, seen through by lintian, and
installed on another one, where the first program of the docs is typed; then upgraded and purged.

    bare_packages_test.py SOURCE_ROOT

Needs root, debootstrap and a source of packages.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import pages  # noqa: E402

ROOT = Path(sys.argv[1]).resolve()
BARE = ROOT / "scripts" / "bare_debian"
NAMES = ["libferry0", "libferry-dev", "ferry"]
# What the reader of first_program.md has besides ferry.
TYPED_WITH = ["g++", "cmake", "make", "pkg-config", "openmpi-bin"]
SETTINGS = "export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; "
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

    def paths_of_ferry(self):
        """Files and folders that a package of ferry may have left, in all of the file system but /root."""
        found = self.typed("find / -xdev \\( -path /root -o -path /proc -o -path /sys \\) -prune -o -iname '*ferry*' -print")
        return found.split()


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0 or not shutil.which("debootstrap"):
            skip("needs root" if os.geteuid() != 0 else "apt-get install debootstrap")
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.user, cls.maker = Debian(cls.folder / "user"), Debian(cls.folder / "maker")
        made = run(BARE, "make", cls.user.folder)
        if made.returncode:
            skip(f"no bare Debian can be made here: {made.stderr.strip().splitlines()[-1]}")
        run("cp", "-a", cls.user.folder, cls.maker.folder).check_returncode()
        tree = cls.maker.folder / "root" / "ferry"
        shutil.copytree(ROOT, tree, symlinks=True, ignore=lambda folder, _: [".git", *(path.name for path in Path(folder).glob("build*/"))])
        cls.maker.typed("ferry/scripts/build_packages packages")
        shutil.copytree(cls.maker.folder / "root" / "packages", cls.user.folder / "root", dirs_exist_ok=True)
        cls.user.typed("apt-get update")

    def test_1_lintian_has_nothing_to_say(self):
        self.maker.typed(f"{INSTALL}lintian")
        said = self.maker.typed("lintian --allow-root --profile debian --fail-on error,warning packages/*.changes")
        self.assertEqual(said, "")

    def test_2_the_command_alone(self):
        self.user.typed(f"{INSTALL}./ferry_*.deb")
        self.assertRegex(self.user.typed("ferry doctor"), r"(?s)^ferry +\d.*openblas.*mpi +Open MPI")
        self.assertEqual(self.user.typed("dpkg-query -W -f '${db:Status-Status}' libferry0 || true"), "")

    def test_3_the_first_program(self):
        self.user.typed(f"{INSTALL}./*.deb {' '.join(TYPED_WITH)}")
        text = (ROOT / "docs" / "first_program.md").read_text()
        pages.write_files(text, self.user.folder / "root")
        for command, wanted in pages.commands(text):
            pages.differences(self, command, self.user.typed(command), wanted)

    def test_4_an_upgrade(self):
        version = self.user.typed("dpkg-query -W -f '${Version}' ferry")
        for name in NAMES:
            self.user.typed(f"dpkg-deb --raw-extract {name}_*.deb {name} && sed -i 's/{version}/{version}+1/' {name}/DEBIAN/control && "
                            f"mkdir -p newer && dpkg-deb --build {name} newer")
        self.user.typed("dpkg --install newer/*.deb")
        self.assertEqual(self.user.typed(f"dpkg-query -W -f '${{Version}} ' {' '.join(NAMES)}"), f"{version}+1 " * 3)
        self.assertIn("loss = ", self.user.typed("./line --data . --epochs 1"))

    def test_5_nothing_is_left(self):
        self.assertIn("/usr/bin/ferry", self.user.paths_of_ferry())
        self.user.typed(f"apt-get purge -y {' '.join(NAMES)}")
        self.assertEqual(self.user.paths_of_ferry(), [])
        self.assertNotIn("ferry", self.user.typed("ldconfig --print-cache"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
