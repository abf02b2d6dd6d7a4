#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# First process of a guest whose service manager is systemd: unpacks the system below /new and
# becomes its systemd. The lab's own init runs beside it, with the command that drives the test.
export PATH=/files:/usr/bin
mkdir -p /new /run
mount -t tmpfs -o size=90%,mode=755 new /new
tar -x -f /system.tar -C /new
rm /system.tar
for file in /files/*.deb; do
    mv "$file" /new/
done
/init &
exec chroot /new /lib/systemd/systemd </dev/null
