"""A virtual machine that qemu emulates, with the kernel of Debian and all files of this machine, for tests of parts of a kernel.

It sees the files of this machine, read-only, and packages over them that are not installed here. Files that it writes stay in its memory.
It has no network and needs no KVM.
"""
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

QEMU = "qemu-system-x86_64"
KERNEL = "linux-image-amd64"
# The kernel modules that the files of this machine need.
MODULES = ["virtio_pci", "9pnet_virtio", "9p", "overlay"]
INIT = """#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
for module in /modules/*; do insmod "$module"; done
for name in here packages; do
  mkdir /$name && mount -t 9p -o ro,trans=virtio,cache=loose,msize=512000 $name /$name
done
mkdir /memory /new && mount -t tmpfs memory /memory && mkdir /memory/changes /memory/work
mount -t overlay -o lowerdir=/packages:/here,upperdir=/memory/changes,workdir=/memory/work root /new
exec switch_root /new /bin/sh "$script"
"""
SCRIPT = """mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for folder in /run /dev/shm; do mkdir -p $folder; mount -t tmpfs memory $folder; done
ip link set lo up
cd /tmp
{command}
echo "the command ended with $?"
busybox poweroff -f
"""


class Missing(Exception):
    """What this machine lacks for it."""


def install(folder, packages, modules):
    """Downloads the kernel and these packages by apt, unless the folder has them. Puts into the folder: the kernel, an `initramfs` with these
    modules of the kernel, and the packages, unpacked."""
    if shutil.which(QEMU) is None:
        raise Missing(f"no {QEMU} here")
    if (folder / "initramfs").exists():
        return
    if shutil.which("apt-get") is None:
        raise Missing("no apt here")
    depends = subprocess.run(["apt-cache", "depends", KERNEL], capture_output=True, text=True, check=False).stdout
    kernel = re.search(r"Depends: (linux-image-\S+)", depends)
    if not kernel:
        raise Missing(f"apt has no package {KERNEL} here")
    shutil.rmtree(folder, ignore_errors=True)
    for name in "archives/partial", "kernel", "packages", "start/bin", "start/modules", "start/dev":
        (folder / name).mkdir(parents=True)
    for name in "bin", "sbin", "lib":
        (folder / "packages" / "usr" / name).mkdir(parents=True)
        (folder / "packages" / name).symlink_to(f"usr/{name}")
    apt = ["apt-get", "-y", "-q", "-o", f"Dir::Cache::archives={folder}/archives", "-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root"]
    for command in ["download", kernel[1], "busybox-static"], ["install", "--download-only", "--no-install-recommends", "--reinstall", *packages]:
        if subprocess.run([*apt, *command], cwd=folder / "archives", check=False).returncode:
            raise Missing("apt cannot download its kernel and packages")
    for archive in (folder / "archives").glob("*.deb"):
        target = folder / ("kernel" if archive.name.startswith(kernel[1]) else "packages")
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as files:
            subprocess.run(["tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-C", target], stdin=files.stdout, check=True)
    next((folder / "kernel" / "boot").glob("vmlinuz-*")).rename(folder / "vmlinuz")
    make_initramfs(folder, MODULES + modules)
    for name in "archives", "kernel", "start":
        shutil.rmtree(folder / name)


def make_initramfs(folder, modules):
    busybox, start = folder / "packages" / "bin" / "busybox", folder / "start"
    root = next((folder / "kernel" / "lib" / "modules").iterdir())
    subprocess.run([busybox, "depmod", "-b", folder / "kernel", root.name], check=True)
    needs = {}  # path -> the paths of the modules to load before it, the last one first
    for line in (root / "modules.dep").read_text().splitlines():
        path, before = line.split(":")
        needs[path] = before.split()
    paths = {Path(path).stem: path for path in needs}
    order = dict.fromkeys(path for name in modules if name in paths for path in [*reversed(needs[paths[name]]), paths[name]])
    for number, path in enumerate(order):
        shutil.copy(root / path, start / "modules" / f"{number:02}-{Path(path).name}")
    shutil.copy(busybox, start / "bin")
    (start / "init").write_text(INIT)
    (start / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(start)) for path in start.rglob("*"))
    with open(folder / "initramfs.part", "wb") as file:
        subprocess.run([busybox, "cpio", "-o", "-H", "newc", "-R", "0:0"], input=names.encode(), cwd=start, stdout=file, check=True)
    (folder / "initramfs.part").rename(folder / "initramfs")


def run(folder, command, variables):
    """Prints the output of a command, which has these environment variables, and returns its exit code; 1 where the machine stops before
    the command ends."""
    with tempfile.NamedTemporaryFile("w", prefix="ferry-machine-", suffix=".sh") as script:
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
        script.write(exports + SCRIPT.format(command=shlex.join(map(str, command))))
        script.flush()
        shares = [word for name, path in (("here", "/"), ("packages", folder / "packages")) for word in
                  ("-virtfs", f"local,path={path},mount_tag={name},security_model=none,readonly=on,multidevs=remap")]
        machine = [QEMU, "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "3G", "-nic", "none", "-nodefaults", "-no-reboot",
                   "-display", "none", "-serial", "stdio", *shares, "-kernel", folder / "vmlinuz", "-initrd", folder / "initramfs",
                   "-append", f"console=ttyS0 quiet panic=-1 script={script.name}"]
        code = 1
        with subprocess.Popen(list(map(str, machine)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace") as qemu:
            for line in qemu.stdout:
                line = line.rstrip()
                if end := re.fullmatch(r"the command ended with (\d+)", line):
                    code = int(end[1])
                else:
                    print(line, flush=True)
    return code
