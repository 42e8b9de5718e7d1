#!/usr/bin/env python3
"""Runs jobs whose folder is shared by NFS: nfs_test.py FERRY SAMPLES_FOLDER FOLDER

A virtual machine has a server of NFS on host 3, and hosts 1 and 2 mount its folder, each with a client of its own;
docs/guide/shared_folders.md says what holds there. FOLDER keeps the kernel and the packages of the machine, which apt downloads. Words
after it select tests. Needs qemu-system-x86 and iproute2; ends with 77, skipped, where something is missing.
"""
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "support")]
import shared_folder  # noqa: E402
import three_hosts  # noqa: E402
import virtual_machine  # noqa: E402
from three_hosts import NETNS  # noqa: E402

# Each host has files of its own for the daemons of NFS. The kernel finds them by the loopback address of the host's network.
DAEMONS = """set -e
for folder in /run /var/lib/nfs; do mount -t tmpfs memory $folder; done
mkdir /run/rpcbind /var/lib/nfs/sm /var/lib/nfs/sm.bak /var/lib/nfs/v4recovery
touch /var/lib/nfs/state /var/lib/nfs/etab /var/lib/nfs/rmtab
rpcbind
"""
CLIENT = DAEMONS + "echo ready; exec rpc.statd --foreground --no-notify"
SERVER = DAEMONS + """rpc.statd --no-notify
mount -t nfsd nfsd /proc/fs/nfsd
exportfs -o rw,sync,no_root_squash,no_subtree_check,fsid=0 "10.77.0.0/24:$0"
rpc.nfsd --lease-time 10 --grace-time 10 4
echo ready; exec rpc.mountd --foreground
"""


def setUpModule():  # noqa: N802
    folder = Path(os.environ["NETNS_DIR"], "export")
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "export", folder], check=True)
    for host, script in (3, SERVER), (1, CLIENT), (2, CLIENT):
        daemons = subprocess.Popen([NETNS, "on", str(host), "sh", "-c", script, folder], stdout=subprocess.PIPE, text=True)
        unittest.addModuleCleanup(daemons.stdout.close)
        unittest.addModuleCleanup(daemons.wait)
        unittest.addModuleCleanup(daemons.kill)
        if daemons.stdout.readline() != "ready\n":
            raise AssertionError(f"the daemons of NFS do not start on host {host}")


class OverNfs(shared_folder.Jobs, shared_folder.Locks):
    """`options` are the options of mount."""
    seconds = 3000  # qemu is slow

    @classmethod
    def setUpClass(cls):
        folder = Path(os.environ["NETNS_DIR"])
        cls.there, cls.shared = folder / "export" / cls.__name__, folder / f"shared-{cls.__name__}"
        cls.mounts = {host: folder / f"mount{host}-{cls.__name__}" for host in (1, 2)}
        for path in cls.there, cls.shared, *cls.mounts.values():
            path.mkdir()
        source = f"/{cls.__name__}" if "vers=4" in cls.options else cls.there  # version 4 names it below the exported folder
        for host, mount in cls.mounts.items():
            subprocess.run(["nsenter", f"--net=/run/netns/h{host}", "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', f"h{host}",
                            "mount.nfs", f"10.77.0.3:{source}", mount, "-o", cls.options], check=True)

    def on(self, host):
        return [NETNS, "on", str(host), "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', self.mounts[host], self.shared]


class OverNfs4(OverNfs, unittest.TestCase):
    options, seen_by_all = "vers=4.2", True


class OverNfs3(OverNfs, unittest.TestCase):
    options, seen_by_all = "vers=3", True


class OverNfs3WithoutLocks(OverNfs, unittest.TestCase):
    options = "vers=3,nolock"


def in_machine():
    folder = Path(sys.argv[3]).resolve()
    try:
        virtual_machine.install(folder, ["nfs-kernel-server"], ["nfsd", "nfs", "nfsv3", "nfsv4", "veth", "bridge"])
    except virtual_machine.Missing as missing:
        print(f"[skip] folders by NFS: {missing}")
        return 77
    words = [os.path.abspath(word) if os.path.exists(word) else word for word in sys.argv]
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    return virtual_machine.run(folder, [sys.executable, *words],
                               {"PATH": path, "LC_ALL": "C.UTF-8", "HOME": "/tmp", "IN_MACHINE": "yes", "NETNS_SSH": "no"})


if __name__ == "__main__":
    if "IN_MACHINE" in os.environ:
        Path("/etc/exports").touch()  # exportfs and rpcbind need these
        with open("/etc/passwd", "a", encoding="utf-8") as users:
            users.write("_rpc:x:1:1::/:/bin/false\n")
        sys.exit(three_hosts.main(lambda: unittest.main(argv=[sys.argv[0], *sys.argv[4:]]), "folders by NFS", lambda: ""))
    sys.exit(in_machine())
