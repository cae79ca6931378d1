package control

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// The saved state of an interface consists of bodies of rtnetlink messages (rtnetlink(7)), as
// received from the kernel: a fixed header and attributes. The code that selects them is pure and
// needs only these constants of the kernel's user-space API.
const (
	familyIPv6 = 10

	addrHeader  = 8    // struct ifaddrmsg: family, prefix length, flags, scope, index (4 bytes)
	addrIndex   = 4    //
	permanent   = 0x80 // IFA_F_PERMANENT: configured, not learned
	scopeGlobal = 0    // RT_SCOPE_UNIVERSE
	scopeSite   = 200

	routeHeader   = 12 // struct rtmsg: family, lengths, tos, table, protocol, scope, type, flags (4 bytes)
	routeTable    = 4
	routeProtocol = 5
	routeScope    = 6
	routeType     = 7
	routeFlags    = 8
	tableLocal    = 255
	typeUnicast   = 1

	protoRedirect = 1 // learned, and will be learned again
	protoKernel   = 2 // made by the kernel along with an address
	protoRA       = 9 // learned from router advertisements

	// struct ndmsg: family, padding (3 bytes), index (4 bytes), state (2 bytes), flags, type
	neighbourHeader = 12
	neighbourIndex  = 4    //
	neighbourState  = 8    //
	neighbourStays  = 0x80 // NUD_PERMANENT: configured, not learned

	flagCloned = 0x200 // RTM_F_CLONED: an entry of a cache
	flagOnlink = 4     // RTNH_F_ONLINK: the only flag that a user sets; the others are states

	attrOutput    = 4 // RTA_OIF
	attrGateway   = 5 // RTA_GATEWAY
	attrMultipath = 9 // RTA_MULTIPATH: a list of struct rtnexthop
	attrVia       = 18
)

// saved is the JSON form of bodies, each in base64.
type saved struct {
	Addresses  []string `json:"addresses,omitempty"`
	Neighbours []string `json:"neighbours,omitempty"`
	Routes     []string `json:"routes,omitempty"`
}

// bodies is the saved state: addresses, permanent neighbor table entries, routes.
type bodies struct{ addresses, neighbours, routes [][]byte }

func encodeSaved(b bodies) (string, error) {
	if len(b.addresses)+len(b.neighbours)+len(b.routes) == 0 {
		return "", nil
	}
	text, err := json.Marshal(saved{Addresses: encode64(b.addresses), Neighbours: encode64(b.neighbours),
		Routes: encode64(b.routes)})
	return string(text), err
}

func decodeSaved(text string) (bodies, error) {
	if text == "" {
		return bodies{}, nil
	}
	var s saved
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return bodies{}, fmt.Errorf("saved addresses and routes: %w", err)
	}
	addresses, err1 := decode64(s.Addresses, addrHeader)
	neighbours, err2 := decode64(s.Neighbours, neighbourHeader)
	routes, err3 := decode64(s.Routes, routeHeader)
	if err := errors.Join(err1, err2, err3); err != nil {
		return bodies{}, err
	}
	return bodies{addresses, neighbours, routes}, nil
}

// of reports whether b holds only what Links.Save saves of an interface.
func (b bodies) of(index uint32) bool {
	return len(selectAddresses(b.addresses, index)) == len(b.addresses) &&
		len(selectNeighbours(b.neighbours, index)) == len(b.neighbours) &&
		len(selectRoutes(b.routes, index)) == len(b.routes)
}

func encode64(bodies [][]byte) []string {
	var texts []string
	for _, b := range bodies {
		texts = append(texts, base64.StdEncoding.EncodeToString(b))
	}
	return texts
}

func decode64(texts []string, header int) ([][]byte, error) {
	var bodies [][]byte
	for _, text := range texts {
		b, err := base64.StdEncoding.DecodeString(text)
		if err == nil && len(b) < header {
			err = fmt.Errorf("only %d bytes", len(b))
		}
		if err != nil {
			return nil, fmt.Errorf("saved address, neighbor or route: %w", err)
		}
		bodies = append(bodies, b)
	}
	return bodies, nil
}

// selectAddresses returns the configured IPv6 addresses of an interface; IPv4 addresses survive
// going down, and the kernel adds the IPv6 link-local address by itself.
func selectAddresses(bodies [][]byte, index uint32) [][]byte {
	var chosen [][]byte
	for _, b := range bodies {
		if len(b) < addrHeader || b[0] != familyIPv6 || binary.NativeEndian.Uint32(b[addrIndex:]) != index {
			continue
		}
		if b[2]&permanent != 0 && (b[3] == scopeGlobal || b[3] == scopeSite) {
			chosen = append(chosen, b)
		}
	}
	return chosen
}

// selectNeighbours returns the configured neighbor entries of an interface, which are lost as well
// when it goes down.
func selectNeighbours(bodies [][]byte, index uint32) [][]byte {
	var chosen [][]byte
	for _, b := range bodies {
		if len(b) >= neighbourHeader && binary.NativeEndian.Uint32(b[neighbourIndex:]) == index &&
			binary.NativeEndian.Uint16(b[neighbourState:])&neighbourStays != 0 {
			chosen = append(chosen, b)
		}
	}
	return chosen
}

// selectRoutes returns the configured routes through an interface, those without a gateway first,
// since gateways are reached through them. State flags are cleared, since the kernel rejects them.
func selectRoutes(bodies [][]byte, index uint32) [][]byte {
	var chosen [][]byte
	for _, b := range bodies {
		if len(b) < routeHeader || !configured(b) || !leadsThrough(b, index) {
			continue
		}
		b = slices.Clone(b)
		binary.NativeEndian.PutUint32(b[routeFlags:], binary.NativeEndian.Uint32(b[routeFlags:])&flagOnlink)
		chosen = append(chosen, b)
	}
	slices.SortStableFunc(chosen, func(a, b []byte) int { return gateways(a) - gateways(b) })
	return chosen
}

// configured reports whether a route would not return by itself.
func configured(b []byte) bool {
	if b[routeTable] == tableLocal || b[routeType] != typeUnicast ||
		binary.NativeEndian.Uint32(b[routeFlags:])&flagCloned != 0 {
		return false
	}
	switch b[routeProtocol] {
	case protoRedirect, protoKernel, protoRA:
		return false
	}
	return true
}

// leadsThrough reports whether a route, or one of the paths of a route with several, uses an
// interface.
func leadsThrough(b []byte, index uint32) bool {
	through := false
	attributes(b[routeHeader:], func(kind uint16, value []byte) {
		switch kind {
		case attrOutput:
			through = through || len(value) >= 4 && binary.NativeEndian.Uint32(value) == index
		case attrMultipath:
			through = through || hopThrough(value, index)
		}
	})
	return through
}

// hopThrough looks for an interface in a list of struct rtnexthop: length (2 bytes), flags, hops,
// index (4 bytes), attributes.
func hopThrough(hops []byte, index uint32) bool {
	for len(hops) >= 8 {
		if binary.NativeEndian.Uint32(hops[4:]) == index {
			return true
		}
		length := (int(binary.NativeEndian.Uint16(hops)) + 3) &^ 3
		if length < 8 || length > len(hops) {
			return false
		}
		hops = hops[length:]
	}
	return false
}

// gateways returns 1 if a route uses a gateway, else 0.
func gateways(b []byte) int {
	n := 0
	attributes(b[routeHeader:], func(kind uint16, _ []byte) {
		if kind == attrGateway || kind == attrVia || kind == attrMultipath {
			n = 1
		}
	})
	return n
}

// attributes calls yield for each attribute of a message: length (2 bytes, with these four), kind
// (2 bytes), value, padding to 4 bytes. It stops at an attribute that does not fit.
func attributes(b []byte, yield func(kind uint16, value []byte)) {
	for len(b) >= 4 {
		length := int(binary.NativeEndian.Uint16(b))
		if length < 4 || length > len(b) {
			return
		}
		const kindMask = 0x3fff // the two highest bits are flags
		yield(binary.NativeEndian.Uint16(b[2:])&kindMask, b[4:length])
		b = b[min((length+3)&^3, len(b)):]
	}
}
