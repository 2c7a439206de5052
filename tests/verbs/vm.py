#!/usr/bin/env python3
"""Boots a virtual machine with soft-RoCE devices, runs a command in it, and ends with the command's exit status.

The kernel is the distribution's own, which is only unpacked. The root of this machine is shared read-only, with a layer in memory
above it, so programs that are built here run there. QEMU emulates the processor, so that neither KVM nor loadable modules are
needed here; computing is about 8 times slower.

Exit status 3: this machine lacks what is needed, which is said; with SCOLL_REQUIRE_VERBS=1 that is a failure (1).
"""

import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("SCOLL_VM_DIR") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "scoll-vm")
BOOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
NEEDED = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "depmod": "kmod",
    "modprobe": "kmod",
    "ip": "iproute2",
    "rdma": "iproute2",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
}
INIT = """#!/bin/sh
b=/bin/busybox
$b mount -t proc none /proc; $b mount -t sysfs none /sys; $b mount -t devtmpfs none /dev
for module in /modules/*.ko; do $b insmod $module; done
$b mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000 root /lower
$b mount -t tmpfs none /layer; $b mkdir /layer/upper /layer/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/layer/upper,workdir=/layer/work overlay /root
for folder in proc sys dev; do $b mount --move /$folder /root/$folder; done
exec $b switch_root /root /bin/bash $($b sed -n 's/.*scoll_init=\\([^ ]*\\).*/\\1/p' /root/proc/cmdline)
"""


class Missing(Exception):
    """What this machine lacks."""


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def check_needs():
    lacking = sorted({package for program, package in NEEDED.items() if shutil.which(program) is None})
    if lacking:
        raise Missing(f"install {' '.join(lacking)}")


def kernel_package():
    """The newest package that the distribution's meta-package names; the kernels for clouds have no soft-RoCE."""
    try:
        for line in output_of("apt-cache", "depends", "linux-image-amd64").splitlines():
            if line.strip().startswith("Depends: linux-image-"):
                return line.split()[-1]
    except subprocess.CalledProcessError as failure:
        raise Missing("apt-cache knows no linux-image-amd64: run apt-get update") from failure
    raise Missing("apt-cache knows no linux-image-amd64: run apt-get update")


def unpack_kernel(package, into):
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        os.chmod(folder, 0o777)  # apt downloads as another user
        got = subprocess.run(["apt-get", "download", "-q", package], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if got.returncode != 0:
            raise Missing(f"{package} cannot be downloaded: {got.stderr.strip().splitlines()[-1:]}")
        archive = next(pathlib.Path(folder).glob("*.deb"))
        unpacked = pathlib.Path(folder, "unpacked")
        subprocess.run(["dpkg-deb", "-x", archive, unpacked], check=True)
        unpacked.rename(into)


def modules_to_boot(kernel, version):
    found = {}
    for module in BOOT_MODULES:
        for line in output_of("modprobe", "-d", kernel, "-S", version, "--show-depends", module).splitlines():
            if line.startswith("insmod "):
                found.setdefault(line.split()[1])
    return list(found)


def make_initrd(kernel, version, into):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in ("bin", "modules", "proc", "sys", "dev", "lower", "layer", "root"):
            (root / name).mkdir()
        shutil.copy(shutil.which("busybox"), root / "bin/busybox")
        (root / "bin/sh").symlink_to("busybox")
        for number, module in enumerate(modules_to_boot(kernel, version)):
            shutil.copy(module, root / f"modules/{number:03}-{pathlib.Path(module).name}")
        (root / "init").write_text(INIT)
        (root / "init").chmod(0o755)
        made = into.with_suffix(".new")
        subprocess.run(f"find . | cpio --quiet -o -H newc | gzip -1 >{shlex.quote(str(made))}", shell=True, cwd=root, check=True)
        made.rename(into)


def prepare():
    """Returns the folder of the kernel, its version and the file of the first root."""
    check_needs()
    CACHE.mkdir(parents=True, exist_ok=True)
    package = kernel_package()
    version = package.removeprefix("linux-image-")
    kernel, initrd = CACHE / package, CACHE / f"initrd-{version}.gz"
    if not kernel.exists():
        unpack_kernel(package, kernel)
        subprocess.run(["depmod", "-b", kernel, version], check=True)
    if not initrd.exists():
        make_initrd(kernel, version, initrd)
    return kernel, version, initrd


def boot(arguments, out):
    kernel, version, initrd = prepare()
    settings = {
        "console": "ttyS0",
        "loglevel": 3,
        "panic": -1,
        "mitigations": "off",
        # The processors' counters agree here. Without this, the kernel may come to doubt it, and read a slow emulated clock.
        "tsc": "reliable",
        "scoll_init": HERE / "guest.sh",
        "scoll_devices": arguments.devices,
        "scoll_modules": kernel / "lib/modules" / version,
        "scoll_folder": pathlib.Path.cwd(),
    }
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max", "-smp", "2", "-m", str(arguments.memory)]
    command += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio", "-monitor", "none"]
    command += ["-kernel", str(kernel / f"boot/vmlinuz-{version}"), "-initrd", str(initrd)]
    command += ["-append", "quiet nokaslr " + " ".join(f"{name}={value}" for name, value in settings.items())]
    for name, path, more in (("root", "/", ",readonly=on,multidevs=remap"), ("out", out, "")):
        command += ["-fsdev", f"local,id={name},path={path},security_model=none{more}", "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=arguments.seconds, check=False)
    except subprocess.TimeoutExpired:
        print(f"the virtual machine took more than {arguments.seconds} s", file=sys.stderr)
        return 1
    status = pathlib.Path(out, "status")
    if status.exists() and status.read_text().strip():
        return int(status.read_text())
    print("the virtual machine ended without a result", file=sys.stderr)
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--devices", type=int, default=4, help="how many RDMA devices: rxe1 with 10.0.0.1, and so on (at most 9)")
    parser.add_argument("--memory", type=int, default=1024, help="in MiB")
    parser.add_argument("--seconds", type=int, default=420, help="after which it is ended")
    parser.add_argument("command", help="what bash runs, in this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scoll-vm.") as out:
        pathlib.Path(out, "command").write_text(arguments.command + "\n")
        try:
            return boot(arguments, out)
        except Missing as lacking:
            required = os.environ.get("SCOLL_REQUIRE_VERBS") == "1"
            print(f"{'failed' if required else 'skipped'}: no virtual machine for RDMA: {lacking}", file=sys.stderr)
            return 1 if required else 3


if __name__ == "__main__":
    sys.exit(main())
