"""Writes boost_reference.json: the trees of XGBoost that the sample `boost` is compared with.

usage: boost_reference.py DATA_FOLDER OUT.json     (needs `pip install xgboost-cpu`)
"""

import gzip
import json
import math
import pathlib
import sys
import tempfile

import xgboost

SETTINGS = {"shallow": {"max_depth": 2, "eta": 1.0, "rounds": 2}, "deep": {"max_depth": 6, "eta": 0.3, "rounds": 10}}


def matrix(path):
    with tempfile.NamedTemporaryFile(suffix=".txt") as plain:
        plain.write(gzip.decompress(path.read_bytes()))
        plain.flush()
        return xgboost.DMatrix(plain.name + "?format=libsvm")


def trees_of(booster):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        booster.save_model(file.name)
        model = json.loads(pathlib.Path(file.name).read_text())["learner"]
    trees = []
    for tree in model["gradient_booster"]["model"]["trees"]:
        nodes = []
        for i, left in enumerate(tree["left_children"]):
            if left < 0:
                nodes.append({"leaf": tree["split_conditions"][i]})
            else:
                nodes.append({"feature": tree["split_indices"][i], "threshold": tree["split_conditions"][i], "left": left,
                              "right": tree["right_children"][i], "missing": "left" if tree["default_left"][i] else "right"})
        trees.append(nodes)
    return trees, float(model["learner_model_param"]["base_score"].strip("[]"))


def main():
    folder, out = map(pathlib.Path, sys.argv[1:])
    train, test = matrix(folder / "agaricus.train.gz"), matrix(folder / "agaricus.test.gz")
    labels = test.get_label()
    models = {}
    for name, setting in SETTINGS.items():
        parameters = {"objective": "binary:logistic", "tree_method": "hist", "max_depth": setting["max_depth"], "eta": setting["eta"]}
        booster = xgboost.train(parameters, train, setting["rounds"])
        guesses = booster.predict(test)
        losses = [-math.log(p if y else 1 - p) for p, y in zip(guesses.astype(float), labels)]
        trees, base_score = trees_of(booster)
        models[name] = {"parameters": parameters, "rounds": setting["rounds"], "base_score": base_score,
                        "wrong": int(((guesses > 0.5) != labels).sum()), "log_loss": sum(losses) / len(losses), "trees": trees}
    out.write_text(json.dumps({"xgboost": xgboost.__version__, "models": models}, indent=0) + "\n")


main()
