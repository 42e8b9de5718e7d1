#!/usr/bin/env python3
"""Runs jobs whose folder is shared by sshfs: sshfs_test.py FERRY SAMPLES_FOLDER

Each of two hosts has a mount of its own, of a folder that the ssh server of the first one shows; docs/guide/shared_folders.md says what holds
there. Needs what hosts_test.py does, and sshfs; ends with 77, skipped, where one is missing.
"""
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "support")]
import shared_folder  # noqa: E402
import three_hosts  # noqa: E402
from three_hosts import NETNS  # noqa: E402


class OverSshfs(shared_folder.Jobs, shared_folder.Locks, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = Path(os.environ["NETNS_DIR"])
        ssh = subprocess.run([NETNS, "ssh"], capture_output=True, text=True, check=True).stdout.strip()
        cls.there, cls.shared = folder / "there", folder / "shared"
        cls.mounts = {host: folder / f"mount{host}" for host in (1, 2)}
        for path in cls.there, cls.shared, *cls.mounts.values():
            path.mkdir()
        for mount in cls.mounts.values():
            subprocess.run(["nsenter", "--net=/run/netns/h1", "sshfs", f"10.77.0.1:{cls.there}", mount, "-o", f"ssh_command={ssh}", "-o",
                            "sftp_server=/usr/lib/openssh/sftp-server"], check=True)

    def on(self, host):
        return [NETNS, "on", str(host), "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', self.mounts[host], self.shared]


def missing():
    if said := three_hosts.missing():
        return said
    if not shutil.which("sshfs"):
        return "no sshfs here"
    return "" if os.access("/dev/fuse", os.W_OK) else "no /dev/fuse here"


if __name__ == "__main__":
    sys.exit(three_hosts.main(lambda: unittest.main(argv=[sys.argv[0], *sys.argv[3:]]), "folders by sshfs", missing))
