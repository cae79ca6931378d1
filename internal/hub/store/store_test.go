package store_test

import (
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/internal/hub/store"
	"krund/rig/must"
)

func get(t *testing.T, s store.Store, hash string) (string, error) {
	t.Helper()
	r, err := s.Get(t.Context(), hash)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	return string(text), err
}

// conform tests what every store must do.
func conform(t *testing.T, s store.Store) {
	hash := store.Hash([]byte("hello"))
	must.Do(t, s.Ready(t.Context()))
	_, err := get(t, s, hash)
	must.Fail(t, err, store.ErrMissing, "before", "want ErrMissing")
	must.Fail(t, s.Put(t.Context(), hash, 5, strings.NewReader("hellO")), store.ErrHash, "other contents",
		"want ErrHash")
	must.Fail(t, s.Put(t.Context(), hash, 5, strings.NewReader("hell")), store.ErrShort, "too short",
		"want ErrShort")
	_, err = get(t, s, hash)
	must.Fail(t, err, store.ErrMissing, "after what was refused", "want ErrMissing")
	for range 2 {
		body := strings.NewReader("hello, world")
		must.Do(t, s.Put(t.Context(), hash, 5, body))
		must.Equal(t, body.Len(), len(", world"), "it read", 12-body.Len(), "bytes, not 5")
		text, err := get(t, s, hash)
		must.Be(t, err == nil && text == "hello", text, err)
	}
	for range 2 {
		must.Do(t, s.Delete(t.Context(), hash))
	}
	_, err = get(t, s, hash)
	must.Fail(t, err, store.ErrMissing, "after Delete", "want ErrMissing")
	for _, name := range []string{"", "..", strings.Repeat("A", 64), strings.Repeat("a", 63) + "/"} {
		_, err := get(t, s, name)
		must.Fail(t, err, store.ErrMissing, name, "want ErrMissing")
		must.Refuse(t, s.Put(t.Context(), name, 0, strings.NewReader("")), "", name, "was stored")
		must.Do(t, s.Delete(t.Context(), name), "there is none")
	}
}

func TestDirectory(t *testing.T) {
	s := must.Get(store.OpenDirectory(durable.OS(), t.TempDir()))(t)
	conform(t, s)
}

func TestDamaged(t *testing.T) {
	disk := crashfs.New("/hub")
	s := must.Get(store.OpenDirectory(disk, "/hub/blobs"))(t)
	hash := store.Hash([]byte("hello"))
	disk.Put("/hub/blobs/"+hash[:2]+"/"+hash, []byte("hellO"))
	_, err := get(t, s, hash)
	must.Fail(t, err, store.ErrHash, "want ErrHash")
}

// TestCut cuts the power in each operation of Put: what it has confirmed survives, and nothing is
// there in part.
func TestCut(t *testing.T) {
	hash := store.Hash([]byte("hello"))
	for op := 1; ; op++ {
		disk := crashfs.New("/hub")
		must.Get(store.OpenDirectory(disk, "/hub/blobs"))(t)
		disk = disk.Survivor(crashfs.Nothing)
		s := must.Get(store.OpenDirectory(disk, "/hub/blobs"))(t)
		disk.CrashAt(disk.Ops() + op)
		putErr := s.Put(t.Context(), hash, 5, strings.NewReader("hello"))
		for name, policy := range map[string]crashfs.Policy{"nothing": crashfs.Nothing,
			"everything": crashfs.Everything} {
			s := must.Get(store.OpenDirectory(disk.Survivor(policy), "/hub/blobs"))(t)
			text, err := get(t, s, hash)
			whole := err == nil && text == "hello"
			must.Be(t, whole || putErr != nil && errors.Is(err, store.ErrMissing), "cut at", op, putErr, name,
				"survives", text, err)
		}
		if !disk.IsCut() {
			must.Need(t, putErr == nil && op >= 4, "operation", op, putErr)
			return
		}
	}
}

// TestTables: a table is replaced, and no name leads out of the tables.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	s := must.Get(store.OpenDirectory(durable.OS(), filepath.Join(dir, "blobs")))(t)
	for _, text := range []string{"first", "second"} {
		err := s.PutTable(t.Context(), "a=1/b=2/t.parquet", int64(len(text)), strings.NewReader(text))
		got, read := os.ReadFile(filepath.Join(dir, "blobs", "tables", "a=1", "b=2", "t.parquet"))
		must.Be(t, err == nil && read == nil && string(got) == text, got, err, read)
	}
	for range 2 { // the second finds nothing
		must.Do(t, s.DeleteTables(t.Context(), "tables/a=1"))
	}
	_, err := os.Lstat(filepath.Join(dir, "blobs", "tables", "a=1"))
	must.Be(t, os.IsNotExist(err), "after they were deleted", err)
	for _, name := range []string{"", "tables", "tables/", "tables/../aa", "tables/..", "tables/.", "aa",
		"/tables/x"} {
		must.Fail(t, s.DeleteTables(t.Context(), name), store.ErrName)
	}
	for _, name := range []string{"", "..", "../x", "a/../../x", "/x", "a//b", "a/./b"} {
		must.Fail(t, s.PutTable(t.Context(), name, 0, strings.NewReader("")), store.ErrName)
	}
	must.Refuse(t, s.PutTable(t.Context(), "short", 9, strings.NewReader("x")), "",
		"a table that ends early was stored")
}

// TestS3 uses gofakes3, a server with the interface of Amazon S3 in memory.
func TestS3(t *testing.T) {
	backend := s3mem.New()
	web := httptest.NewServer(gofakes3.New(backend).Server())
	defer web.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	address := "s3+http://" + strings.TrimPrefix(web.URL, "http://") + "/lab/hub"
	_, err := store.OpenS3(t.Context(), address, t.TempDir())
	must.Refuse(t, err, "create it", "without a bucket")
	must.Do(t, backend.CreateBucket("lab"))
	s := must.Get(store.OpenS3(t.Context(), address, t.TempDir()))(t)
	conform(t, s)
	for _, name := range []string{"a=1/x", "a=1/b/y", "a=11/z"} {
		must.Do(t, s.PutTable(t.Context(), name, 1, strings.NewReader("x")))
	}
	must.Do(t, s.DeleteTables(t.Context(), "tables/a=1"))
	left, err := backend.ListBucket("lab", nil, gofakes3.ListBucketPage{})
	must.Be(t, err == nil && len(left.Contents) == 1 && left.Contents[0].Key == "hub/tables/a=11/z", "left",
		left, err)
	for _, wrong := range []string{"s3://host", "s3:///bucket", "http://host/bucket", "s3://%zz"} {
		must.Refused(store.OpenS3(t.Context(), wrong, ""))(t, "", wrong, "was opened")
	}
}
