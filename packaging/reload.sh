#!/bin/sh
# After installing, upgrading and removing: makes systemd reload the units. It does not start, stop,
# enable or disable anything, so that a running experiment is not affected.
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
exit 0
