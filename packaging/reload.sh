#!/bin/sh
# After installing, upgrading and removing: systemd reads the units anew. Nothing is started, stopped, enabled or disabled: an experiment that is
# under way is left alone.
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
exit 0
