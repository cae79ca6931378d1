package child

import (
	"errors"

	"golang.org/x/sys/unix"
)

// joinSessionKeyring gives the benchmark a session keyring of its own. Otherwise it would share the
// daemon's, whose keys every holder may read and change. It is made as root, so that it does not
// count against the user's quota.
func (s *stage) joinSessionKeyring() error {
	if s.request.Own {
		_, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0) // no name: a new one
		s.remarkKeys("a session keyring of its own", err)
	}
	return nil
}

// clearKeyrings empties the keyrings in which the user's earlier processes may have left keys. The
// stage does it as that user, because root has no rights there. The persistent keyring outlives
// even the account.
func (s *stage) clearKeyrings() error {
	if !s.request.Own {
		return nil
	}
	persistent, err := unix.KeyctlInt(unix.KEYCTL_GET_PERSISTENT, -1, unix.KEY_SPEC_PROCESS_KEYRING, 0, 0)
	if errors.Is(err, unix.EOPNOTSUPP) { // a kernel may be built without it
		persistent, err = unix.KEY_SPEC_PROCESS_KEYRING, nil
	}
	for _, ring := range []int{persistent, unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_USER_SESSION_KEYRING} {
		if err == nil {
			_, err = unix.KeyctlInt(unix.KEYCTL_CLEAR, ring, 0, 0, 0)
		}
	}
	s.remarkKeys("clear the user's keyrings, where keys of the last execution stay "+
		"until the machine restarts", err)
	return nil
}

// remarkKeys is remark for a system that may have no keyrings (ENOSYS) or forbid them all (EPERM).
func (s *stage) remarkKeys(what string, err error) {
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		s.remark(what, err)
	}
}
