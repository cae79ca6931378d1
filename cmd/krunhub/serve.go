package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/durable"
	"krund/internal/hub/access"
	"krund/internal/hub/database"
	"krund/internal/hub/jobs"
	"krund/internal/hub/pages"
	"krund/internal/hub/rebuild"
	"krund/internal/hub/server"
	"krund/internal/hub/store"
	"krund/internal/sysroot"
)

const serveHelp = `Serve runs the hub until it gets SIGINT or SIGTERM. Without flags it keeps everything
in the directory krunhub.data, with an embedded database, and listens on 127.0.0.1.
At its first start it prints a token with the role admin, once. The file hub.toml in
that directory says whom it notifies, and how it restarts machines by their power.

EXAMPLES
  krunhub serve
  krunhub serve --listen :8080 --data /var/lib/krunhub
  krunhub serve --database postgres://krunhub@db/krunhub --store s3://s3.example/krunhub`

// settings are the flags of serve.
type settings struct {
	listen, data, database, store string
	certificate, key              string // of TLS
	verbose                       bool
}

func serveCommand(stdout, stderr io.Writer) *cobra.Command {
	var s settings
	c := &cobra.Command{
		Use: "serve", Short: "Run the hub", Long: serveHelp, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return serve(c.Context(), s, stdout, stderr) },
	}
	defer c.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	f := c.Flags()
	f.StringVar(&s.listen, "listen", "127.0.0.1:8642", "address to listen on; port 0: any that is free")
	f.StringVar(&s.data, "data", "krunhub.data", "directory of the embedded database and the blobs")
	f.StringVar(&s.database, "database", "", "postgres://... instead of the embedded database")
	f.StringVar(&s.store, "store", "", "s3://HOST/BUCKET[/PREFIX] instead of files for the blobs")
	f.StringVar(&s.certificate, "tls-cert", "", "file with the certificate for TLS; with --tls-key")
	f.StringVar(&s.key, "tls-key", "", "file with its key")
	c.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "also print debugging messages")
	return c
}

// hub is an open hub.
type hub struct {
	db    *database.DB
	store store.Store
	jobs  *jobs.Jobs
	log   *slog.Logger
}

func serve(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	var err error
	if s.data, err = filepath.Abs(s.data); err != nil { // programs are started in other directories
		return fmt.Errorf("--data: %w", err)
	}
	level := slog.LevelInfo
	if s.verbose {
		level = slog.LevelDebug
	}
	h, err := open(ctx, s, slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level})))
	if err != nil {
		return err
	}
	err = h.run(ctx, s, stdout)
	return errors.Join(err, h.db.Close())
}

// open opens the parts of the hub, and creates what is missing.
func open(ctx context.Context, s settings, log *slog.Logger) (*hub, error) {
	const ownerOnly = 0o700
	if err := os.Mkdir(s.data, ownerOnly); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create the data directory: %w; name another with --data", err)
	}
	h := &hub{log: log}
	var err error
	if strings.HasPrefix(s.store, "s3") {
		h.store, err = store.OpenS3(ctx, s.store)
	} else if s.store == "" {
		h.store, err = store.OpenDirectory(durable.OS(), filepath.Join(s.data, "blobs"))
	} else {
		err = fmt.Errorf("--store %s: only s3:// and s3+http:// are known", s.store)
	}
	if err != nil {
		return nil, err
	}
	if s.database == "" {
		s.database = filepath.Join(s.data, "hub.sqlite")
	}
	if h.db, err = database.Open(ctx, s.database, sysroot.RealClock{}.Now); err != nil {
		return nil, err
	}
	config, err := jobs.ReadConfig(durable.OS(), filepath.Join(s.data, "hub.toml"))
	if err == nil {
		config.Histories = &jobs.Histories{DB: h.db, Krunctl: krunctl(), Log: log, Cache: &rebuild.Cache{
			DB: h.db, Store: h.store, FS: durable.OS(), Dir: filepath.Join(s.data, "reducing")}}
		h.jobs, err = jobs.Open(ctx, h.db, config, log)
	}
	if err != nil {
		return nil, errors.Join(err, h.db.Close())
	}
	return h, nil
}

// run serves until ctx ends, and then lets requests and jobs finish.
func (h *hub) run(ctx context.Context, s settings, stdout io.Writer) error {
	view := pages.New(ctx, pages.Options{DB: h.db, Store: h.store, Log: h.log,
		Dir: filepath.Join(s.data, "experiments"), Krunctl: krunctl()})
	login, err := server.ReadLogin(durable.OS(), filepath.Join(s.data, "login.toml"))
	if err != nil {
		return err
	}
	handler := (&server.Server{DB: h.db, Store: h.store, Jobs: h.jobs, Pages: view, Log: h.log,
		Login: login}).Handler()
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listen: %w; choose another address with --listen", err)
	}
	token, err := h.firstToken(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	scheme := "http"
	if s.certificate != "" {
		scheme = "https"
	}
	_, err = fmt.Fprintf(stdout, "krunhub listens on %s://%s\n", scheme, listener.Addr())
	if err == nil && token != "" {
		_, err = fmt.Fprintf(stdout, "The first token has the role admin. It is shown only now:\n  %s\n",
			token)
	}
	if err == nil {
		err = h.jobs.Start(context.WithoutCancel(ctx))
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	const slowest = 30 * time.Second
	web := &http.Server{Handler: handler, ReadHeaderTimeout: slowest, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() {
		if s.certificate != "" {
			failed <- web.ServeTLS(listener, s.certificate, s.key)
		} else {
			failed <- web.Serve(listener)
		}
	}()
	select {
	case err = <-failed:
	case <-ctx.Done():
		h.log.Info("stopping")
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), slowest)
	defer cancel()
	return errors.Join(err, web.Shutdown(last), h.jobs.Stop(last))
}

// krunctl returns the program that makes reports: the one beside krunhub, or that of the PATH.
func krunctl() string {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "krunctl")
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside
		}
	}
	return "krunctl"
}

// firstToken makes the user admin and its token if there is no user yet; else it returns "".
func (h *hub) firstToken(ctx context.Context) (token string, err error) {
	users, err := h.db.Users(ctx)
	if err != nil || len(users) > 0 {
		return "", err
	}
	err = h.db.Update(ctx, func(tx *sql.Tx) error {
		if err := h.db.PutUser(ctx, tx, database.User{Name: "admin", Role: access.Admin}); err != nil {
			return err
		}
		token, err = h.db.AddToken(ctx, tx, database.Token{Role: access.Admin, Owner: "admin",
			Label: "first"})
		return err
	})
	return token, err
}
