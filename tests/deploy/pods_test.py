#!/usr/bin/env python3
"""Runs the manifests of deploy/kubernetes as pods, started as Kubernetes and the operators start them: pods_test.py FERRY SAMPLES_FOLDER

Each job loses a pod, has another one drained, and ends with the bits of an undisturbed run in one process. Needs what hosts_test.py and
manifests_test.py do, podman and runc; ends with 77, skipped, where one is missing.
"""
import copy
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "support")]
import pods  # noqa: E402
import tcp_job  # noqa: E402
import three_hosts  # noqa: E402
from manifests_test import FERRY, JOB, MPI, NODE, ROOT, SAMPLES, TRAIN, container  # noqa: E402

ENDLESS = 1000000000
TASKS = 4  # of the largest job
UP = r"\bstep \d+/"


class Jobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.image = pods.Image(ROOT / "deploy" / "kubernetes" / "Containerfile")
        cls.image.run("ln", "-s", "/opt/ferry/ferry", "/usr/local/bin/ferry")

    def setUp(self):
        self.folder = Path(os.environ["NETNS_DIR"], self.id())
        self.shared = self.folder / "shared"
        shutil.copytree(ROOT / "samples" / "data", self.shared / "data")
        shutil.copy(f"{SAMPLES}/digits.pb", self.shared / "model.pb")
        self.shared.chmod(0o777)
        self.cluster = pods.Cluster(self.image, {"ferry": {"secret": "only this test knows it"}}, {"shared": self.shared})

    def start(self, name, template, steps, subdomain, variables, mounts=()):
        """A pod with the arguments of a user: another number of steps, checkpoints by steps, and the bits of one process."""
        template = copy.deepcopy(template)
        words = {"--epochs": "--steps", "90": steps, "60s": "50"}
        one = container(template)
        one["args"] = [str(words.get(word, word)) for word in one.get("args", [])] + (["--print-every", "100", f"--invariant={TASKS}"] if "args" in one else [])
        pod = self.cluster.start(name, f"{name}.{subdomain}", template, variables, [(Path(FERRY).parent, "/opt/ferry"), *mounts])
        self.addCleanup(self.end, pod)
        return pod

    @staticmethod
    def end(pod):
        if not pod.ended:
            pod.kill()

    def newest(self):
        """The step of the newest checkpoint."""
        return max(int(path.name.split("-")[1]) for path in self.shared.glob("saved/step-*"))

    def check_trained(self, tasks, steps):
        done = subprocess.run([FERRY, "run", self.shared / "model.pb", "--data", self.shared / "data", "--steps", str(steps), "--tasks", str(tasks),
                               f"--invariant={TASKS}", "--save", self.folder / "undisturbed"], env=tcp_job.environment(), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        weights = [{path.name: path.read_bytes() for path in folder.glob("*.safetensors")} for folder in
                   (self.shared / "trained", self.folder / "undisturbed")]
        self.assertTrue(weights[0])
        self.assertEqual(*weights)

    def check_equal_pods(self, tasks, start):
        """Job and TrainJob. `start(index, steps)` starts a pod."""
        late = {index: start(index, ENDLESS) for index in range(tasks - 1, 0, -1)}
        for pod in late.values():
            pod.await_said("the host is not known yet")
        running = {0: start(0, ENDLESS), **late}
        running[0].await_said(UP)
        # A node is lost: Kubernetes starts the other containers again, and replaces the pod.
        self.assertEqual(running.pop(2).kill(), 137)
        for pod in running.values():
            self.assertEqual(pod.end(), 5, pod.said)
            pod.start()
        running[2] = start(2, ENDLESS)
        running[0].await_said(UP)
        # A node is drained.
        self.assertEqual(running[1].drain(), 75, running[1].said)
        self.assertEqual({pod.end() for pod in running.values()}, {75})
        steps = self.newest() + 100
        running = [start(index, steps) for index in range(tasks)]
        for pod in running:
            self.assertEqual(pod.end(), 0, pod.said)
        self.assertIn(f"continues after step {steps - 100} of {steps}", running[0].said)
        self.check_trained(tasks, steps)

    def test_the_job(self):
        def start(index, steps):
            return self.start(f"train-{index}", JOB["spec"]["template"], steps, "train", {"JOB_COMPLETION_INDEX": index})
        self.check_equal_pods(JOB["spec"]["completions"], start)

    def test_the_train_job(self):
        trainer = TRAIN["spec"]["trainer"]
        template = copy.deepcopy(NODE["template"]["spec"]["template"])
        container(template).update(args=trainer["args"], resources=trainer["resourcesPerNode"])

        def start(index, steps):
            return self.start(f"train-node-0-{index}", template, steps, "train",
                              {"PET_NNODES": trainer["numNodes"], "PET_NPROC_PER_NODE": "auto", "PET_NODE_RANK": index,
                               "PET_MASTER_ADDR": "train-node-0-0.train", "PET_MASTER_PORT": 29400})
        self.check_equal_pods(trainer["numNodes"], start)

    def test_the_mpi_job(self):
        """With two workers. A launcher starts before them, and one of them is late."""
        keys, config = self.folder / "keys", self.folder / "config"
        keys.mkdir()
        config.mkdir()
        subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", keys / "id_rsa"], check=True)
        shutil.copy(keys / "id_rsa.pub", keys / "authorized_keys")
        (keys / "id_rsa").chmod(0o644)  # as a secret of Kubernetes
        service, slots = "train.default.svc", MPI["spec"]["slotsPerWorker"]
        (config / "hostfile").write_text("".join(f"train-worker-{index}.{service} slots={slots}\n" for index in range(2)))
        roles, secret = MPI["spec"]["mpiReplicaSpecs"], (keys, MPI["spec"]["sshAuthMountPath"])

        def launch(steps):
            return self.start("train-launcher", roles["Launcher"]["template"], steps, service,
                              {"K_MPI_JOB_ROLE": "launcher", "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
                               "OMPI_MCA_orte_keep_fqdn_hostnames": "true", "OMPI_MCA_orte_set_default_slots": slots}, [secret, (config, "/etc/mpi")])

        def work(index):
            return self.start(f"train-worker-{index}", roles["Worker"]["template"], ENDLESS, service, {"K_MPI_JOB_ROLE": "worker"}, [secret])
        launcher = launch(ENDLESS)
        launcher.await_said("cannot be reached by ssh yet: .*; ferry tries again until --deadline")
        workers = [work(0)]
        workers[0].await_said("Server listening")
        workers.append(work(1))
        launcher.await_said(UP)
        # A worker's node is lost: its name is unknown until the operator has replaced the pod.
        self.assertEqual(workers[1].kill(), 137)
        self.cluster.forget(f"train-worker-1.{service}")
        launcher.await_said("restart 1 of 3")
        workers[1] = work(1)
        launcher.await_said(rf"continues after step (.|\n)*{UP}")
        # A worker's node is drained.
        self.assertEqual(workers[0].drain(), 0, workers[0].said)
        self.assertIn("stopped by signal 15 (Terminated), sent to 1 task", workers[0].said)
        self.assertEqual(launcher.end(), 75, launcher.said[-3000:])
        steps = self.newest() + 100
        workers[0] = work(0)
        launcher = launch(steps)
        self.assertEqual(launcher.end(), 0, launcher.said)
        self.assertIn(f"continues after step {steps - 100} of {steps}", launcher.said)
        self.assertEqual([worker.drain() for worker in workers], [0, 0])
        self.check_trained(2, steps)


if __name__ == "__main__":
    CODE = three_hosts.main(lambda: unittest.main(argv=[sys.argv[0], *sys.argv[3:]]), "pods", pods.missing)
    pods.remove_groups()
    sys.exit(CODE)
