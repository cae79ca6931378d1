// Package access names who may do what on the hub: roles, identities and tokens. It stores nothing
// and checks no password; package server finds out who asks, and its table of routes states which
// roles a route serves.
//
// Start reading at [Role] and [Identity].
package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Role is what an identity is permitted to do. Admin includes User, which includes Reader, which
// includes Anonymous. Machine and Join include nothing else.
type Role string

// The roles.
const (
	Admin   Role = "admin"   // everything
	User    Role = "user"    // submits experiments, changes and deletes those of their own
	Reader  Role = "reader"  // sees machines, experiments and reports
	Machine Role = "machine" // ships the records of its own, and asks what is next
	Join    Role = "join"    // registers machines
	// Anonymous sees what a reader sees, but tokens: who has no token, if the hub permits that.
	Anonymous Role = "anonymous"
)

// Valid reports whether r is a role.
func (r Role) Valid() bool {
	switch r {
	case Admin, User, Reader, Machine, Join:
		return true
	}
	return false
}

// Includes reports whether r permits what needs role.
func (r Role) Includes(role Role) bool {
	rank := map[Role]int{Anonymous: 1, Reader: 2, User: 3, Admin: 4}
	return r == role || rank[role] > 0 && rank[r] >= rank[role] || r == Admin && role == Join
}

// Included returns the roles that r includes and that people have.
func (r Role) Included() []Role {
	return slices.DeleteFunc([]Role{Reader, User, Admin, Join},
		func(role Role) bool { return !r.Includes(role) })
}

// Identity is who sent a request.
type Identity struct {
	Name string // of the user or the machine, unique among those of its kind
	ID   string // of the machine; "" for users
	Role Role
	// Projects are the roles in projects, as JSON; "" or {}: Role in Default.
	Projects string
	// Token is the hash of the token that the request had; "" if a reverse proxy has found out who
	// asks. Root is that of the token that a session was made with, or Token.
	Token, Root string
	Session     bool      // it is a session
	Ends        time.Time // of the token; zero: never
	Bound       time.Time // when tokens that it makes end at the latest; zero: never
}

// Default is the project of what names no other one.
const Default = "default"

var projectName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// ValidProject reports whether a text can name a project: 1 to 40 lower-case letters, digits and
// hyphens.
func ValidProject(s string) bool { return projectName.MatchString(s) }

// Series is the name of a history, an event or a schedule: PROJECT/NAME, or NAME in Default. Names
// of experiments have no slash.
func Series(project, name string) string {
	if project == Default || project == "" { // it is not stored yet
		return name
	}
	return project + "/" + name
}

// ProjectOf is the project of a series.
func ProjectOf(series string) string {
	if project, _, ok := strings.Cut(series, "/"); ok {
		return project
	}
	return Default
}

// InProjects returns the role in each project, and whether the identity sees these only: people
// do. An admin sees everything, and so does the hub itself, which is nobody; machines ask only for
// what is theirs.
func (i Identity) InProjects() (roles map[string]Role, only bool) {
	if json.Unmarshal([]byte(i.Projects), &roles) != nil || len(roles) == 0 {
		roles = map[string]Role{Default: i.Role}
	}
	return roles, i.Role == Anonymous || i.Role == Reader || i.Role == User
}

// In is the role in a project, "" for who is not in it. A reader, or a reader's token, changes
// nothing anywhere.
func (i Identity) In(project string) Role {
	roles, only := i.InProjects()
	if role := roles[project]; only && (role == "" || i.Role == User) {
		return role
	}
	return i.Role
}

// Owns reports whether the identity may change what owner owns in a project.
func (i Identity) Owns(project, owner string) bool {
	role := i.In(project)
	return role == Admin || role == User && i.Name == owner
}

type key struct{}

// Hub returns a context without identity, for what the hub does itself.
func Hub(ctx context.Context) context.Context { return With(ctx, Identity{}) }

// Within returns a context in which only what a project has is seen.
func Within(ctx context.Context, project string) context.Context {
	return With(ctx, Identity{Role: Reader, Projects: `{"` + project + `":"reader"}`})
}

// With returns a context that contains the identity.
func With(ctx context.Context, who Identity) context.Context {
	return context.WithValue(ctx, key{}, who)
}

// From returns the identity of a request's context. Without one it has no role.
func From(ctx context.Context) Identity {
	who, _ := ctx.Value(key{}).(Identity)
	return who
}

// NewToken returns a random token of 256 bits with a prefix that names its kind, so that scanners
// for leaked secrets find it: "krun_" and 43 characters.
func NewToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return "krun_" + base64.RawURLEncoding.EncodeToString(b[:])
}

// Hash returns what is stored of a token: its SHA-256 in hexadecimal digits. The token is random,
// so that a slow hash would add nothing.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// NewID returns a random identifier of 80 bits: 16 lower-case letters and digits.
func NewID() string {
	const letters = "0123456789abcdefghjkmnpqrstvwxyz" // Crockford's base 32: 256 is a multiple of 32
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	for i := range b {
		b[i] = letters[b[i]%32]
	}
	return string(b)
}
