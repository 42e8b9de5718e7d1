#!/usr/bin/env python3
"""`ferry import` and `ferry conformance` from the command line, with a real model:

    command_test.py FERRY FOLDER
"""
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from models_test import rows
from npy import read_npy, write_npy

FERRY = sys.argv[1]
MODEL = Path(sys.argv[2])
NUMBERS = {"<f4": 1, "<i4": 6}  # ONNX's numbers of these dtypes


def ferry(*words):
    return subprocess.run([FERRY, *map(str, words)], capture_output=True, text=True)


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def tensor_proto(descr, shape, content):
    dims = b"".join(b"\x08" + varint(size) for size in shape)
    return dims + b"\x10" + varint(NUMBERS[descr]) + b"\x4a" + varint(len(content)) + content


def field(number, content):
    """A field of a protobuf message, encoded: a string, another message, or a number."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def float_value(name, *sizes):
    shape = b"".join(field(1, field(1, size)) for size in sizes)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def case(self, name, change=lambda content: content):
        """Makes a conformance case of the model, with `change` applied to its expected output."""
        case = self.folder / name
        data = case / "test_data_set_0"
        data.mkdir(parents=True)
        shutil.copy(MODEL / "model.onnx", case / "model.onnx")
        (data / "input_0.pb").write_bytes(tensor_proto(*read_npy(MODEL / "bytes.npy")))
        descr, shape, content = read_npy(MODEL / "target_label.npy")
        (data / "output_0.pb").write_bytes(tensor_proto(descr, shape, change(content)))
        return case

    def test_an_imported_graph_runs_as_the_model_does(self):
        feed = f"bytes={MODEL / 'bytes.npy'}"
        files = [MODEL / "model.onnx"]
        for name, dims in (("for_two.pb", ["--dim", "unk__214=2"]), ("for_all.pb", [])):
            files.append(self.folder / name)
            done = ferry("import", MODEL / "model.onnx", files[-1], *dims)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, name + r": \d+ ops\n")
        results = []
        for number, file in enumerate(files):
            out = self.folder / str(number)
            self.assertEqual(ferry("run", file, "--feed", feed, "--out", out).returncode, 0)
            results.append((out / "target_label.npy").read_bytes())
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])

    def test_an_input_with_a_default_may_be_fed(self):
        node = field(1, "x") + field(1, "c") + field(2, "y") + field(4, "Add")
        one = tensor_proto("<f4", (), b"\x00\x00\x80\x3f") + field(8, "c")
        graph = field(1, node) + field(2, "g") + field(5, one)
        graph += field(11, float_value("x")) + field(11, float_value("c")) + field(12, float_value("y"))
        for version, fed in ((8, 0), (3, 2)):
            model = self.folder / f"{version}.onnx"
            model.write_bytes(field(1, version) + field(7, graph) + field(8, field(2, 17)))
            self.assertIn("y = 3 ", ferry("run", model, "--feed", "x=2").stdout)
            done = ferry("run", model, "--feed", "x=2", "--feed", "c=5")
            self.assertEqual(done.returncode, fed)
            if fed == 0:
                self.assertIn("y = 7 ", done.stdout)

    def test_a_dim_that_no_input_has_is_named(self):
        done = ferry("import", MODEL / "model.onnx", self.folder / "m.pb", "--dim", "batch=2")
        self.assertEqual(done.returncode, 2)
        self.assertIn('--dim batch=2: no input has a dim of that name; there are "unk__214"', done.stderr)
        self.assertFalse((self.folder / "m.pb").exists())

    def test_a_feed_of_other_sizes_is_refused(self):
        write_npy(self.folder / "x.npy", "<i4", (1, 7), rows(MODEL / "bytes.npy", 1)[2][:28])
        done = ferry("run", MODEL / "model.onnx", "--feed", f"bytes={self.folder / 'x.npy'}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("is [unk__214,2048] in the model, and is given as [1,7]", done.stderr)

    def test_plan_check_and_show_take_models(self):
        model = ["--dim", "unk__214=2"]
        self.assertIn("PASS", ferry("check", MODEL / "model.onnx", *model, "--tasks", "2").stdout)
        self.assertIn("MagikaV2/Conv_0", ferry("plan", MODEL / "model.onnx", "--all", *model).stdout)
        shown = ferry("show", MODEL / "model.onnx", *model).stdout
        self.assertIn("entry predict: feeds bytes; fetches target_label", shown)

    def test_conformance_tells_what_fails(self):
        self.case("good")
        self.case("bad", lambda content: b"\0\0\x80\x3f" + content[4:])
        done = ferry("conformance", self.folder)
        self.assertEqual(done.returncode, 1)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^bad: failed: output 0: element 0 is 0\.\d+, not 1\.000000$")
        self.assertEqual(lines[1:], ["1 passed, 1 failed, 0 skipped"])
        self.assertEqual(ferry("conformance", self.folder / "good").returncode, 0)

    def test_conformance_as_json_and_with_a_tolerance(self):
        case = self.case("far", lambda content: b"\0\0\x80\x3f" + content[4:])
        (case / "data.json").write_text('{"atol": 2}')
        done = ferry("conformance", "--json", case)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout), {"cases": [{"name": "far", "result": "passed"}]})

    def test_conformance_without_cases(self):
        done = ferry("conformance", self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("has a model.onnx", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
