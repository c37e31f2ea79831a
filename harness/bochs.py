#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""bochs.py DIRECTORY KERNEL INITRD MEGABYTES ARGUMENTS: boot a kernel in Bochs.

Its processor has what QEMU's emulation has not: IBT, and EVEX. There is one, and it is ten times as
slow. The first serial port is our output. The directory is made anew, and removed at the end.
When the kernel starts anew, Bochs ends: ARGUMENTS have it do so by a triple fault.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import tty

CONFIG = """\
plugin_ctrl: unmapped=1, biosdev=1, serial=1
display_library: term
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
cpu: model=tigerlake, count=1, ips=40000000, reset_on_triple_fault=0
megs: {megabytes}
ata0-master: type=cdrom, path={directory}/iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=/proc/self/fd/{serial}
log: {directory}/log
panic: action=fatal
"""
LOADER = """\
default kernel
label kernel
	kernel kernel
	initrd initrd
	append {arguments}
"""


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


def make_disc(directory, kernel, initrd, arguments):
    root = directory + "/root"
    os.mkdir(root)
    for file in ("/usr/lib/ISOLINUX/isolinux.bin", "/usr/lib/syslinux/modules/bios/ldlinux.c32"):
        shutil.copy(file, root)
    shutil.copy(kernel, root + "/kernel")
    shutil.copy(initrd, root + "/initrd")
    write(root + "/isolinux.cfg", LOADER.format(arguments=arguments))
    subprocess.run(["xorriso", "-as", "mkisofs", "-quiet", "-o", directory + "/iso", "-b", "isolinux.bin",
                    "-no-emul-boot", "-boot-load-size", "4", "-boot-info-table", root],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def start(directory, megabytes):
    """Bochs begins, and ends, in its debugger."""
    serial = os.dup(1)
    write(directory + "/config", CONFIG.format(directory=directory, megabytes=megabytes, serial=serial))
    write(directory + "/commands", "c\nq\n")
    with open(directory + "/messages", "wb") as messages:
        return subprocess.Popen(["bochs", "-q", "-f", directory + "/config", "-rc", directory + "/commands"],
                                stdin=subprocess.DEVNULL, stdout=messages, stderr=subprocess.STDOUT,
                                pass_fds=[serial], env=dict(os.environ, TERM="vt100"))


def screen_of(directory, bochs):
    """The terminal that Bochs opens for the guest's display"""
    while bochs.poll() is None:
        found = re.search(r'connected to screen "(.*)"', read(directory + "/messages"))
        if found:
            return os.open(found[1], os.O_RDWR | os.O_NOCTTY)
        time.sleep(0.1)
    return None


def drain(screen):
    """Bochs stops when nobody reads what it draws there."""
    tty.setraw(screen)
    try:
        while os.read(screen, 65536):
            pass
    except OSError:
        pass


def main():
    directory, kernel, initrd, megabytes, arguments = sys.argv[1:]
    shutil.rmtree(directory, ignore_errors=True)
    os.mkdir(directory)
    make_disc(directory, kernel, initrd, arguments)
    bochs = start(directory, megabytes)
    # It does not heed that signal itself.
    signal.signal(signal.SIGTERM, lambda *_: bochs.kill())
    screen = screen_of(directory, bochs)
    if screen is not None:
        threading.Thread(target=drain, args=[screen], daemon=True).start()
    status = bochs.wait()
    # The kernel's triple fault is a failure of Bochs'. Whether it was meant, the console tells.
    if status and "3rd (" in read(directory + "/messages"):
        status = 0
    if status:
        # Behind what has come through the other descriptor
        with open("/proc/self/fd/1", "a") as end:
            for name in ("log", "messages"):
                end.write("".join(read(f"{directory}/{name}").splitlines(True)[-20:]))
    shutil.rmtree(directory)
    return status


sys.exit(main())
