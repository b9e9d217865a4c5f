# The units as an operator sets them up with tokens, in the system below $1; a watchdog of 3 s, to see it bite.
root=$1
units=$root/run/systemd/system
install -m 755 "$root/srv/try/shardwright" "$root/srv/try/shardwrightd" "$root/usr/local/bin/"
mkdir -p "$root/etc/shardwright"
echo '{}' >"$root/etc/shardwright/config.json"
rm -f "$root/etc/shardwright/tokens"
"$root/usr/local/bin/shardwrightd" --tokens "$root/etc/shardwright/tokens" --new-token training:read,submit >"$root/srv/try/token"
cp "$root/srv/try/shardwrightd.socket" "$units/"
sed -e '/^ExecStart=/d' -e 's/^#ExecStart=/ExecStart=/; s/^#LoadCredential/LoadCredential/; s/^WatchdogSec=.*/WatchdogSec=3/' \
	"$root/srv/try/shardwrightd.service" >"$units/shardwrightd.service"
mkdir "$units/shardwrightd.service.d"
printf '[Service]\nStandardOutput=append:/srv/try/daemon\nStandardError=append:/srv/try/daemon\n' >"$units/shardwrightd.service.d/log.conf"
printf '[Unit]\nWants=try.service\nAllowIsolate=yes\n' >"$units/try.target"
printf '[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nExecStart=/bin/sh /srv/try/try.sh\nStandardOutput=file:/srv/try/out\nStandardError=file:/srv/try/log\n' \
	>"$units/try.service"
# The rest of a system is not wanted here.
for unit in systemd-tmpfiles-setup systemd-tmpfiles-setup-dev systemd-tmpfiles-clean systemd-udevd systemd-udev-trigger systemd-journald systemd-journal-flush \
	systemd-logind dbus systemd-sysctl systemd-modules-load systemd-random-seed systemd-update-utmp systemd-remount-fs systemd-networkd systemd-resolved \
	systemd-timesyncd systemd-hwdb-update systemd-journal-catalog-update systemd-sysusers systemd-binfmt; do
	ln -sf /dev/null "$units/$unit.service"
done
for unit in systemd-journald.socket systemd-journald-dev-log.socket systemd-journald-audit.socket dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount \
	sys-kernel-tracing.mount sys-kernel-config.mount sys-fs-fuse-connections.mount proc-sys-fs-binfmt_misc.automount proc-sys-fs-binfmt_misc.mount; do
	ln -sf /dev/null "$units/$unit"
done
