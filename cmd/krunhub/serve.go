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
	"strconv"
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
	"krund/internal/hub/watch"
	"krund/internal/machine/sysroot"
)

const serveHelp = `Serve runs the hub until it gets SIGINT or SIGTERM. Without flags it keeps everything
in the directory krunhub.data, with an embedded database, and listens on 127.0.0.1,
which only this computer reaches; --listen is for other machines. At its first start it
prints a token with the role admin, once; "krunhub admin-token" prints another one. The
file hub.toml in that directory says whom it notifies, how it restarts machines by their
power, and which repositories it measures by itself.

EXAMPLES
  krunhub serve
  krunhub serve --listen :8080 --data /var/lib/krunhub
  krunhub serve --database postgres://krunhub@db/krunhub --store s3://s3.example/krunhub`

// settings are the flags of serve.
type settings struct {
	listen, data, database, store string
	certificate, key              string // of TLS
	tlsProxy, verbose             bool
}

func serveCommand(stdout, stderr io.Writer) *cobra.Command {
	var s settings
	c := &cobra.Command{
		Use: "serve", Short: "Run the hub", Long: serveHelp, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return serve(c.Context(), s, stdout, stderr) },
	}
	f := c.Flags()
	f.StringVar(&s.listen, "listen", "127.0.0.1:8642", "address to listen on; port 0: any that is free")
	f.StringVar(&s.data, "data", "krunhub.data", "directory of the embedded database and the blobs")
	f.StringVar(&s.database, "database", "", "postgres://... instead of the embedded database")
	f.StringVar(&s.store, "store", "", "s3://HOST/BUCKET[/PREFIX] instead of files for the blobs")
	f.StringVar(&s.certificate, "tls-cert", "", "file with the certificate for TLS; with --tls-key")
	f.StringVar(&s.key, "tls-key", "", "file with its key")
	f.BoolVar(&s.tlsProxy, "tls-proxy", false,
		"browsers come through a reverse proxy with TLS: they send cookies by TLS only")
	c.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "also print debugging messages")
	return c
}

// hub is an open hub.
type hub struct {
	db      *database.DB
	store   store.Store
	jobs    *jobs.Jobs
	watch   *watch.Watcher
	weights jobs.Weights
	log     *slog.Logger
	lock    durable.File // of the data directory
	spool   string       // directory of what is being received
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
	return errors.Join(err, h.close())
}

func (h *hub) close() error {
	var err error
	if h.db != nil {
		err = h.db.Close()
	}
	return errors.Join(err, h.lock.Close())
}

// lockData keeps another hub from using the data directory: both would write the same files.
func lockData(dir string) (durable.File, error) {
	const ownerReads = 0o600
	name := filepath.Join(dir, "lock")
	f, err := durable.OS().OpenFile(name, os.O_RDWR|os.O_CREATE, ownerReads)
	if err != nil {
		return nil, fmt.Errorf("open the data directory: %w; name another with --data", err)
	}
	if err := f.TryLock(); err != nil {
		err = fmt.Errorf("lock the data directory: %s: %w: another krunhub uses it; name another with --data",
			name, err)
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ownerOnly are the permissions of the hub's directories.
const ownerOnly = 0o700

// open opens the parts of the hub, and creates what is missing.
func open(ctx context.Context, s settings, log *slog.Logger) (*hub, error) {
	if err := os.Mkdir(s.data, ownerOnly); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create the data directory: %w; name another with --data", err)
	}
	lock, err := lockData(s.data)
	if err != nil {
		return nil, err
	}
	h := &hub{log: log, lock: lock}
	if err := h.open(ctx, s); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

func (h *hub) open(ctx context.Context, s settings) (err error) {
	h.spool = filepath.Join(s.data, "spool")
	if err = errors.Join(os.RemoveAll(h.spool), os.Mkdir(h.spool, ownerOnly)); err != nil {
		return fmt.Errorf("make a directory for what is received: %w", err)
	}
	if strings.HasPrefix(s.store, "s3") {
		h.store, err = store.OpenS3(ctx, s.store, h.spool)
	} else if s.store == "" {
		h.store, err = store.OpenDirectory(durable.OS(), filepath.Join(s.data, "blobs"))
	} else {
		err = fmt.Errorf("--store %s: only s3:// and s3+http:// are known", s.store)
	}
	if err != nil {
		return err
	}
	if s.database == "" {
		s.database = embedded(s.data)
	}
	if h.db, err = database.Open(ctx, s.database, sysroot.RealClock{}.Now); err != nil {
		return err
	}
	config, err := jobs.ReadConfig(durable.OS(), filepath.Join(s.data, "hub.toml"))
	if err != nil {
		return err
	}
	config.Histories = &jobs.Histories{DB: h.db, Krunctl: krunctl(), Log: h.log,
		Schedules: config.Schedules, Cache: &rebuild.Cache{DB: h.db, Store: h.store, FS: durable.OS(),
			Dir: filepath.Join(s.data, "reducing")}}
	config.Store, h.weights = h.store, config.Weights
	h.watch = &watch.Watcher{DB: h.db, Store: h.store, Log: h.log, Schedules: config.Schedules,
		Dir: filepath.Join(s.data, "watch"), HTTP: &http.Client{}}
	h.jobs, err = jobs.Open(ctx, h.db, config, h.log)
	return err
}

// run serves until ctx ends, and then lets requests and jobs finish.
func (h *hub) run(ctx context.Context, s settings, stdout io.Writer) error {
	view := pages.New(ctx, pages.Options{DB: h.db, Store: h.store, Log: h.log,
		Dir: filepath.Join(s.data, "experiments"), Krunctl: krunctl(), Weights: h.weights,
		Secure: s.tlsProxy, Schedules: h.watch.Schedules})
	login, err := server.ReadLogin(durable.OS(), filepath.Join(s.data, "login.toml"))
	if err != nil {
		return err
	}
	handler := (&server.Server{DB: h.db, Store: h.store, Pages: view, Log: h.log, Login: login,
		Spool: h.spool, Watch: h.watch, Weights: h.weights}).Handler()
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listen: %w; choose another address with --listen", err)
	}
	scheme := "http"
	if s.certificate != "" {
		scheme = "https"
	}
	_, err = fmt.Fprintf(stdout, "krunhub listens on %s://%s\n", scheme, address(listener.Addr()))
	if err == nil {
		err = h.firstToken(ctx, stdout)
	}
	if err == nil {
		err = h.jobs.Start(context.WithoutCancel(ctx))
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	const slowest, idle = 30 * time.Second, 2 * time.Minute
	web := &http.Server{Handler: handler, ReadHeaderTimeout: slowest, IdleTimeout: idle,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() {
		if s.certificate != "" {
			failed <- web.ServeTLS(listener, s.certificate, s.key)
		} else {
			failed <- web.Serve(listener)
		}
	}()
	watching, end := context.WithCancel(ctx)
	watched := make(chan error, 1)
	go func() { watched <- h.watch.Run(watching) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
		h.log.Info("stopping")
	}
	end()
	err = errors.Join(err, <-watched)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), slowest)
	defer cancel()
	return errors.Join(err, web.Shutdown(last), h.jobs.Stop(last))
}

// address returns that of a listener, for other machines: one on all addresses has the host's name.
func address(of net.Addr) string {
	tcp, isTCP := of.(*net.TCPAddr)
	name, err := os.Hostname()
	if !isTCP || !tcp.IP.IsUnspecified() || err != nil {
		return of.String()
	}
	return net.JoinHostPort(name, strconv.Itoa(tcp.Port))
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

// firstToken makes the user admin and its token if there is no user yet. The token is printed
// before it is stored: if printing fails, or krunhub is killed in between, the next start prints
// another.
func (h *hub) firstToken(ctx context.Context, stdout io.Writer) error {
	return h.db.Update(context.WithoutCancel(ctx), func(tx *sql.Tx) error {
		err := h.db.LockAccess(ctx, tx)
		if err != nil {
			return err
		}
		if some, err := h.db.HasUsers(ctx, tx); some || err != nil {
			return err
		}
		err = h.db.AddUser(ctx, tx, database.User{Name: "admin", Role: access.Admin})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "The first token has the role admin, and is shown only now. Make your "+
			"own under Tokens, and\nrevoke this one, which ends after %s days:\n", setupDays)
		if err != nil {
			return err
		}
		return printToken(ctx, h.db, tx, database.Token{Owner: "admin", Label: "first"}, stdout)
	})
}
