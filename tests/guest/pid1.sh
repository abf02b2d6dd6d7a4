#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# First process of a guest whose service manager is systemd: unpacks the system below /new and
# becomes its systemd. The lab's own init runs beside it, with the command that drives the test;
# it mounts what it needs, and finds some of it mounted.
export PATH=/files:/usr/bin
mount -t devtmpfs dev /dev
mkdir -p /new
mount -t tmpfs -o size=90%,mode=755 new /new
/init &
tar -x -f /system.tar -C /new
rm /system.tar
mv /files/*.deb /new/
exec chroot /new /lib/systemd/systemd </dev/null
