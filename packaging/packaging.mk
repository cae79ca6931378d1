# Installing and releasing, included by the Makefile at the top.
#
#   make install      into $(DESTDIR)$(PREFIX), by default /usr/local; units: $(DESTDIR)$(UNITDIR)
#   make install-hub  the same for krunhub, which needs krunctl; `make uninstall-hub` removes it
#   make uninstall    removes what make install has put there
#   make release      .tar.gz, .deb and .rpm below build/release/, the same bytes for the same
#                     commit and tools
#
# krund needs neither tmpfiles.d nor sysusers.d: it creates its account for each process execution,
# and keeps no files in /run or /var.

# systemd looks for units here, whatever the prefix is. If empty, no units are installed, as on
# OpenBSD or for an installation in a home directory.
UNITDIR ?= /usr/lib/systemd/system
# The compiled benchmarks are installed from here.
BENCHMARKS ?= $(CURDIR)/benchmarks
VERSION := $(shell sed -n 's/^const VersionNumber = "\(.*\)"/\1/p' internal/display/version.go)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || date +%s)
# The last version whose modules are available from all Go proxies; see packaging/README.md.
NFPM := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0

INTO := $(DESTDIR)$(PREFIX)
DOC := $(INTO)/share/doc/krund
BASH := $(INTO)/share/bash-completion/completions
ZSH := $(INTO)/share/zsh/site-functions
FISH := $(INTO)/share/fish/vendor_completions.d
NAMES = $(notdir $(patsubst %/c/,%,$(wildcard benchmarks/*/c/)))

.PHONY: install uninstall install-hub uninstall-hub release stage

# Manual pages and completions are generated from krunctl.
$(BUILD)/share/.made: $(BUILD)/bin/krunctl docs/config.md $(wildcard packaging/manual/*.go)
	@mkdir -p $(BUILD)/share/man $(BUILD)/share/completions
	@rm -f $(BUILD)/share/man/*
	$(GO) run ./packaging/manual -program $< -config docs/config.md -version $(VERSION) \
	  -o $(BUILD)/share/man \
	  -date "$$(date -u -d @$(SOURCE_DATE_EPOCH) +%F 2>/dev/null || date -u -r $(SOURCE_DATE_EPOCH) +%F)"
	@for shell in bash zsh fish; do $< completion $$shell >$(BUILD)/share/completions/$$shell || exit 1; done
	@touch $@

$(BUILD)/share/hub/.made: $(BUILD)/bin/krunhub $(wildcard packaging/manual/*.go)
	@mkdir -p $(@D)
	@rm -f $(@D)/*
	$(GO) run ./packaging/manual -program $< -version $(VERSION) -o $(@D) \
	  -date "$$(date -u -d @$(SOURCE_DATE_EPOCH) +%F 2>/dev/null || date -u -r $(SOURCE_DATE_EPOCH) +%F)"
	@for shell in bash zsh fish; do $< completion $$shell >$(@D)/$$shell || exit 1; done
	@touch $@

# The rules of the binaries are in the target build, where make cannot see them.
$(BUILD)/bin/krunctl $(BUILD)/bin/krunhub: build ;

install: build $(BUILD)/share/.made
	install -d $(INTO)/bin $(INTO)/lib/krund $(INTO)/libexec/krund
	install -m 755 $(BUILD)/bin/krund $(BUILD)/bin/krunctl $(INTO)/bin
	install -m 644 $(BUILD)/lib/libkrun.so $(INTO)/lib/krund
	@$(MAKE) --no-print-directory -C runners install BUILD=$(BUILD) INTO=$(INTO)/libexec/krund CC="$(CC)"
	@$(MAKE) --no-print-directory -C cgo install BUILD=$(BUILD) CC="$(CC)" PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)
	for name in $(NAMES); do \
	  for file in benchmarks/$$name/*/bench.* benchmarks/$$name/java/*.java \
	    $(BENCHMARKS)/$$name/*/bench.* $(BENCHMARKS)/$$name/java/*.class $(BENCHMARKS)/$$name/go/bench; do \
	    case $$file in */go/bench) mode=755 ;; *) mode=644 ;; esac; \
	    language=$$(basename $$(dirname $$file)); \
	    [ ! -e $$file ] || \
	      install -D -m $$mode -t $(INTO)/lib/krund/benchmarks/$$name/$$language $$file || exit 1; \
	  done; \
	done
	for file in benchmarks/ab/loop.c $(BENCHMARKS)/ab/*/loop/c/bench.so; do \
	  [ ! -e $$file ] || \
	    install -D -m 644 $$file $(INTO)/lib/krund/$${file#$(BENCHMARKS:%/benchmarks=%)/} || exit 1; \
	done
	install -d $(INTO)/share/man/man1 $(INTO)/share/man/man5 $(INTO)/share/man/man8
	install -m 644 $(BUILD)/share/man/*.1 $(INTO)/share/man/man1
	install -m 644 $(BUILD)/share/man/*.5 $(INTO)/share/man/man5
	install -m 644 packaging/man/krund.8 $(INTO)/share/man/man8
	install -d $(BASH) $(ZSH) $(FISH)
	install -m 644 $(BUILD)/share/completions/bash $(BASH)/krunctl
	install -m 644 $(BUILD)/share/completions/zsh $(ZSH)/_krunctl
	install -m 644 $(BUILD)/share/completions/fish $(FISH)/krunctl.fish
	install -m 644 packaging/completions/krund.bash $(BASH)/krund
	install -m 644 packaging/completions/krund.zsh $(ZSH)/_krund
	install -m 644 packaging/completions/krund.fish $(FISH)/krund.fish
	install -d $(DOC)/docs $(DOC)/runners $(DOC)/benchmarks $(DOC)/examples
	install -m 644 README.md CHANGELOG.md LICENSE $(DOC)
	install -m 644 docs/*.md $(DOC)/docs
	for file in $(wildcard docs/img/*); do install -D -m 644 $$file $(DOC)/$$file || exit 1; done
	install -m 644 runners/README.md $(DOC)/runners
	install -m 644 benchmarks/README.md $(DOC)/benchmarks
	@# A copied example finds the benchmarks from wherever it is.
	for file in configs/*.toml; do \
	  sed 's,"../benchmarks,"$(PREFIX)/lib/krund/benchmarks,;s,configs/,,g' $$file \
	    >$(DOC)/examples/$${file##*/} || exit 1; \
	done
	chmod 644 $(DOC)/examples/*.toml
	install -m 755 configs/relink.sh $(DOC)/examples
ifneq ($(UNITDIR),)
	install -d $(DESTDIR)$(UNITDIR)
	sed 's,@PREFIX@,$(PREFIX),' systemd/krund@.service >$(DESTDIR)$(UNITDIR)/krund@.service
	sed 's,@PREFIX@,$(PREFIX),' systemd/krund-ship.service >$(DESTDIR)$(UNITDIR)/krund-ship.service
	install -m 644 systemd/bench.target systemd/krund-ship.timer $(DESTDIR)$(UNITDIR)
	chmod 644 $(DESTDIR)$(UNITDIR)/krund@.service $(DESTDIR)$(UNITDIR)/krund-ship.service
endif
	@$(if $(DESTDIR)$(if $(UNITDIR),,none),:,\
	  echo "Nothing is started. Next: systemctl daemon-reload && krunctl doctor")

uninstall:
	rm -f $(INTO)/bin/krund $(INTO)/bin/krunctl
	rm -rf $(INTO)/lib/krund $(INTO)/libexec/krund $(DOC)
	rm -f $(INTO)/lib/libkrun.so $(INTO)/lib/libkrun.a $(INTO)/lib/pkgconfig/krun.pc $(INTO)/include/krun.h
	rm -f $(INTO)/share/man/man1/krunctl.1 $(INTO)/share/man/man1/krunctl-*.1 $(INTO)/share/man/man3/libkrun.3
	rm -f $(INTO)/share/man/man5/krund.toml.5 $(INTO)/share/man/man8/krund.8
	rm -f $(BASH)/krunctl $(ZSH)/_krunctl $(FISH)/krunctl.fish
	rm -f $(BASH)/krund $(ZSH)/_krund $(FISH)/krund.fish
ifneq ($(UNITDIR),)
	rm -f $(DESTDIR)$(UNITDIR)/krund@.service $(DESTDIR)$(UNITDIR)/bench.target \
	  $(DESTDIR)$(UNITDIR)/krund-ship.service $(DESTDIR)$(UNITDIR)/krund-ship.timer
endif

# The hub is not for machines that measure, so it is not part of install, and has a package of its
# own.
install-hub: build $(BUILD)/share/hub/.made
	install -d $(INTO)/bin $(INTO)/share/man/man1 $(BASH) $(ZSH) $(FISH)
	install -m 755 $(BUILD)/bin/krunhub $(INTO)/bin
	install -m 644 $(BUILD)/share/hub/*.1 $(INTO)/share/man/man1
	install -m 644 $(BUILD)/share/hub/bash $(BASH)/krunhub
	install -m 644 $(BUILD)/share/hub/zsh $(ZSH)/_krunhub
	install -m 644 $(BUILD)/share/hub/fish $(FISH)/krunhub.fish
ifneq ($(UNITDIR),)
	install -d $(DESTDIR)$(UNITDIR)
	sed 's,@PREFIX@,$(PREFIX),' systemd/krunhub.service >$(DESTDIR)$(UNITDIR)/krunhub.service
	chmod 644 $(DESTDIR)$(UNITDIR)/krunhub.service
endif
	@$(if $(DESTDIR)$(if $(UNITDIR),,none),:,\
	  echo "Nothing is started. Next: systemctl daemon-reload && systemctl enable --now krunhub")

uninstall-hub:
	rm -f $(INTO)/bin/krunhub $(INTO)/share/man/man1/krunhub.1 $(INTO)/share/man/man1/krunhub-*.1
	rm -f $(BASH)/krunhub $(ZSH)/_krunhub $(FISH)/krunhub.fish
ifneq ($(UNITDIR),)
	rm -f $(DESTDIR)$(UNITDIR)/krunhub.service
endif

# Built separately from the files for daily use, and independent of this machine's directories and
# clock.
RELEASE := $(BUILD)/release
release:
	SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) packaging/release.sh $(RELEASE) $(VERSION) "$(GO)" $(NFPM) \
	  $(MAKE) --no-print-directory BUILD=$(RELEASE)/build BENCHMARKS=$(RELEASE)/benchmarks \
	  CFLAGS="-O2" CC="$(CC)" GO="$(GO)"
