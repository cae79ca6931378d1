package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"krund/internal/hub/api"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// S3 keeps blobs in a bucket of a server with the interface of Amazon S3. The server's answer to an
// upload is taken for durable.
type S3 struct {
	client *minio.Client
	bucket string
	prefix string
	spool  string // directory
}

// OpenS3 returns the store s3://HOST[:PORT]/BUCKET[/PREFIX], or s3+http:// without TLS. The
// credentials are those of the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, of the file
// ~/.aws/credentials, or of the machine's role. The bucket must exist. spool is a directory for
// what is received.
func OpenS3(ctx context.Context, location, spool string) (*S3, error) {
	u, err := url.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	bucket, prefix, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if u.Host == "" || bucket == "" || u.Scheme != "s3" && u.Scheme != "s3+http" {
		return nil, fmt.Errorf("open the store: %s is not s3://HOST/BUCKET or s3+http://HOST/BUCKET",
			u.Redacted())
	}
	if prefix != "" {
		prefix += "/"
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
			&credentials.IAM{Client: http.DefaultClient},
		}),
		Secure: u.Scheme == "s3",
	})
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	s := &S3{client: client, bucket: bucket, prefix: prefix, spool: spool}
	return s, s.Ready(ctx)
}

func (s *S3) name(hash string) string { return s.prefix + hash[:2] + "/" + hash }

// Put implements [Store]. The server checks an MD5, so that contents damaged on the way are not
// stored.
func (s *S3) Put(ctx context.Context, hash string, size int64, r io.Reader) error {
	if !api.ValidHash(hash) {
		return fmt.Errorf("store a blob: %q is no SHA-256: %w", hash, ErrHash)
	}
	// The contents are read before they are sent: an object must not appear under a wrong name.
	content, err := Spool(s.spool, func(w io.Writer) error { return Receive(w, hash, size, r) })
	if err != nil {
		return fmt.Errorf("store blob %s: %w", hash, err)
	}
	defer content.Close() //nolint:errcheck // it is gone then
	_, err = s.client.PutObject(ctx, s.bucket, s.name(hash), content, size,
		minio.PutObjectOptions{
			ContentType: "application/octet-stream", SendContentMd5: true, DisableMultipart: true,
		})
	if err != nil {
		return fmt.Errorf("store blob %s: %w", hash, err)
	}
	return nil
}

// PutTable implements [Store].
func (s *S3) PutTable(ctx context.Context, name string, size int64, r io.Reader) error {
	if err := checkTable(name); err != nil {
		return err
	}
	_, err := s.client.PutObject(ctx, s.bucket, s.prefix+Tables+"/"+name, r, size,
		minio.PutObjectOptions{ContentType: "application/vnd.apache.parquet"})
	if err != nil {
		return fmt.Errorf("store the table %s: %w", name, err)
	}
	return nil
}

// Get implements [Store].
func (s *S3) Get(ctx context.Context, hash string) (io.ReadCloser, error) {
	if !api.ValidHash(hash) {
		return nil, fmt.Errorf("%q: %w", hash, ErrMissing)
	}
	o, err := s.client.GetObject(ctx, s.bucket, s.name(hash), minio.GetObjectOptions{})
	if err == nil {
		_, err = o.Stat()
	}
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return nil, fmt.Errorf("%s: %w", hash, ErrMissing)
	}
	if err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	return check(o, hash), nil
}

// Delete implements [Store].
func (s *S3) Delete(ctx context.Context, hash string) error {
	if !api.ValidHash(hash) {
		return nil
	}
	if err := s.client.RemoveObject(ctx, s.bucket, s.name(hash), minio.RemoveObjectOptions{}); err != nil {
		return fmt.Errorf("delete blob: %w", err)
	}
	return nil
}

// DeleteTables implements [Store].
func (s *S3) DeleteTables(ctx context.Context, name string) error {
	name, err := below(name)
	if err != nil {
		return err
	}
	list := s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Recursive: true,
		Prefix: s.prefix + Tables + "/" + name + "/"})
	for object := range list { // to its end: it is filled by a goroutine
		if err == nil && object.Err == nil {
			err = s.client.RemoveObject(ctx, s.bucket, object.Key, minio.RemoveObjectOptions{})
		}
		err = errors.Join(err, object.Err)
	}
	if err != nil {
		return fmt.Errorf("delete the tables %s: %w", name, err)
	}
	return nil
}

// Ready implements [Store].
func (s *S3) Ready(ctx context.Context) error {
	exists, err := s.client.BucketExists(ctx, s.bucket)
	if err != nil {
		return fmt.Errorf("the store of blobs: bucket %s: %w", s.bucket, err)
	}
	if !exists {
		return fmt.Errorf("the store of blobs: there is no bucket %s; create it", s.bucket)
	}
	name := s.prefix + "ready"
	_, err = s.client.PutObject(ctx, s.bucket, name, strings.NewReader(name), int64(len(name)),
		minio.PutObjectOptions{})
	if err == nil {
		err = s.client.RemoveObject(ctx, s.bucket, name, minio.RemoveObjectOptions{})
	}
	if err != nil {
		return fmt.Errorf("the store of blobs: write to bucket %s: %w", s.bucket, err)
	}
	return nil
}
