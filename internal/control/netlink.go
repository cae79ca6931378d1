package control

import (
	"encoding/binary"
	"encoding/json"
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

// bodies is the saved state: addresses, permanent neighbor table entries, routes. Its JSON form has
// each body in base64.
type bodies struct {
	Addresses  [][]byte `json:"addresses,omitempty"`
	Neighbours [][]byte `json:"neighbours,omitempty"`
	Routes     [][]byte `json:"routes,omitempty"`
}

func encodeSaved(b bodies) (string, error) {
	if len(b.Addresses)+len(b.Neighbours)+len(b.Routes) == 0 {
		return "", nil
	}
	text, err := json.Marshal(b)
	return string(text), err
}

func decodeSaved(text string) (b bodies, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &b)
	}
	if err != nil {
		return bodies{}, fmt.Errorf("saved addresses and routes: %w", err)
	}
	return b, nil
}

// of reports whether b holds only what Links.Save saves of an interface, all of it complete.
func (b bodies) of(index uint32) bool {
	return len(selectAddresses(b.Addresses, index)) == len(b.Addresses) &&
		len(selectNeighbours(b.Neighbours, index)) == len(b.Neighbours) &&
		len(selectRoutes(b.Routes, index)) == len(b.Routes)
}

// selectAddresses returns the configured IPv6 addresses of an interface; IPv4 addresses survive
// going down, and the kernel adds the IPv6 link-local address by itself.
func selectAddresses(bodies [][]byte, index uint32) [][]byte {
	return kept(bodies, func(b []byte) bool {
		return len(b) >= addrHeader && b[0] == familyIPv6 &&
			binary.NativeEndian.Uint32(b[addrIndex:]) == index &&
			b[2]&permanent != 0 && (b[3] == scopeGlobal || b[3] == scopeSite)
	})
}

// selectNeighbours returns the configured neighbor entries of an interface, which are lost as well
// when it goes down.
func selectNeighbours(bodies [][]byte, index uint32) [][]byte {
	return kept(bodies, func(b []byte) bool {
		return len(b) >= neighbourHeader && binary.NativeEndian.Uint32(b[neighbourIndex:]) == index &&
			binary.NativeEndian.Uint16(b[neighbourState:])&neighbourStays != 0
	})
}

// selectRoutes returns the configured routes through an interface, those without a gateway first,
// since gateways are reached through them. State flags are cleared, since the kernel rejects them.
func selectRoutes(bodies [][]byte, index uint32) [][]byte {
	chosen := kept(bodies, func(b []byte) bool {
		return len(b) >= routeHeader && configured(b) && leadsThrough(b, index)
	})
	for i, b := range chosen {
		b = slices.Clone(b)
		binary.NativeEndian.PutUint32(b[routeFlags:], binary.NativeEndian.Uint32(b[routeFlags:])&flagOnlink)
		chosen[i] = b
	}
	slices.SortStableFunc(chosen, func(a, b []byte) int { return gateways(a) - gateways(b) })
	return chosen
}

func kept(bodies [][]byte, wanted func([]byte) bool) [][]byte {
	return slices.DeleteFunc(slices.Clone(bodies), func(b []byte) bool { return !wanted(b) })
}

// configured reports whether a route would not return by itself.
func configured(b []byte) bool {
	return b[routeTable] != tableLocal && b[routeType] == typeUnicast &&
		binary.NativeEndian.Uint32(b[routeFlags:])&flagCloned == 0 &&
		!slices.Contains([]byte{protoRedirect, protoKernel, protoRA}, b[routeProtocol])
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
