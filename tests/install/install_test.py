#!/usr/bin/env python3
"""Tests ferry as its users have it: installed, found by pkg-config and CMake, compiled against from outside the tree.

    install_test.py BUILD_FOLDER README COMPILER [headers]

docs and samples lie beside README. headers: only that each header stands alone; else it is tried of those that <ferry/ferry.hpp> does not
bring.
"""
import contextlib
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import pages  # noqa: E402

BUILD, README, CXX = sys.argv[1:4]
HEADERS_ALONE = sys.argv[4:] == ["headers"]
USER_OPS = Path(README).parent / "samples" / "user_ops"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def output(*command, env=None, cwd=None, code=0):
    """Standard output of a command that must end with `code`."""
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != code:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def end_group(leader):
    """Ends the processes that are left of the group of a process."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGTERM)


def readme_program():
    """The first C++ program of the README, as a user would copy it."""
    return re.search(r"^```cpp\n(.*?)^```", Path(README).read_text(), re.MULTILINE | re.DOTALL)[1]


MPI_PROGRAM = """#include <ferry/ferry.hpp>
#include <ferry/mpi.hpp>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const ferry::Cluster cluster = ferry::adopt(MPI_COMM_SELF);
    if (cluster.size() != 1) return 1;
  }
  MPI_Finalize();
}
"""
MPI_FLAGS = ["-DOMPI_SKIP_MPICXX=1", *output("pkg-config", "--cflags", "ompi").split()]


# Blocks of C++ in pages that are not whole programs: what they stand in, with PAGE in their place, in the order of each page.
USING = "#include <ferry/ferry.hpp>\nusing namespace ferry;\n"
UNUSED = '#pragma GCC diagnostic ignored "-Wunused-variable"\n#pragma GCC diagnostic ignored "-Wunused-but-set-variable"\n'
HYPOT = (USER_OPS / "hypot.cpp").read_text().partition("void ferry_add_ops")[0]
HYPOT_PROGRAM = """#include <ferry/runner/run_main.hpp>
int main(int argc, char** argv) {
  ferry::Graph g;
  const ferry::Value sides[] = {g.constant({3.0, 5.0, 8.0}), g.constant({4.0, 12.0, 15.0})};
  g.fetch("run", "c", g.add(kHypot, sides, {}, ferry::source_location::current())[0]);
  return ferry::run_main(argc, argv, g);
}
"""
OF_FERRY = "".join(f'#include "ops/{name}.hpp"\n' for name in ("build", "gradient/gradient", "math/logic", "math/math")) + "using namespace ferry;\n"
FRAMES = {
    "getting_started/concepts.md": [
        USING + "Value f() {PAGE return c; }",
        USING + "Values f(Graph& g, Value x, Value y) {PAGE return updates; }",
        USING + "void f(Graph& g, Value x, Value w, Value loss, Values updates) {PAGE}",
        USING + "Value f(Graph& g) {PAGE return c; }",
        USING + "Value f(Graph& g, Value x) {PAGE return total; }",
        USING + "Tensor f(int argc, char** argv, Graph& g, Value c) {PAGE return results[0]; }",
        USING + "#include <ferry/base/files.hpp>\n#include <ferry/placement/plan_file.hpp>\n#include <ferry/placement/plan_result.hpp>\n"
        "void f(Session& session, Cluster& cluster, Graph& g, Value c) {PAGE}"],
    "internals/add_an_op.md": [OF_FERRY + "namespace page {PAGE const OpDef& op = kClamp; }",
                     OF_FERRY + "namespace page { const OpDef kClamp{.name = \"Clamp\", .types = \"T->T\"}; PAGE}"],
    "guide/budgets.md": [USING + "void f(Graph& g) {PAGE}"],
    "guide/checkpoints.md": ["#include <ferry/ferry.hpp>\nvoid f(ferry::Session& session, ferry::Value loss, std::vector<ferry::Value> updates) {PAGE}"],
    "coming_from/horovod.md": ["#include <ferry/ferry.hpp>\n#include <vector>\n"
                               "void f(int argc, char** argv, std::vector<float>& weights, std::vector<float>& gradients) {PAGE}",
                               "#include <ferry/ferry.hpp>\n#include <vector>\nvoid load_next_batch();\n"
                               "void f(const ferry::Cluster& cluster, std::vector<float>& gradients) {PAGE}",
                               "#include <ferry/ferry.hpp>\nvoid f(const ferry::Cluster& cluster, std::size_t parameters) {PAGE}"],
    "coming_from/mpi_graphs.md": ["#include <mpi.h>\n#include <algorithm>\n#include <vector>\nusing Floats = std::vector<float>;\n"
                                  "void multiply(const Floats&, const Floats&, Floats&);\n"
                                  "void f(int size, int rows, int inner, int columns, Floats a, Floats b, Floats c) {PAGE}"],
    "guide/data.md": [USING + "Value f(Graph& g) {PAGE return x + labels; }"],
    "reference/cheat_sheet.md": [
        UNUSED + USING + "void f() {PAGE}",
        UNUSED + USING + "void f(Graph& g, Value x, Value start) {PAGE}",
        UNUSED + USING + "void f(Graph& g, std::string data) {PAGE}",
        UNUSED + USING + "void f(Graph& g, Value x, Value labels) {PAGE}",
        UNUSED + USING + "#include <iostream>\nvoid f(int argc, char** argv, Graph& g, Value y, Values updates, Tensor x_now) {PAGE}",
        "#include <ferry/ferry.hpp>\n#include <ferry/runner/run_main.hpp>\nPAGE",
        USING + "void f(Session& session, RunRequest request) {PAGE}",
        UNUSED + USING + "#include <ferry/placement/plan_result.hpp>\n#include <iostream>\nvoid f(Session& session, Value y) {PAGE}",
        UNUSED + USING + "#include <ferry/mpi.hpp>\n#include <vector>\nvoid f(Cluster& cluster, std::vector<float> numbers) {PAGE}"],
    "reference/dtypes.md": [USING + "Value f(Graph& g) {PAGE return half + g.constant(t); }",
                  USING + "Value f(Value x, Value weights, Value weights_scale) {PAGE return y; }"],
    "guide/halos.md": [USING + "Value f(Graph& g, Tensor start) {PAGE return up + down; }"],
    "guide/layouts.md": [USING + "Value f(Graph& g, Value initial) {PAGE return y; }"],
    "guide/parallel_strategies.md": [USING + "void f(Graph& g, Value x, Value weights, Value y) {PAGE}"],
    "guide/placement_by_itself.md": [USING + "void f(Graph& g) {PAGE}", "#include <ferry/ferry.hpp>\nvoid f(ferry::Graph& g) {PAGE}"],
    "guide/pipelines.md": [USING + "#include <functional>\n#include <string>\n#include <vector>\n"
                        "void f(Graph& g, Value x, Value labels, Values weights, std::vector<std::function<Value(Value)>> layers) {PAGE}"],
    "guide/user_ops.md": [HYPOT + "PAGE"],
}


# examples_test.py compiles their blocks, which are examples of headers.
MADE_FROM_HEADERS = ["reference/functions.md", "reference/classes.md"]


def png(width, height, colour):
    """A PNG file of one colour."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(height * (b"\0" + width * bytes(colour)))) + chunk(b"IEND", b""))


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        output("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", str(cls.folder))
        cls.prefix = next(cls.folder.rglob("include")).parent
        cls.libdir = next(cls.prefix.rglob("libferry.so")).parent
        cls.env = dict(os.environ, PKG_CONFIG_PATH=str(cls.libdir / "pkgconfig"), LD_LIBRARY_PATH=str(cls.libdir))
        cls.program = cls.folder / "program.cpp"
        cls.program.write_text(readme_program())

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def flags(self, *options):
        return output("pkg-config", *options, "ferry", env=self.env).split()

    def compiled(self, name, libraries):
        program = self.folder / name
        output(CXX, *WARNINGS, *self.flags("--cflags"), str(self.program), "-o", str(program), *libraries)
        return str(program)

    def test_each_header_stands_alone(self):
        def compile_alone(header):
            source = self.folder / (header.replace("/", "_") + ".cpp")
            source.write_text(f"#include <{header}>\n")
            mpi = MPI_FLAGS if "mpi" in header else []
            output(CXX, "-fsyntax-only", *WARNINGS, *self.flags("--cflags"), *mpi, str(source))

        include = self.prefix / "include"
        headers = {path.relative_to(include).as_posix() for path in include.rglob("*.hpp")}
        self.assertIn("ferry/ferry.hpp", headers)
        if not HEADERS_ALONE:
            known = output(CXX, "-M", *self.flags("--cflags"), str(self.program)).split()
            headers -= {Path(path).relative_to(include).as_posix() for path in known if path.startswith(str(include))} - {"ferry/ferry.hpp"}
            self.assertGreater(len(headers), 40)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(compile_alone, sorted(headers)))

    def test_pages_that_errors_name_are_there(self):
        named = output("grep", "-rhoE", "docs/[a-z_/]+\\.md", "--include=*.cpp", *("base comm executor runner kernels placement".split()),
                       cwd=Path(README).parent).split()
        self.assertIn("docs/getting_started/running.md", named)
        for page in set(named):
            self.assertTrue((self.prefix / "share" / "doc" / "ferry" / page).exists(), page)

    def test_options_by_name_give_no_warning(self):
        source = self.folder / "by_name.cpp"
        source.write_text("""#include <ferry/ferry.hpp>
int main() {
  ferry::Graph g;
  const ferry::Value c = g.constant({1, 2});
  ferry::Session session(g, ferry::Cluster::connect({.tasks = 2}), {.run = {.seed = 7}});
  session.run({.fetches = {c}, .steps = 2});
}
""")
        output(CXX, "-fsyntax-only", *WARNINGS, *self.flags("--cflags"), str(source))

    def test_the_readme_program_runs_on_any_number_of_tasks(self):
        program = self.compiled("shared", self.flags("--libs"))
        for tasks in "3", "5":
            self.assertIn("11 22 33", output(program, "--tasks", tasks, env=self.env))
        for tasks in "1", "2":  # it names /task:2
            output(program, "--tasks", tasks, env=self.env, code=4)

    def test_the_readme_program_links_statically(self):
        libraries = [str(self.libdir / "libferry.a") if flag == "-lferry" else flag
                     for flag in self.flags("--libs", "--static")]
        program = self.compiled("static", libraries)
        self.assertIn("11 22 33", output(program, "--tasks", "3"))

    def cmake_build(self, name, target, component=""):
        """Builds a program of that name by CMake with the installed package; gives its path."""
        source, build = self.folder / f"cmake_{name}", self.folder / f"cmake_{name}_build"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(mine CXX)\n"
            f"find_package(ferry 0.2 CONFIG REQUIRED {component})\n"
            f"add_executable({name} {name}.cpp)\ntarget_link_libraries({name} PRIVATE {target})\n")
        program = MPI_PROGRAM if "mpi" in component else readme_program()
        (source / f"{name}.cpp").write_text(program)
        output("cmake", "-S", str(source), "-B", str(build), f"-DCMAKE_CXX_COMPILER={CXX}", f"-DCMAKE_PREFIX_PATH={self.prefix}",
               f"-DCMAKE_CXX_FLAGS={' '.join(WARNINGS)}")
        output("cmake", "--build", str(build))
        return str(build / name)

    @unittest.skipUnless(shutil.which("cmake"), "no cmake here")
    def test_a_new_project_runs(self):
        said = output(self.prefix / "bin" / "ferry", "new", "line", cwd=self.folder, env=self.env)
        made, _, commands = said.partition("next:\n")
        self.assertEqual(made, "made line/CMakeLists.txt and line/main.cpp\n")
        found = dict(self.env, CMAKE_PREFIX_PATH=str(self.prefix), CXX=CXX)
        out = output("sh", "-ec", commands, cwd=self.folder, env=found)
        self.assertLess(float(re.search(r"loss = (\S+) ", out)[1]), 0.01, out)

    @unittest.skipUnless(shutil.which("cmake"), "no cmake here")
    def test_cmake_finds_it(self):
        self.assertIn("11 22 33", output(self.cmake_build("shared_too", "ferry::ferry"), "--tasks", "3", env=self.env))
        self.assertIn("11 22 33", output(self.cmake_build("static_too", "ferry::ferry_static"), "--tasks", "3"))
        output(self.cmake_build("in_mpi", "ferry::mpi", "COMPONENTS mpi"), env=self.env)

    def test_a_program_brings_its_own_mpi(self):
        source = self.folder / "in_mpi.cpp"
        source.write_text(MPI_PROGRAM)
        flags = output("pkg-config", "--cflags", "--libs", "ferry-mpi", env=self.env).split()
        for mpi in "ompi", "mpich":
            with self.subTest(mpi):
                program = str(self.folder / f"in_{mpi}")
                of_mpi = output("pkg-config", "--cflags", "--libs", mpi).replace("-I", "-isystem ").split()
                output(CXX, *WARNINGS, str(source), "-o", program, *flags, *of_mpi)
                output(program, env=self.env)

    def test_pages_of_all_commands(self):
        man, share = self.prefix / "share" / "man" / "man1", self.prefix / "share"
        commands = re.findall(r"^  ([a-z]+)  ", self.ferry("--help").partition("Subcommands:")[2].partition("Examples:")[0], re.M)
        self.assertEqual(sorted(path.name for path in man.iterdir()), sorted(["ferry.1", *(f"ferry-{name}.1" for name in commands)]))
        completion = share / "bash-completion" / "completions" / "ferry.bash"
        self.assertTrue((share / "zsh" / "site-functions" / "_ferry").read_text().startswith("#compdef ferry\n"))
        for name in commands:
            options = set(re.findall(r"^  (?:-[a-z], )?(--[a-z-]+)", self.ferry(name, "--help"), re.M))
            page = (man / f"ferry-{name}.1").read_text().replace("\\-", "-")
            self.assertEqual({option for option in options if option not in page}, set(), name)
            script = f'. {completion}; COMP_WORDS=(ferry {name} --); COMP_CWORD=2; compopt() {{ :; }}; _ferry; echo "${{COMPREPLY[@]}}"'
            self.assertEqual(set(output("bash", "-c", script).split()), options, name)
        script = f'. {completion}; COMP_WORDS=(ferry run --device g); COMP_CWORD=3; compopt() {{ :; }}; _ferry; echo "${{COMPREPLY[@]}}"'
        self.assertEqual(output("bash", "-c", script).split(), ["gpu"])

    def typed(self, command, folder, env):
        """Exit code, output and errors of a command. What a command that ends with & leaves in the background ends with the test."""
        process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        if command.endswith("&"):
            self.addCleanup(end_group, process.pid)
        try:
            out, errors = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            end_group(process.pid)
            raise
        return process.returncode, out, errors

    def follow(self, page, files=None):
        """Types what stands in a page: programs and the commands after them. What comes out must be what the page says.

        Pages call this machine node1, and others node2 and node3, for which it has two more names, and a free port of it 7600;
        `build`, `samples` and `files`, by name, lie where they are typed.
        """
        folder = self.folder / page.removesuffix(".md").replace("/", "_")
        folder.mkdir()
        for name, content in (files or {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        (folder / "build").symlink_to(Path(BUILD).resolve())
        (folder / "samples").symlink_to(Path(README).parent.resolve() / "samples")
        env = dict(self.env, PATH=f"{self.prefix / 'bin'}:{os.environ['PATH']}", LC_ALL="C.UTF-8", OMPI_ALLOW_RUN_AS_ROOT="1",
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",  # fewer cores than tasks
                   CXX=CXX, CMAKE_PREFIX_PATH=str(self.prefix))
        text = (Path(README).parent / "docs" / page).read_text()
        for node, name in ("node1", socket.gethostname()), ("node2", "127.0.0.1"), ("node3", "[::1]"):
            text = text.replace(node, name)
        text = re.sub(r"\b7600\b", str(free_port()), text)
        pages.write_files(text, folder)

        def compile_it(name):
            output(CXX, *WARNINGS, f"{name}.cpp", "-o", name, *self.flags("--cflags", "--libs"), cwd=folder)

        not_typed = [name for name, _ in pages.programs(text) if not re.search(rf"(g\+\+|mpicxx) -std=c\+\+20 {name}\.cpp", text)]  # the page says it once for all
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(compile_it, not_typed))
        commands = pages.commands(text)
        for command, wanted in commands:
            if command.startswith("cmake ") and not shutil.which("cmake"):
                continue
            command = command.replace("g++ ", f"{CXX} ")
            code, out, errors = self.typed(command, folder, env)
            self.assertEqual(code, 0, f"{page}: {command}\n{out}{errors}")
            pages.differences(self, f"{page}: {command}", out, wanted)
        self.assertTrue(commands, page)

    def test_blocks_of_pages_compile(self):
        sources = []
        docs = Path(README).parent / "docs"
        for path in sorted(docs.rglob("*.md")):
            page = path.relative_to(docs).as_posix()
            if page in MADE_FROM_HEADERS:
                continue
            blocks = re.findall(r"^ *```cpp\n(?!// \w+\.cpp\n)(.*?)^ *```", path.read_text(), re.MULTILINE | re.DOTALL)
            frames = FRAMES.get(page, [])
            self.assertEqual(len(blocks), len(frames), f"{page}: a block needs a name (// NAME.cpp) or a frame in FRAMES")
            for number, (block, frame) in enumerate(zip(blocks, frames)):
                sources.append(self.folder / f"{path.stem}_{number}.cpp")
                sources[-1].write_text(frame.replace("PAGE", "\n" + block.replace("\n…\n", "\n")))

        def compile_it(source):
            of_ferry = ["-iquote", str(Path(README).parent)]
            output(CXX, "-fsyntax-only", *WARNINGS, *of_ferry, *self.flags("--cflags"), *MPI_FLAGS, str(source))

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(compile_it, sources))

    def test_a_first_program(self):
        self.follow("getting_started/first_program.md")

    def test_images(self):
        cards = {"blue/1": (0, 0, 255), "blue/2": (0, 51, 204), "blue/3": (0, 102, 153), "red/1": (255, 0, 0), "red/2": (204, 51, 0)}
        self.follow("guide/images.md", {f"cards/{name}.png": png(48, 36, colour) for name, colour in cards.items()})

    def test_asynchronous_training(self):
        self.follow("guide/asynchronous.md")

    def test_debugging(self):
        self.follow("guide/debugging.md")

    def test_serving(self):
        self.follow("guide/serving.md")

    def test_custom_ops(self):
        self.follow("guide/user_ops.md")

    def test_halos(self):
        self.follow("guide/halos.md")

    def test_the_guide(self):
        self.follow("guide/how_to.md")

    def test_tensors(self):
        self.follow("guide/tensors.md")

    def test_a_training_loop(self):
        self.follow("guide/training_loop.md")

    def test_tutorials(self):
        names = sorted(path.name for path in (Path(README).parent / "docs" / "tutorials").glob("*.md"))
        for page in names:
            with self.subTest(page):
                self.follow(f"tutorials/{page}")
        self.assertIn("stencil.md", names)

    def test_rules_files(self):
        self.follow("reference/rules_file.md")

    def test_host_names(self):
        self.follow("getting_started/host_names.md")

    def test_coming_from_elsewhere(self):
        names = sorted(path.name for path in (Path(README).parent / "docs" / "coming_from").glob("*.md"))
        for page in names:
            with self.subTest(page):
                self.follow(f"coming_from/{page}")
        self.assertIn("horovod.md", names)

    def ferry(self, *arguments, code=0):
        """What the installed command prints: its output, or where it fails its errors."""
        done = subprocess.run([str(self.prefix / "bin" / "ferry"), *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr if code else done.stdout

    def op_library(self, source):
        library = self.folder / (Path(source).stem + ".so")
        output(CXX, *WARNINGS, "-O2", "-shared", "-fPIC", *self.flags("--cflags"), str(source), "-o", str(library))
        return library

    def test_what_is_measured_beside_ferry_is_not_installed(self):
        self.assertFalse((self.prefix / "libexec").exists())
        done = subprocess.run([str(self.prefix / "bin" / "ferry"), "bench", "boost", "hop"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        skipped, = done.stderr.splitlines()
        self.assertRegex(skipped, r"^skipped: (?=.*boost)(?=.*hop\.\{4B,.*\}).*: their programs are only in a build folder of ferry")

    def test_the_command_runs(self):
        self.assertIn("ferry", self.ferry("doctor"))

    def test_ops_of_ones_own(self):
        library = self.op_library(USER_OPS / "hypot.cpp")
        graph = USER_OPS / "triangle.pbtxt"
        wanted = "c = [5 13 17]"
        self.assertIn(wanted, self.ferry("run", graph, "--tasks", 2, "--ops", library))
        self.assertIn("PASS", self.ferry("check", graph, "--tasks", 2, "--ops", library))
        self.assertIn("c = Hypot(a, b)", self.ferry("show", graph, "--ops", library))
        rules = self.folder / "rules.txt"
        rules.write_text("c split(0) on dp\n")
        self.assertIn(wanted, self.ferry("run", graph, "--tasks", 2, "--ops", library, "--devices", rules))
        plan = self.folder / "triangle.plan"
        self.ferry("plan", graph, "--tasks", 2, "--ops", library, "--save", plan)
        self.assertIn(wanted, self.ferry("run", plan, "--ops", library))
        program = self.folder / "with_hypot"
        program.with_suffix(".cpp").write_text(HYPOT + HYPOT_PROGRAM)
        output(CXX, *WARNINGS, f"{program}.cpp", "-o", program, *self.flags("--cflags", "--libs"))
        self.assertIn(wanted, output(str(program), "--tasks", "2", "--ops", str(library), env=self.env))

    def test_libraries_that_hold_no_ops(self):
        library = self.op_library(USER_OPS / "hypot.cpp")

        def refused(code, *libraries):
            options = [word for path in libraries for word in ("--ops", path)]
            return self.ferry("run", USER_OPS / "triangle.pbtxt", "--tasks", 2, *options, code=code)

        self.assertIn("--ops LIB.so", refused(3))
        self.assertIn("cannot be opened", refused(3, self.folder / "nowhere.so"))
        self.assertIn("ELF", refused(3, self.program))
        self.assertIn("no function ferry_add_ops", refused(3, self.libdir / "libferry.so"))
        self.assertIn("defined twice", refused(2, library, library))
        other = self.folder / "other.cpp"
        other.write_text('extern "C" void ferry_add_ops() {}\n'
                         'extern "C" const unsigned* ferry_ops_layout() { static const unsigned sizes[64] = {}; return sizes; }\n')
        self.assertIn("another version of ferry", refused(3, self.op_library(other)))
        other = self.folder / "bare.cpp"
        other.write_text("#include <ferry/kernels/user_ops.hpp>\n"
                         'constexpr ferry::OpDef kBare{.name = "Bare", .types = "T->T", .index = "...->..."};\n'
                         "void ferry_add_ops(ferry::UserOps& to) { to.ops.add(kBare); }\n")
        self.assertIn("'Bare' has no kernel", refused(3, self.op_library(other)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ["Installed.test_each_header_stands_alone"] * HEADERS_ALONE)
