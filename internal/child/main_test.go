package child

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Stage()
	os.Exit(m.Run())
}
