#!/usr/bin/env python3
"""The Debian packages, made of what is built already: what they hold, and that programs are built and run with what they hold.

    packages_test.py BUILD_FOLDER SOURCE_ROOT COMPILER

They are unpacked, not installed: bare_packages_test.py installs them.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import pages  # noqa: E402

BUILD, ROOT, CXX = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
NAMES = ["ferry", "ferry-llvm", "ferry-mpich", "ferry-openmpi", "libferry-dev", "libferry0"]


def output(*command, env=None, cwd=None):
    """What a command prints, errors apart; it must succeed."""
    done = subprocess.run(list(map(str, command)), env=env, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def skip(reason):
    print(f"[skip] Debian packages: {reason}")  # so that scripts/tally.py counts it
    raise unittest.SkipTest(reason)


def field(deb, name):
    return output("dpkg-deb", "--field", deb, name).strip()


class Versions(unittest.TestCase):
    def test_all_files_have_the_version(self):
        version = re.search(r"^ *version: '(.*?)'", (ROOT / "meson.build").read_text(), re.MULTILINE)[1]
        minor = version.rpartition(".")[0]
        wanted = {"debian/changelog": f"ferry ({version}) ", "CHANGELOG.md": f"\n## [{version}] - ", "README.md": f"version {minor};",
                  "deploy/modulefiles/ferry": f"ferry {version}:", "deploy/spack/packages/ferry/package.py": f'version("{version}")',
                  f"deploy/easybuild/ferry-{version}-gfbf-2024a.eb": f"version = '{version}'",
                  "deploy/kubernetes/job.yaml": f"ferry:{minor}\n", "docs/getting_started/first_program.md": f"find_package(ferry {minor} ",
                  "docs/project/status.md": f"ferry {minor}:"}
        for path, text in wanted.items():
            self.assertIn(text, (ROOT / path).read_text(), path)
        newest = re.match(r"ferry \((.*?)\)", (ROOT / "debian" / "changelog").read_text())[1]
        self.assertEqual(newest, version, "debian/changelog and meson.build")


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("dpkg-checkbuilddeps"):
            skip("apt-get install build-essential")
        lacks = subprocess.run(["dpkg-checkbuilddeps"], cwd=ROOT, capture_output=True, text=True).stderr
        if lacks:
            skip(lacks.strip())
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        output(ROOT / "scripts" / "build_packages", cls.folder, BUILD)
        cls.debs = {deb.name.split("_")[0]: deb for deb in sorted(cls.folder.glob("*.deb"))}
        cls.held = {}
        for name, deb in cls.debs.items():
            output("dpkg-deb", "--extract", deb, cls.folder / name)
            cls.held[name] = {"/" + path.relative_to(cls.folder / name).as_posix() for path in (cls.folder / name).rglob("*")
                              if path.is_symlink() or path.is_file()}
            output("dpkg-deb", "--extract", deb, cls.folder / "all")
        cls.usr = cls.folder / "all" / "usr"
        cls.libdir = next(cls.usr.rglob("libferry.so.0")).parent

    def holds(self, name, *patterns):
        for pattern in patterns:
            self.assertTrue(any(re.fullmatch(pattern, path) for path in self.held[name]), f"{name} lacks {pattern}")

    def test_each_file_is_in_its_package(self):
        self.assertEqual(sorted(self.debs), NAMES)
        version = re.escape(field(self.debs["ferry"], "Version"))
        self.holds("libferry0", r"/usr/lib/[^/]+/libferry\.so\.0", rf"/usr/lib/[^/]+/libferry\.so\.{version}")
        self.holds("libferry-dev", r"/usr/lib/[^/]+/libferry\.so", r"/usr/lib/[^/]+/libferry\.a",
                   r"/usr/lib/[^/]+/pkgconfig/ferry\.pc", r"/usr/lib/[^/]+/pkgconfig/ferry-mpi\.pc",
                   r"/usr/lib/[^/]+/cmake/ferry/ferryConfig\.cmake", r"/usr/lib/[^/]+/cmake/ferry/ferryConfigVersion\.cmake")
        self.holds("ferry", "/usr/bin/ferry", "/usr/share/bash-completion/completions/ferry.bash",
                   "/usr/share/zsh/vendor-completions/_ferry", r"/usr/share/man/man1/ferry\.1\.gz",
                   r"/usr/share/man/man1/ferry-run\.1\.gz", r"/usr/share/doc/ferry/README\.md", r"/usr/share/doc/ferry/docs/guide/how_to\.md")
        for name in "openmpi", "mpich":
            self.holds(f"ferry-{name}", rf"/usr/lib/[^/]+/libferry_mpi_{name}\.so")
        self.holds("ferry-llvm", r"/usr/lib/[^/]+/libferry_llvm\.so")
        for name in NAMES:
            self.holds(name, f"/usr/share/doc/{name}/copyright", rf"/usr/share/doc/{name}/changelog\.gz")
        together = [path for held in self.held.values() for path in held]
        self.assertEqual(len(together), len(set(together)), "a file is in two packages, which then cannot be installed side by side")

    def test_all_public_headers_are_packed(self):
        built = {path.relative_to(BUILD / "samples" / "include").as_posix() for path in (BUILD / "samples" / "include").rglob("*.hpp")}
        packed = {path.relative_to(self.usr / "include").as_posix() for path in (self.usr / "include").rglob("*.hpp")}
        self.assertEqual(packed, built)

    def test_what_they_need_is_said(self):
        for name in "libferry0", "ferry":
            needed = field(self.debs[name], "Depends")
            for library in "libopenblas0", "libprotobuf", "libstdc++6":
                self.assertIn(library, needed, name)
            for library in "libopenmpi3", "libmpich12", "libllvm14":
                self.assertNotIn(library, needed, name)
        self.assertIn("libopenmpi3", field(self.debs["ferry-openmpi"], "Depends"))
        self.assertIn("libmpich12", field(self.debs["ferry-mpich"], "Depends"))
        self.assertIn("libllvm14", field(self.debs["ferry-llvm"], "Depends"))
        self.assertIn(f"libferry0 (= {field(self.debs['libferry-dev'], 'Version')})", field(self.debs["libferry-dev"], "Depends"))
        shlibs = output("dpkg-deb", "--info", self.debs["libferry0"], "shlibs")
        major, minor = map(int, field(self.debs["libferry0"], "Version").split(".")[:2])
        self.assertIn(f"libferry 0 libferry0 (>= {major}.{minor}), libferry0 (<< {major}.{minor + 1}~)", shlibs)

    def test_no_path_of_the_build_is_left(self):
        for path in self.usr / "bin" / "ferry", self.libdir / "libferry.so.0":
            self.assertNotIn("RUNPATH", output("readelf", "--dynamic", path), path)

    def test_links_of_the_pages_lead_somewhere(self):
        documents = self.usr / "share" / "doc" / "ferry"
        read = sorted(documents.rglob("*.md"))
        self.assertGreater(len(read), 40)
        for page in read:
            for link in re.findall(r"(?:\]\(|src=\")(?!https?:)([\w./-]+\.\w+)(?:#[\w-]+)?[)\"]", page.read_text()):
                self.assertTrue((page.parent / link).exists(), f"{page.relative_to(documents)}: {link}")

    def env(self):
        return dict(os.environ, PATH=f"{self.usr / 'bin'}:{os.environ['PATH']}", LD_LIBRARY_PATH=str(self.libdir),
                    PKG_CONFIG_PATH=str(self.libdir / "pkgconfig"), CMAKE_PREFIX_PATH=str(self.usr), CXX=CXX, LC_ALL="C.UTF-8",
                    OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def consumer(self, name):
        folder = self.folder / name
        folder.mkdir()
        text = (ROOT / "docs" / "getting_started" / "first_program.md").read_text()
        pages.write_files(text, folder)
        output("bash", "-c", next(command for command, _ in pages.commands(text) if command.endswith("> points.csv")), cwd=folder)
        return folder

    def trains(self, folder, *program):
        for start in [[], ["mpirun", "--oversubscribe", "-np", "2"]]:
            tasks = [] if start else ["--tasks", "2"]
            printed = output(*start, *program, "--data", ".", "--epochs", "8", *tasks, cwd=folder, env=self.env())
            self.assertIn("loss = 0.00586", printed)

    @unittest.skipUnless(shutil.which("cmake"), "no cmake here")
    def test_a_program_is_built_by_cmake(self):
        folder = self.consumer("by_cmake")
        output("cmake", "-S", ".", "-B", "made", cwd=folder, env=self.env())
        output("cmake", "--build", "made", cwd=folder, env=self.env())
        self.trains(folder, "made/line")

    def test_a_program_is_built_by_pkg_config(self):
        folder = self.consumer("by_pkg_config")
        flags = output("pkg-config", "--cflags", "--libs", "ferry", env=self.env()).split()
        output(CXX, "line.cpp", "-o", "line", *flags, cwd=folder)
        self.trains(folder, "./line")

    def test_the_command_says_what_is_there(self):
        self.assertRegex(output("ferry", "doctor", env=self.env()), rf"(?s)ferry +{re.escape(field(self.debs['ferry'], 'Version'))},.*mpi +Open MPI")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
