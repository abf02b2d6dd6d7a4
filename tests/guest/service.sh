# SPDX-License-Identifier: GPL-2.0-only
#
# Runs beside a systemd of Debian 13 below /new (pid1.sh): the package is installed, its service
# started, upgraded, stopped, killed, and all of it removed. Each step says what it has found.

die() {
    echo "service: $*" >&2
    inside journalctl --no-pager -n 40 -u artis-sched >&2
    exit 1
}
step() { echo "step $*"; }
# The real env: that of busybox would run its own dpkg.
inside() { chroot /new /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"; }
# Waits at most two minutes for a command to succeed.
until_ok() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 240 ] || die "never: $*"
        usleep 500000
    done
}
scheduler() { cat /sys/kernel/sched_ext/state; }
# Settings that differ from those before. Groups come and go with services, and an interrupt whose
# CPUs are set back moves when it next occurs.
differences() { probe since /tmp/before | grep -v '^differences\|^same\|/sys/fs/cgroup\|/effective_affinity'; }
as_before() {
    [ -z "$(differences)" ] || die "$1: settings stay changed: $(differences)"
    [ "$(scheduler)" = disabled ] || die "$1: sched_ext is $(scheduler)"
}
main_pid() { inside systemctl show -P MainPID artis-sched; }
is_state() { [ "$(inside systemctl is-active artis-sched)" = "$1" ]; }
# Every file of the system, without what dpkg and the journal write.
files() {
    (cd /new && find . -xdev ! -path './var/lib/dpkg/*' ! -path './var/log/*' ! -path './var/lib/systemd/*' \
        ! -path './var/cache/*' ! -path './tmp/*' ! -path './var/tmp/*' ! -name '*.deb') | sort
}

booted() { inside systemctl is-system-running 2>/dev/null | grep -q 'running\|degraded'; }
until_ok booted
step "systemd $(inside systemctl --version | head -n 1) is $(inside systemctl is-system-running)"
uname -r
# Whatever comes and goes by the clock would move settings meanwhile.
inside systemctl stop '*.timer'
files >/tmp/files.before
probe settings >/tmp/before
[ -z "$(differences)" ] || die "settings change by themselves: $(differences)"

inside dpkg -i /first.deb || die 'dpkg -i'
is_state inactive || die "after the installation it is $(inside systemctl is-active artis-sched)"
[ "$(inside systemctl is-enabled artis-sched)" = disabled ] || die 'it is enabled by itself'
as_before install
inside artis check --brief >/tmp/check
status=$?
[ $status = 0 ] || [ $status = 2 ] || die "artis check ended with $status"
step "installed: $(inside artis --version), check says: $(head -n 1 /tmp/check)"

inside systemctl start artis-sched 2>/dev/null && die 'it starts without RT CPUs'
inside journalctl --no-pager -u artis-sched | grep -q '/etc/artis/sched.toml: it names no RT CPU' || die 'no reason in the journal'
as_before 'a refused start'
step 'without RT CPUs it refuses, and the journal has the reason'

sed -i 's/^#rt = .*/rt = "1"/; s/^#\[partition\]/[partition]/' /new/etc/artis/sched.toml
inside artis sched run --config /etc/artis/sched.toml --check || die 'the configuration is refused'
inside systemctl start artis-sched || die 'it does not start'
is_state active || die 'not active after its start'
[ "$(scheduler)" = enabled ] || die "active, and sched_ext is $(scheduler)"
count=$(differences | wc -l)
[ "$count" -gt 5 ] || die "only $count settings changed: $(differences)"
inside artis sched status >/tmp/status || die 'no status'
inside artis partition show >/tmp/show
grep -q 'RT CPUs 1' /tmp/show && grep -q '^artis partition' /tmp/show || die "no partition: $(cat /tmp/show)"
inside journalctl --no-pager -o cat -u artis-sched | grep '^artis: ' | tail -n 40 >started.log
grep -q "^artis: kernel $(uname -r), RT CPUs 1, NRT CPUs 0, detector breakpoint" started.log || die "$(cat started.log)"
grep -q 'policy of rcu_preempt: SCHED_OTHER' started.log || die "no rcu_preempt: $(cat started.log)"
grep '/proc/[0-9]' started.log && die 'a thread is named by its file'
step "started: $count settings differ"

first=$(main_pid)
inside dpkg -i --force-confold /second.deb || die 'the upgrade fails'
is_state active || die "after the upgrade it is $(inside systemctl is-active artis-sched)"
[ "$(scheduler)" = enabled ] || die "after the upgrade sched_ext is $(scheduler)"
[ "$(main_pid)" != "$first" ] || die 'the old program runs on'
grep -q '^rt = "1"' /new/etc/artis/sched.toml || die 'the configuration was replaced'
step 'upgraded: the new program schedules, with the same configuration'

inside systemctl stop artis-sched || die 'it does not stop'
as_before stop
step 'stopped: no setting stays changed'

inside systemctl start artis-sched || die 'it does not start again'
kill -9 "$(main_pid)"
until_ok is_state failed
as_before 'kill -9'
step 'killed: no setting stays changed'

inside systemctl reset-failed artis-sched
inside systemctl enable --quiet --now artis-sched || die 'it cannot be enabled'
is_state active || die 'not active'
inside dpkg -r artis || die 'dpkg -r'
as_before remove
[ ! -e /new/usr/bin/artis ] && [ -e /new/etc/artis/sched.toml ] || die 'remove: program or configuration'
step 'removed while it ran: no setting stays changed'
inside dpkg -P artis || die 'dpkg -P'
as_before purge
files >/tmp/files.after
diff /tmp/files.before /tmp/files.after || die 'files were left'
[ ! -e /new/run/artis ] || die '/run/artis was left'
step 'purged: no file is left'
