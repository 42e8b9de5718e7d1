"""Runs pods of Kubernetes on this machine, for programs that run in the hosts of three_hosts.py. podman runs the container of each pod, with
an address of its own in the network of these hosts. The image has the files of this machine, and what a Containerfile adds to them."""
import contextlib
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import three_hosts

SECONDS = 60  # limit for what should happen at once
GROUP = "ferry-pods"  # the control group of all pods
PLACE = Path("/run/pods")  # of all files, in the private /run of the hosts: podman takes no long paths
# Makes PLACE/all, which has the files of this machine, and keeps what is written there in memory.
MOUNT_IMAGE = (f"mkdir {PLACE} && mount -t tmpfs tmpfs {PLACE} && cd {PLACE} && mkdir all upper work && "
               "mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work all")
UNITS = {"Ki": "k", "Mi": "m", "Gi": "g"}  # of Kubernetes, and podman's for the same


def podman(*words):
    return ["podman", "--root", f"{PLACE}/storage", "--runroot", f"{PLACE}/state", "--tmpdir", f"{PLACE}/tmp", "--storage-driver", "vfs",
            "--cgroup-manager", "cgroupfs", "--events-backend", "none", "--runtime", "runc", *words]


def run_pod(*words):
    """The words of a container. Some machines refuse to raise limits, as podman does by default."""
    return podman("run", "--rm", "--log-driver", "none", "--cgroup-parent", f"/{GROUP}", "--ulimit", "nofile=1024:1024", "--ulimit",
                  "nproc=4096:4096", *words)


def missing():
    """What this machine lacks for pods; "" for nothing."""
    if said := three_hosts.missing():
        return said
    for name in "podman", "runc":
        if not shutil.which(name):
            return f"no {name} here"
    inside = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c"]
    script = f'mount -t tmpfs tmpfs /run && {MOUNT_IMAGE} && exec "$@"'
    probe = subprocess.run([*inside, script, "sh", *run_pod("--network", "none", "--rootfs", f"{PLACE}/all:O", "true")], capture_output=True,
                           text=True, check=False)
    remove_groups()
    return f"podman runs no container here: {probe.stderr.strip()[-200:]}" if probe.returncode else ""


def remove_groups():
    """Removes the control groups, which podman leaves, unless another test uses them."""
    for folder in Path("/sys/fs/cgroup").glob(f"**/{GROUP}"):
        for path, _, _ in os.walk(folder, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(path)


class Image:
    files = PLACE / "all"

    def __init__(self, containerfile):
        """Adds what `containerfile` adds to its packages, which this machine has."""
        subprocess.run(["sh", "-c", MOUNT_IMAGE], check=True)
        for name in "passwd", "group":  # users of this machine may have the numbers of the image's
            lines = Path("/etc", name).read_text().splitlines(keepends=True)
            Path(self.files, "etc", name).write_text("".join(line for line in lines if int(line.split(":")[2]) not in range(1000, 60000)))
        instructions = re.findall(r"(?m)^([A-Z]+) ((?:.*\\\n)*.*)$", containerfile.read_text())
        for word, rest in instructions:
            if word == "RUN" and "apt-get" not in rest:
                self.run("sh", "-c", rest.replace("\\\n", ""))
        self.user, self.place = (next(rest for word, rest in instructions if word == wanted) for wanted in ("USER", "WORKDIR"))

    def run(self, *words):
        """Runs a command that changes the image."""
        subprocess.run(run_pod("--network", "none", "--rootfs", self.files, *words), check=True)


class Pod:
    """A container that runs, and its output as it comes."""

    def __init__(self, name, words):
        self.name, self.words = name, words
        self.start()

    def start(self):
        """Starts it, also again after its end, as the policy OnFailure does."""
        self.said, self.ended, self.changed = "", False, threading.Condition()
        self.process = subprocess.Popen(run_pod("--name", self.name, *map(str, self.words)), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.said += line
                self.changed.notify()
        with self.changed:
            self.ended = True
            self.changed.notify()

    def await_said(self, pattern):
        with self.changed:
            self.changed.wait_for(lambda: self.ended or re.search(pattern, self.said, re.MULTILINE), SECONDS)
            found = re.search(pattern, self.said, re.MULTILINE)
            assert found, f"{self.name} does not say {pattern!r}, but\n{self.said[-5000:]}"
            return found

    def end(self):
        """Its exit code."""
        code = self.process.wait(SECONDS)
        self.reader.join()
        self.process.stdout.close()
        return code

    def drain(self):
        """Stops it as a drained node does: SIGTERM to process 1, and SIGKILL after terminationGracePeriodSeconds."""
        subprocess.run(podman("stop", self.name), check=True, stdout=subprocess.DEVNULL)
        return self.end()

    def kill(self):
        """Ends all its processes, as the loss of its node does."""
        subprocess.run(podman("kill", "--signal", "KILL", self.name), check=True, stdout=subprocess.DEVNULL)
        return self.end()


class Cluster:
    """`secrets`: {name: {key: value}}, `claims`: {name of a volume claim: folder}."""
    count = 0  # of the pods that all clusters have started

    def __init__(self, image, secrets, claims):
        self.image, self.secrets, self.claims = image, secrets, claims
        self.names = {}  # of pods: their addresses
        self.hosts = PLACE / "hosts"
        self.hosts.write_text("")

    def start(self, name, full_name, template, variables, mounts=()):
        """Starts a pod with an address that no pod has had. `template`: its metadata and spec. `full_name` is its name in the Service.
        `mounts`: pairs of a folder here and the place that the operator gives it."""
        spec = template["spec"]
        [container] = spec["containers"]
        user = container.get("securityContext", {}).get("runAsUser", self.image.user)
        return Pod(name, [
            "--hostname", name, "--network", f"ns:/run/netns/{self.connect(full_name)}", "--no-hosts", "-v", f"{self.hosts}:/etc/hosts:ro",
            "--stop-timeout", spec["terminationGracePeriodSeconds"], "--workdir", self.image.place, "--user", user,
            *self.limits(container), *self.environment(container, variables), *self.volumes(spec, container),
            *(word for folder, place in mounts for word in ("-v", f"{folder}:{place}:ro")),
            "--rootfs", f"{self.image.files}:O", *container["command"], *container.get("args", [])])

    def connect(self, full_name):
        """Makes a network namespace, which all pods know by `full_name`."""
        Cluster.count += 1
        network, address = f"pod{self.count}", f"10.77.0.{10 + self.count}"
        for command in (f"netns add {network}", f"link add {network} type veth peer name eth0 netns {network}", f"link set {network} master hosts up",
                        f"-n {network} link set lo up", f"-n {network} addr add {address}/24 dev eth0", f"-n {network} link set eth0 up"):
            subprocess.run(["ip", *command.split()], check=True)
        self.set_names({**self.names, full_name: address})
        return network

    @staticmethod
    def limits(container):
        limits = container["resources"]["limits"]
        return ["--cpus", limits["cpu"], "--memory", re.sub("[KMG]i$", lambda unit: UNITS[unit[0]], limits["memory"])]

    def environment(self, container, variables):
        values = {**{one["name"]: self.value(one) for one in container.get("env", [])}, **variables}
        return [word for name, value in values.items() for word in ("--env", f"{name}={value}")]

    def volumes(self, spec, container):
        claims = {volume["name"]: volume["persistentVolumeClaim"]["claimName"] for volume in spec.get("volumes", [])}
        return [word for mount in container.get("volumeMounts", [])
                for word in ("-v", f"{self.claims[claims[mount['name']]]}:{mount['mountPath']}")]

    def value(self, variable):
        if "value" in variable:
            return variable["value"]
        key = variable["valueFrom"]["secretKeyRef"]
        return self.secrets[key["name"]][key["key"]]

    def set_names(self, names):
        """All pods see the change, as they have the same file."""
        self.names = names
        self.hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in names.items()))

    def forget(self, full_name):
        """Takes the name of a pod that is gone out of the Service."""
        self.set_names({name: address for name, address in self.names.items() if name != full_name})
