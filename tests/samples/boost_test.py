"""Tests the samples `boost` and `logistic`: compares boosted trees with XGBoost's, on several numbers of tasks, and gives
them bad input.

usage: boost_test.py FERRY SAMPLES_FOLDER DATA_FOLDER REFERENCE.json
The last line is "N passed, N failed, N skipped".
"""

import gzip
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

FERRY, SAMPLES, DATA, REFERENCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
MPIRUN = shutil.which("mpirun")
EXPECTED = {
    "shallow": "train: 145 of 6513 wrong, log loss 0.13654\ntest: 35 of 1611 wrong, log loss 0.13776\n",
    "deep": "train: 0 of 6513 wrong, log loss 0.02390\ntest: 0 of 1611 wrong, log loss 0.02394\n",
}


def run(*arguments, ranks=0, code=0, program=SAMPLES / "boost"):
    """What the program prints, under mpirun when `ranks` are given; the exit code must be `code`."""
    command = [str(program), *map(str, arguments)]
    if ranks:
        command = [MPIRUN, "--oversubscribe", "-np", str(ranks), *command]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == code, f"{' '.join(command)} ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}"
    return done.stdout if code == 0 else done.stderr


def trees_in(path):
    """The trees of a model's file, in the form of the reference."""
    trees = []
    for line in path.read_text().splitlines()[2:-1]:
        word, *rest = line.split()
        if word == "tree":
            trees.append([])
        elif word == "leaf":
            trees[-1].append({"leaf": float(rest[0])})
        else:
            feature, threshold, left, right, missing = rest
            trees[-1].append({"feature": int(feature), "threshold": float(threshold), "left": int(left), "right": int(right),
                              "missing": missing})
    return trees


def near(got, wanted):
    return abs(got - wanted) <= 2e-5 * (1 + abs(wanted))


def same_node(got, wanted):
    return got.keys() == wanted.keys() and all(
        near(got[key], wanted[key]) if key in ("leaf", "threshold") else got[key] == wanted[key] for key in got)


def training(reference):
    setting = reference["parameters"]
    return ["--depth", setting["max_depth"], "--eta", setting["eta"], "--rounds", reference["rounds"]]


def trees_are_those_of_xgboost(folder):
    for name, reference in json.loads(REFERENCE.read_text())["models"].items():
        assert run(DATA, *training(reference), "--save", folder / name) == EXPECTED[name], name
        trees = trees_in(folder / name)
        assert len(trees) == len(reference["trees"]), name
        for number, (got, wanted) in enumerate(zip(trees, reference["trees"])):
            assert len(got) == len(wanted), f"{name}, tree {number}: {len(got)} nodes, not {len(wanted)}"
            for node, pair in enumerate(zip(got, wanted)):
                assert same_node(*pair), f"{name}, tree {number}, node {node}: {pair[0]}, not {pair[1]}"


def predicts_from_its_model(folder):
    for name, expected in EXPECTED.items():
        assert run(DATA, "--model", folder / name) == expected.splitlines(keepends=True)[1], name


def tasks_make_the_same_model(folder):
    for name, reference in json.loads(REFERENCE.read_text())["models"].items():
        for ranks in (1, 2, 3):
            file = folder / f"{name}-{ranks}"
            assert run(DATA, *training(reference), "--save", file, ranks=ranks) == EXPECTED[name], (name, ranks)
            assert file.read_bytes() == (folder / name).read_bytes(), (name, ranks)
    assert run(DATA, "--model", folder / "deep", ranks=2) == EXPECTED["deep"].splitlines(keepends=True)[1]


def tensors_in(path):
    """The numbers of the tensors in a model's file, by name; only those of int64 and float32."""
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    found = {}
    for name, facts in json.loads(content[8:8 + size]).items():
        if name != "__metadata__" and facts["dtype"] in ("I64", "F32"):
            begin, end = (8 + size + at for at in facts["data_offsets"])
            letter, width = {"I64": ("q", 8), "F32": ("f", 4)}[facts["dtype"]]
            found[name] = struct.unpack(f"<{(end - begin) // width}{letter}", content[begin:end])
    return found


def complete_tree_is(nodes, features, leaves, at=0, place=0, level=0):
    """Compares the graph's complete tree with `nodes`. Node `place` has the children 2 * place, for rows without its feature, and
    2 * place + 1."""
    node = nodes[at]
    below = level < (len(features) + 1).bit_length() - 1
    feature = features[2 ** level - 1 + place] if below else 0
    assert feature == node.get("feature", 0), (at, feature, node)
    if below and "leaf" in node:  # all rows go one way
        complete_tree_is(nodes, features, leaves, at, 2 * place + 1, level + 1)
    elif "leaf" in node:
        assert near(leaves[place], node["leaf"]), (at, leaves[place], node)
    else:
        lacking, having = ("left", "right") if node["missing"] == "left" else ("right", "left")
        complete_tree_is(nodes, features, leaves, node[lacking], 2 * place, level + 1)
        complete_tree_is(nodes, features, leaves, node[having], 2 * place + 1, level + 1)


def graph_makes_the_same_trees(folder):
    for name, train, test in (("deep", "train", "eval"), ("shallow", "shallow", "shallow_eval")):
        reference = json.loads(REFERENCE.read_text())["models"][name]
        rounds, models = reference["rounds"], set()
        for tasks, ranks in ((1, 0), (2, 0), (3, 0), (None, 2)):
            model, launch = folder / f"graph-{name}-{tasks}", ["--tasks", tasks] if tasks else []
            words = ["run", SAMPLES / "boost.pb", "--data", DATA, *launch]
            said = run(*words, "--entry", train, "--steps", rounds, "--print-every", 1, "--save", model, program=FERRY, ranks=ranks)
            assert len(re.findall(r"^step \d+/\d+: loss = \S+ wrong = \d+(?:, .*)?$", said, re.M)) == rounds, said
            models.add((model / "variables.safetensors").read_bytes())
            said = run(*words, "--entry", test, "--model", model, program=FERRY, ranks=ranks)
            wrong, loss = re.search(r"^test: (\d+) of 1611 wrong, log loss (\S+)", EXPECTED[name], re.M).groups()
            assert f"wrong = {wrong} " in said and abs(float(re.search(r"^loss = (\S+)", said, re.M).group(1)) - float(loss)) < 1e-5, said
        assert len(models) == 1, f"{name}: other bits on other tasks"
        made = tensors_in(model / "variables.safetensors")
        features, leaves = made[f"{train}/features"], made[f"{train}/leaves"]
        for number, nodes in enumerate(reference["trees"]):
            inner, outer = len(features) // rounds, len(leaves) // rounds
            complete_tree_is(nodes, features[number * inner:][:inner], leaves[number * outer:][:outer])


def any_files_will_do(folder):
    train, test = DATA / "agaricus.train.gz", folder / "test.libsvm"
    test.write_bytes(gzip.decompress((DATA / "agaricus.test.gz").read_bytes()))
    assert run(train, test, "--save=" + str(folder / "model"), "--deadline", "30") == EXPECTED["deep"]
    assert run(train) == EXPECTED["deep"].splitlines(keepends=True)[0]
    assert run(test, "--model", folder / "model") == EXPECTED["deep"].splitlines(keepends=True)[1]
    help = run("--help")
    for word in ("--depth", "--eta", "--rounds", "--save", "--model", "--deadline", "LibSVM"):
        assert word in help, word
    refuses("one file more than needed", train, test, "--model", folder / "model", code=2)
    refuses("one file more than to train and to test", train, test, test, code=2)
    refuses("--depth lacks its value", train, "--depth", code=2)


def refuses(says, *arguments, code=3):
    message = run(*arguments, code=code)
    assert says in message, f"not in the message: {says}\n{message}"


def bad_data_is_refused(folder):
    def data(train):
        (folder / "data").mkdir(exist_ok=True)
        (folder / "data" / "agaricus.train.gz").write_bytes(train)
        return folder / "data"

    refuses("No such file", folder)
    refuses("gzip", data(gzip.compress(b"1 1:1\n" * 99)[:-9]))
    refuses('agaricus.train.gz:2:5: the value "x" is not a number', data(b"1 1:1\n0 1:x\n"))
    refuses("the label of row 2 is 3", data(b"1 1:1\n3 1:1\n"))
    refuses("a value of row 2 is nan, not a finite number", data(b"1 1:1\n0 1:1 2:nan\n"))
    refuses("the index 4194304 is not below 4194304", data(b"1 4194304:1\n"))
    refuses("all 2 rows have one label", data(b"1 1:1\n1 2:1\n"))
    refuses("holds no rows", data(b""))


def bad_models_are_refused(folder):
    good = (folder / "shallow").read_text()
    file = folder / "damaged"

    def damaged(says, text):
        file.write_text(text)
        refuses(says, DATA, "--model", file)

    damaged("it does not begin with", "")
    damaged("damaged:2: expected", good.replace("base_score", "score"))
    damaged("the base score is not between 0 and 1", good.replace("base_score 0.", "base_score 7."))
    damaged("its children are not among the nodes", good.replace(" 3 4 right", " 3 9 right"))
    damaged("its children are not among the nodes", good.replace(" 3 4 right", " 0 4 right"))
    damaged("is neither left nor right", good.replace(" 3 4 right", " 3 4 up"))
    damaged("a tree of 0 nodes", good.replace("tree 7", "tree 0"))
    damaged("expected", good.replace("tree 7", "tree 9"))
    damaged("there is more than the model", good + "more\n")
    for end in range(0, len(good) - 1, 7):
        damaged("damaged", good[:end])


def bad_options_are_refused(folder):
    refuses("no folder or file with data is given", code=2)
    refuses("--depth 99: not a number from 1 to 16", DATA, "--depth", 99, code=2)
    refuses("--eta x: not a number", DATA, "--eta", "x", code=2)
    refuses("--rounds lacks its value", DATA, "--rounds", code=2)
    refuses("unknown option --round", DATA, "--round", 3, code=2)


def logistic_learns(folder):
    expected = None
    for name, tasks, ranks in (("one", 1, 0), ("two", 2, 0), ("mpi", None, 2)):
        model, launch = folder / f"logistic-{name}", ["--tasks", tasks] if tasks else []
        words = ["run", SAMPLES / "logistic.pb", "--data", DATA, *launch]
        output = run(*words, "--epochs", 5, "--print-every", 102, "--save", model, program=FERRY, ranks=ranks)
        steps = re.findall(r"^step (\d+)/510: loss = \S+, ", output, re.M)
        assert steps == ["102", "204", "306", "408", "510"], output
        output = run(*words, "--entry", "eval", "--model", model, program=FERRY, ranks=ranks)
        wrong, loss = (float(re.search(rf"^{fetch} = (\S+)", output, re.M).group(1)) for fetch in ("wrong", "loss"))
        assert wrong <= 8, f"{name}: {wrong} of 1611 wrong"
        assert loss < 0.04, f"{name}: loss {loss}"
        expected = expected or (wrong, loss)
        assert wrong == expected[0] and near(loss, expected[1]), f"{name}: {(wrong, loss)}, not {expected}"


def main():
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for check in (trees_are_those_of_xgboost, predicts_from_its_model, any_files_will_do, tasks_make_the_same_model, graph_makes_the_same_trees, bad_data_is_refused,
                      bad_models_are_refused, bad_options_are_refused, logistic_learns):
            if MPIRUN is None and check in (tasks_make_the_same_model, graph_makes_the_same_trees, logistic_learns):
                print(f"SKIP {check.__name__}: there is no mpirun")
                skipped += 1
                continue
            try:
                check(folder)
                passed += 1
            except AssertionError as error:
                print(f"FAIL {check.__name__}: {error}")
                failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed != 0)


main()
