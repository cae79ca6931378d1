package store_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"krund/internal/hub/store"
	"krund/rig/must"
)

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
