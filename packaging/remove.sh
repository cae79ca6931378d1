#!/bin/sh
# After removing and purging the Debian package. Removing keeps experiments enabled: when krund is
# installed again, it continues them at the next boot. Purging removes what `krunctl enable` has
# written to /etc, and the account of the benchmarks. Experiments and their results are kept.
if [ "$1" = purge ]; then
	for dropin in /etc/systemd/system/krund@*.service.d/experiment.conf; do
		if [ -f "$dropin" ]; then
			rm -f "$dropin"
			rmdir --ignore-fail-on-non-empty "${dropin%/*}"
		fi
	done
	rm -f /etc/systemd/system/multi-user.target.wants/krund@*.service \
		/etc/systemd/system/bench.target.wants/krund@*.service
	if [ -d /etc/systemd/system/bench.target.wants ]; then
		rmdir --ignore-fail-on-non-empty /etc/systemd/system/bench.target.wants
	fi
	rm -f /etc/krund/hold /etc/krund/hub.toml /etc/systemd/system/timers.target.wants/krund-ship.timer
	if [ -d /etc/krund ]; then
		rmdir --ignore-fail-on-non-empty /etc/krund
	fi
	if [ "$(getent passwd krun | cut -d: -f5)" = "krund benchmark account" ]; then
		userdel --remove krun 2>/dev/null || true
	fi
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
exit 0
