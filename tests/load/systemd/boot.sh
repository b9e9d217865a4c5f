#!/bin/sh
# The units under a systemd of their own: process 1 of new namespaces, on an overlay of this machine's files. Nothing outside changes.
# As root, on a kernel with overlayfs and a cgroup2 mount:
#
#     SHARDWRIGHT=.. SHARDWRIGHTD=.. sh tests/load/systemd/boot.sh              (make check-systemd)
#
# Prints what try.sh found; fails where something failed, or did not end within two minutes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

if [ "${1:-}" = inside ]; then
	root=$2/root shared=$2/shared
	mount -t tmpfs tmpfs "$2/layer"
	mkdir "$2/layer/upper" "$2/layer/work"
	mount -t overlay overlay -o "lowerdir=/,upperdir=$2/layer/upper,workdir=$2/layer/work" "$root"
	mount -t proc proc "$root/proc"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
	mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
	mount -t tmpfs tmpfs "$root/dev"
	for name in null zero full random urandom tty; do
		touch "$root/dev/$name"
		mount --bind "/dev/$name" "$root/dev/$name"
	done
	mkdir "$root/dev/pts" "$root/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
	touch "$root/dev/ptmx"
	mount --bind "$root/dev/pts/ptmx" "$root/dev/ptmx"
	mount -t tmpfs tmpfs "$root/dev/shm"
	mount -t tmpfs tmpfs "$root/run"
	mount -t tmpfs tmpfs "$root/tmp"
	mkdir -p "$root/srv/try" "$root/run/systemd/system"
	mount --bind "$shared" "$root/srv/try"
	sh "$here/prepare.sh" "$root"
	cd "$root"
	mkdir -p mnt
	pivot_root . mnt
	umount -l /mnt
	mount --make-rshared / # credentials are mounted elsewhere and have to come here
	exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=try.target --log-target=null --show-status=no
fi

folder=$(mktemp -d)
mkdir "$folder/layer" "$folder/root" "$folder/shared"
cp "$SHARDWRIGHT" "$SHARDWRIGHTD" "$here"/../../../tools/systemd/shardwrightd.* "$here/try.sh" "$folder/shared"
groups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=$groups/shardwright-try-$$
mkdir "$group"
sh -c 'echo $$ > "$1/cgroup.procs"; exec unshare --mount --pid --fork --kill-child --cgroup --uts --ipc sh "$2" inside "$3"' sh "$group" "$0" "$folder" &
init=$!
for _ in $(seq 1200); do
	grep -q '^done' "$folder/shared/out" 2>/dev/null && break
	kill -0 "$init" 2>/dev/null || break
	sleep 0.1
done
kill -9 "$init" 2>/dev/null || true
wait "$init" 2>/dev/null || true
cat "$folder/shared/out"
result=1
if grep -q '^done' "$folder/shared/out" && ! grep -q '^FAILED' "$folder/shared/out"; then result=0; else cat "$folder/shared/log" "$folder/shared/daemon" 2>/dev/null || true; fi
rm -rf "$folder"
find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
exit $result
