#!/usr/bin/env python3
"""Checks the manifests of deploy/kubernetes against the schemas of Kubernetes, strictly, and runs their commands on this host:

    manifests_test.py FERRY SAMPLES_FOLDER

crds/README.md says where the schemas are from. Ends with 77, skipped, without the Python modules yaml and jsonschema.
"""
import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"[skip] manifests of Kubernetes: {missing}")
    sys.exit(77)

FERRY, SAMPLES = (os.path.abspath(word) for word in sys.argv[1:3])
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import tcp_job  # noqa: E402

SECONDS = 100
# What the schemas leave to the API server.
WORDS = {"restartPolicy": ["Always", "OnFailure", "Never", "ExitCode"], "completionMode": ["Indexed", "NonIndexed"],
         "cleanPodPolicy": ["None", "Running", "All"]}
NAME = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
METADATA = {"type": "object", "required": ["name"], "properties": {"name": NAME, "namespace": NAME, "labels": TEXTS, "annotations": TEXTS}}
SERVICE = {"type": "object", "required": ["selector"],
           "properties": {"clusterIP": {"enum": ["None"]}, "publishNotReadyAddresses": {"type": "boolean"}, "selector": TEXTS}}


def manifests():
    """{(file, kind): what it says}"""
    return {(path.name, document["kind"]): document for path in sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
            for document in yaml.safe_load_all(path.read_text())}


def strict(schema):
    """The schema, which no longer allows the properties that an API server drops."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: strict(value) for key, value in schema.items()}
    if isinstance(properties := result.get("properties"), dict):
        result.setdefault("additionalProperties", result.get("x-kubernetes-preserve-unknown-fields", False))
        for name, words in WORDS.items():
            if properties.get(name, {}).get("type") == "string":
                properties[name] = {"enum": words}
    if result.get("x-kubernetes-int-or-string"):
        result.pop("type", None)
        result["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return result


def top(group, kind, spec):
    return strict({"type": "object", "required": ["apiVersion", "kind", "metadata", "spec"],
                   "properties": {"apiVersion": {"const": group}, "kind": {"const": kind}, "metadata": METADATA, "spec": spec}})


def schemas():
    result = {}
    for path in sorted(Path(__file__).parent.glob("crds/*.json")):
        definition = json.loads(path.read_text())["spec"]
        [version] = definition["versions"]
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        result[definition["names"]["kind"]] = top(f"{definition['group']}/{version['name']}", definition["names"]["kind"], spec)
        if definition["names"]["kind"] == "ClusterTrainingRuntime":  # it has jobs of Kubernetes' own
            jobs = spec["properties"]["template"]["properties"]["spec"]["properties"]["replicatedJobs"]["items"]
            result["Job"] = top("batch/v1", "Job", jobs["properties"]["template"]["properties"]["spec"])
    result["Service"] = top("v1", "Service", SERVICE)
    return result


def faults(document):
    """The path and message of each fault."""
    found = jsonschema.Draft7Validator(SCHEMAS[document["kind"]]).iter_errors(document)
    return ["/".join(map(str, fault.absolute_path)) + ": " + fault.message for fault in found]


def container(pod):
    [only] = pod["spec"]["containers"]
    return only


MANIFESTS = manifests()
SCHEMAS = schemas()
MPI, JOB, SERVED = MANIFESTS["mpijob.yaml", "MPIJob"], MANIFESTS["job.yaml", "Job"], MANIFESTS["job.yaml", "Service"]
RUNTIME, TRAIN = MANIFESTS["trainjob.yaml", "ClusterTrainingRuntime"], MANIFESTS["trainjob.yaml", "TrainJob"]
NODE = RUNTIME["spec"]["template"]["spec"]["replicatedJobs"][0]


class Schemas(unittest.TestCase):
    def test_all_manifests_are_valid(self):
        self.assertEqual(len(MANIFESTS), 5)
        for (file, kind), document in MANIFESTS.items():
            self.assertEqual(faults(document), [], f"{file}, {kind}")

    def test_planted_errors_are_found(self):
        pod = "spec/template/spec"
        worker = "spec/mpiReplicaSpecs/Worker/template/spec/containers/0"
        node = "spec/template/spec/replicatedJobs/0/template/spec/template/spec"
        for document, path, value in (
                (MPI, "spec/cleanPodPolicy", "Running"),  # where version v1alpha2 had it
                (MPI, "spec/slotsPerWorker", "1"),
                (MPI, "spec/mpiReplicaSpecs/Launcher/restartPolicy", "Onfailure"),
                (MPI, f"{worker}/resources/limits/cpu", "4 cores"),
                (MPI, f"{worker}/comand", ["ferry", "worker"]),
                (JOB, "spec/completionMode", "indexed"),
                (JOB, "spec/completions", "4"),
                (JOB, f"{pod}/containers/0/env/0", {"name": "WORLD_SIZE", "value": 4}),
                (JOB, f"{pod}/containers/0/env/3/valueFrom/secretKeyRef", {"name": "ferry"}),
                (SERVED, "spec/clusterIP", "none"),
                (RUNTIME, f"{node}/volumes/0/persistentVolumeClaim", {"claim": "shared"}),
                (RUNTIME, f"{node}/terminationGracePeriodSeconds", "120"),
                (TRAIN, "spec/runtimeRef", {"kind": "ClusterTrainingRuntime"}),
                (TRAIN, "metadata/name", "Train")):
            wrong = copy.deepcopy(document)
            *parents, last = (int(word) if word.isdigit() else word for word in path.split("/"))
            at = wrong
            for word in parents:
                at = at[word]
            at[last] = value
            self.assertTrue(faults(wrong), f"{path} of {document['kind']}")


class Meaning(unittest.TestCase):
    """What no schema says."""

    def test_the_pods_of_the_job_find_one_another(self):
        spec, name, service = JOB["spec"], JOB["metadata"]["name"], SERVED["metadata"]["name"]
        variables = {one["name"]: one.get("value") for one in container(spec["template"])["env"]}
        self.assertEqual({str(spec["completions"]), str(spec["parallelism"])}, {variables["WORLD_SIZE"]})
        self.assertEqual(variables["MASTER_ADDR"], f"{name}-0.{service}")
        self.assertEqual(spec["template"]["spec"]["subdomain"], service)
        self.assertEqual(SERVED["spec"]["selector"], {"batch.kubernetes.io/job-name": name})

    def test_the_runtime_is_as_the_trainer_knows_it(self):
        self.assertEqual(TRAIN["spec"]["runtimeRef"]["name"], RUNTIME["metadata"]["name"])
        self.assertEqual((NODE["name"], container(NODE["template"]["spec"]["template"])["name"]), ("node", "node"))
        self.assertEqual(NODE["template"]["metadata"]["labels"], {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"})

    def test_exit_code_75_starts_a_pod_again(self):
        roles = MPI["spec"]["mpiReplicaSpecs"]
        self.assertEqual({name: role["restartPolicy"] for name, role in roles.items()}, {"Launcher": "OnFailure", "Worker": "OnFailure"})
        for pod in (JOB["spec"]["template"], NODE["template"]["spec"]["template"]):
            self.assertEqual(pod["spec"]["restartPolicy"], "OnFailure")

    def test_tasks_get_less_time_than_their_pods(self):
        for role in MPI["spec"]["mpiReplicaSpecs"].values():
            command = container(role["template"])["command"]
            self.assertLess(int(command[command.index("--grace") + 1]), role["template"]["spec"]["terminationGracePeriodSeconds"])


class Commands(unittest.TestCase):
    """The commands of the containers, with the folder of a test as the volume."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.shared = Path(folder.name)
        os.symlink(f"{SAMPLES}/digits.pb", self.shared / "model.pb")
        os.symlink(ROOT / "samples" / "data", self.shared / "data")

    def words(self, container_of, args=None):
        words = [*container_of["command"], *(args or container_of["args"])]
        words = [FERRY if word == "ferry" else word.replace("/shared", str(self.shared)) for word in words]
        return ["2" if word == "90" else word for word in words]  # epochs

    def check_trained(self, tasks):
        """All tasks end well, and there are checkpoints and a model."""
        for task in tasks:
            said = task.communicate(timeout=SECONDS)[0]
            self.assertEqual(task.returncode, 0, said)
        self.assertTrue(list(self.shared.glob("saved/step-*")))
        self.assertTrue((self.shared / "trained" / "manifest.json").exists())

    def start(self, words, **variables):
        task = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=tcp_job.environment(**variables))
        self.addCleanup(task.stdout.close)
        self.addCleanup(task.kill)
        return task

    def test_the_job(self):
        container_of = container(JOB["spec"]["template"])
        variables = {one["name"]: one.get("value", "only this test knows") for one in container_of["env"]}
        variables.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(tcp_job.free_port()))
        self.check_trained([self.start(self.words(container_of), **variables, JOB_COMPLETION_INDEX=str(index))
                            for index in range(JOB["spec"]["completions"])])

    def test_the_train_job(self):
        count = TRAIN["spec"]["trainer"]["numNodes"]
        port = str(tcp_job.free_port())
        words = self.words(container(NODE["template"]["spec"]["template"]), TRAIN["spec"]["trainer"]["args"])
        self.check_trained([self.start(words, PET_NODE_RANK=str(index), PET_NNODES=str(count), PET_MASTER_ADDR="127.0.0.1", PET_MASTER_PORT=port,
                                       FERRY_SECRET="only this test knows") for index in range(count)])

    def test_the_launcher(self):
        hostfile = self.shared / "hostfile"
        hostfile.write_text("localhost slots=2\n")
        words = self.words(container(MPI["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]))
        self.check_trained([self.start(words, OMPI_MCA_orte_default_hostfile=str(hostfile))])

    def test_the_worker(self):
        words = self.words({"args": [], **container(MPI["spec"]["mpiReplicaSpecs"]["Worker"]["template"])})
        server = words.index("/usr/sbin/sshd")
        task = self.start([*words[:server], "echo", *words[server + 1:]])
        self.assertEqual((task.communicate(timeout=SECONDS)[0], task.returncode), ("-De -f /home/mpiuser/.sshd_config\n", 0))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
